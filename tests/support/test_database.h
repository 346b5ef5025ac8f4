#pragma once
// A fresh, migrated database for a test. ACL_TEST_DATABASE_URL names a superuser's connection to a private cluster (`./dev test` sets
// it; by hand: export ACL_TEST_DATABASE_URL=$(./dev pg)). Without it a test that needs a database FAILS and says so: it never skips.
//
// The migrated template is made once per cluster and set of migrations; a database is a copy of it (about 50 ms).

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace acl::test {

// The conninfo (URL or key=value) with another database name.
std::string WithDatabase(const std::string& conninfo, const std::string& database);

// ACL_TEST_DATABASE_URL, or kInvalid with what to do.
Result<std::string> ServerConninfo();

// Before damage to what `attempt_rows` and `completion_rows` show: in place of these views, tables with the same rows and no key. Empty if
// the SQL names neither, or is about a view or a trigger.
std::string AsTables(const std::string& damage);

class TestDatabase {
 public:
  // `migrated` false: empty, for tests of the migrations themselves.
  static Result<std::unique_ptr<TestDatabase>> Create(bool migrated = true);
  // A copy of another test's database, rows and all; nobody may be connected to that one.
  static Result<std::unique_ptr<TestDatabase>> Copy(const TestDatabase& of);
  ~TestDatabase();  // drops it, ending its sessions

  const std::string& conninfo() const { return conninfo_; }  // superuser
  const std::string& name() const { return name_; }

  using Row = std::vector<std::optional<std::string>>;
  // Runs SQL as the superuser (or another role); aborts the test with the server's message if it fails.
  std::vector<Row> Query(const std::string& sql, const std::string& role = "");
  void Exec(const std::string& sql, const std::string& role = "") { Query(sql, role); }
  // The single value of a query; "NULL" if it is null.
  std::string Value(const std::string& sql);
  std::int64_t Count(const std::string& sql) { return std::stoll(Value(sql)); }
  // The error of SQL that must fail.
  Error Refusal(const std::string& sql, const std::string& role = "");

 private:
  static Result<std::unique_ptr<TestDatabase>> CreateFrom(const std::string& server, const std::string& origin);
  TestDatabase(std::string server, std::string name);
  std::string server_, name_, conninfo_;
};

// A fixture with one database for all tests of the suite.
class DatabaseTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override { ASSERT_NE(database_, nullptr) << why_; }
  TestDatabase& db() { return *database_; }

 private:
  static std::unique_ptr<TestDatabase> database_;
  static std::string why_;
};

}  // namespace acl::test
