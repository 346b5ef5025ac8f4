// The schema as a whole: it is the one that migrations/schema.sql shows, its functions are valid, its files say what they read.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "shared/postgres/migrate.h"
#include "tests/support/test_database.h"

namespace acl {
namespace {

class SchemaTest : public test::DatabaseTest {};

std::string OutputOf(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char block[65536];
  for (std::size_t n; (n = std::fread(block, 1, sizeof block, pipe)) > 0;) text.append(block, n);
  return ::pclose(pipe) == 0 ? text : std::string();
}

std::string FileText(const std::string& path) {
  std::ifstream in(std::filesystem::path(ACL_SOURCE_DIR) / path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(SchemaTest, IsTheOneThatSchemaSqlShows) {
  const auto script = std::filesystem::path(ACL_SOURCE_DIR) / ".dev/schema_dump.sh";
  const std::string have = OutputOf(script.string() + " '" + db().conninfo() + "'");
  ASSERT_NE(have.find("CREATE TABLE public.journal_rows"), std::string::npos) << have.substr(0, 500);
  std::istringstream is(have), should(FileText("migrations/schema.sql"));
  std::string one, other;
  for (int line = 1;; ++line) {
    const bool more = bool(std::getline(is, one)), wanted = bool(std::getline(should, other));
    if (!more && !wanted) break;
    ASSERT_TRUE(more == wanted && one == other) << "migrations/schema.sql:" << line << ": " << other << "\nthe database: " << one
                                                << "\nif that is meant: ./dev migrations, and look at its diff";
  }
}

// They are applied without a look at their bodies, for those name views that come later.
TEST_F(SchemaTest, FunctionsAreValid) {
  EXPECT_GT(db().Count("SELECT count(*) FROM (SELECT CASE l.lanname WHEN 'sql' THEN fmgr_sql_validator(p.oid)::text ELSE "
                       "plpgsql_validator(p.oid)::text END FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.pronamespace = "
                       "'public'::regnamespace OFFSET 0) v"),
            60);
}

TEST_F(SchemaTest, EachFunctionAndViewHasItsFile) {
  const auto names = [](std::vector<std::string> files) {
    std::sort(files.begin(), files.end());
    std::string all;
    for (const std::string& file : files) all += file + '\n';
    return all;
  };
  std::vector<std::string> files, there;
  for (const auto& object : pg::EmbeddedSchema().objects) {
    files.push_back(object.name);
    EXPECT_EQ(FileText("migrations/" + object.file()), object.text) << object.file();
    EXPECT_GE(object.version, 1) << object.file();
    EXPECT_EQ(object.text.rfind("-- ", 0), 0u) << object.file() << ": begins with what it is for";
  }
  for (const auto& row :
       db().Query("SELECT DISTINCT 'functions/' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace UNION ALL "
                  "SELECT 'views/' || relname FROM pg_class WHERE relkind = 'v' AND relnamespace = 'public'::regnamespace")) {
    there.push_back(*row[0]);
  }
  EXPECT_EQ(names(files), names(there));
}

TEST_F(SchemaTest, AViewSaysWhichViewsItReads) {
  for (const auto& object : pg::EmbeddedSchema().objects) {
    if (!object.is_view()) continue;
    auto reads = object.Reads();
    std::sort(reads.begin(), reads.end());
    std::string said;
    for (const std::string& view : reads) said += view.substr(6) + " ";
    EXPECT_EQ(
        db().Value("SELECT coalesce(string_agg(name || ' ', '' ORDER BY name COLLATE \"C\"), '') FROM (SELECT DISTINCT c.relname::text AS "
                   "name FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid "
                   "= 'pg_class'::regclass JOIN pg_class c ON c.oid = d.refobjid WHERE c.relkind = 'v' AND c.oid <> r.ev_class AND "
                   "r.ev_class = '" +
                   object.name.substr(6) + "'::regclass) v"),
        said)
        << object.file() << ": its line `-- reads:`";
  }
}

}  // namespace
}  // namespace acl
