#include "tests/support/test_database.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "shared/base/sha256.h"
#include "shared/postgres/connection.h"
#include "shared/postgres/migrate.h"

namespace acl::test {
namespace {

pg::ConnectionSettings Admin(const std::string& conninfo, const std::string& role = "") {
  pg::ConnectionSettings settings;
  settings.conninfo = conninfo;
  settings.application_name = "acl-test";
  settings.role = role;
  settings.statement_timeout = settings.lock_timeout = std::chrono::milliseconds(120'000);
  settings.idle_in_transaction_timeout = std::chrono::milliseconds(120'000);
  return settings;
}

Result<pg::Rows> RunOn(const std::string& conninfo, const std::string& sql, const std::string& role = "") {
  auto connection = pg::Connection::Open(Admin(conninfo, role));
  if (!connection) return connection.error();
  return (*connection)->RunScript(sql);
}

std::string TemplateName() {
  std::string all;
  for (const pg::Migration& migration : pg::EmbeddedSchema().migrations) all += migration.text;
  for (const pg::SchemaObject& object : pg::EmbeddedSchema().objects) all += object.text + std::to_string(object.version);
  return "acl_template_" + ToHex(Sha256(all)).substr(0, 16);
}

// Made under an advisory lock and renamed when complete, so that a half-made one is never used.
Status MakeTemplate(const std::string& server, const std::string& name) {
  auto connection = pg::Connection::Open(Admin(server));
  if (!connection) return connection.error();
  if (auto locked = (*connection)->RunScript("SELECT pg_advisory_lock(hashtext('acl.test.template'))"); !locked) return locked.error();
  auto found = (*connection)->RunScript("SELECT 1 FROM pg_database WHERE datname = '" + name + "'");
  if (!found) return found.error();
  if (found->size() == 1) return {};
  std::string draft = name + "_draft";
  if (auto gone = (*connection)->RunScript("DROP DATABASE IF EXISTS " + draft + " WITH (FORCE)"); !gone) return gone.error();
  if (auto made = (*connection)->RunScript("CREATE DATABASE " + draft); !made) return made.error();
  if (auto migrated = pg::Migrate(WithDatabase(server, draft)); !migrated) return migrated.error();
  for (int attempt = 0;; ++attempt) {  // the migration's connection may take a moment to be gone
    auto renamed = (*connection)->RunScript("ALTER DATABASE " + draft + " RENAME TO " + name);
    if (renamed) return {};
    if (attempt == 50) return renamed.error();
    usleep(20'000);
  }
}

}  // namespace

std::string AsTables(const std::string& damage) {
  std::string sql;
  if (damage.find(" VIEW ") != std::string::npos || damage.find(" TRIGGER ") != std::string::npos) return sql;
  if (damage.find("UPDATE journal_rows") != std::string::npos) {
    sql +=
        "UPDATE journal_rows j SET payload = e.payload, root = NULL FROM event_rows e "
        "WHERE e.subject_id = j.subject_id AND e.seq = j.seq AND j.root IS NOT NULL; ";
  }
  for (const std::string name : {"attempt_rows", "completion_rows"}) {
    if (damage.find(name) == std::string::npos) continue;
    sql += "ALTER VIEW " + name + " RENAME TO shown_" + name + "; CREATE TABLE " + name + " AS SELECT * FROM shown_" + name +
           "; GRANT SELECT ON " + name + " TO PUBLIC; ";
  }
  return sql;
}

std::string WithDatabase(const std::string& conninfo, const std::string& database) {
  std::size_t scheme = conninfo.find("://");
  if (scheme == std::string::npos) return conninfo + " dbname=" + database;
  std::size_t query = conninfo.find('?', scheme);
  std::size_t path = conninfo.find('/', scheme + 3);
  if (path == std::string::npos || path > query) path = std::min(query, conninfo.size());
  return conninfo.substr(0, path) + "/" + database + (query == std::string::npos ? "" : conninfo.substr(query));
}

Result<std::string> ServerConninfo() {
  const char* url = std::getenv("ACL_TEST_DATABASE_URL");
  if (url != nullptr && *url != '\0') return std::string(url);
  return Error{Code::kInvalid,
               "this test needs PostgreSQL: run it by ./dev test, or start a private server and name it: "
               "export ACL_TEST_DATABASE_URL=\"$(./dev pg)\""};
}

TestDatabase::TestDatabase(std::string server, std::string name)
    : server_(std::move(server)), name_(std::move(name)), conninfo_(WithDatabase(server_, name_)) {}

Result<std::unique_ptr<TestDatabase>> TestDatabase::Create(bool migrated) {
  auto server = ServerConninfo();
  if (!server) return server.error();
  if (!migrated) return CreateFrom(*server, "template1");
  const std::string origin = TemplateName();
  if (Status made = MakeTemplate(*server, origin); !made) return made.error();
  return CreateFrom(*server, origin);
}

Result<std::unique_ptr<TestDatabase>> TestDatabase::Copy(const TestDatabase& of) { return CreateFrom(of.server_, of.name_); }

Result<std::unique_ptr<TestDatabase>> TestDatabase::CreateFrom(const std::string& server, const std::string& origin) {
  static std::atomic<int> number{0};
  std::string name = "acl_test_" + std::to_string(getpid()) + "_" + std::to_string(++number);
  auto cleared = RunOn(server, "DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");  // of an earlier process with our number
  if (!cleared) return cleared.error();
  auto made = RunOn(server, "CREATE DATABASE " + name + " TEMPLATE " + origin);
  if (!made) return made.error();
  return std::unique_ptr<TestDatabase>(new TestDatabase(server, name));
}

TestDatabase::~TestDatabase() {
  auto dropped = RunOn(server_, "DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
  if (!dropped) std::fprintf(stderr, "test database %s stays behind: %s\n", name_.c_str(), dropped.message().c_str());
}

std::vector<TestDatabase::Row> TestDatabase::Query(const std::string& sql, const std::string& role) {
  auto rows = RunOn(conninfo_, sql, role);
  if (!rows) throw std::runtime_error("test SQL failed: " + rows.message() + "\n" + sql);
  std::vector<Row> out;
  for (int r = 0; r < rows->size(); ++r) {
    Row row;
    for (int c = 0; c < rows->columns(); ++c) row.push_back(rows->MaybeText(r, c));
    out.push_back(std::move(row));
  }
  return out;
}

std::string TestDatabase::Value(const std::string& sql) {
  auto rows = Query(sql);
  if (rows.size() != 1 || rows[0].size() != 1) throw std::runtime_error("not a single value: " + sql);
  return rows[0][0].value_or("NULL");
}

Error TestDatabase::Refusal(const std::string& sql, const std::string& role) {
  auto rows = RunOn(conninfo_, sql, role);
  if (rows) throw std::runtime_error("this SQL was expected to be refused: " + sql);
  return rows.error();
}

std::unique_ptr<TestDatabase> DatabaseTest::database_;
std::string DatabaseTest::why_;

void DatabaseTest::SetUpTestSuite() {
  auto made = TestDatabase::Create();
  if (made) {
    database_ = std::move(*made);
  } else {
    why_ = made.message();
  }
}

void DatabaseTest::TearDownTestSuite() { database_.reset(); }

}  // namespace acl::test
