#include "shared/postgres/migrate_step.h"

#include <thread>

#include "shared/postgres/connection.h"
#include "shared/postgres/migrate.h"

namespace acl::pg {
namespace {

Status StepOnce(Connection& connection, const std::string& settings, const std::function<Status()>& step, const MigrateLimits& limits) {
  if (Status begun = connection.Begin(); !begun) return begun;
  auto set = connection.RunScript("SET LOCAL lock_timeout = " + std::to_string(limits.lock_wait.count()) + "; " + settings);
  Status done = set ? step() : Status(set.error());
  if (!done) {
    connection.Rollback();
    return done;
  }
  return connection.Commit();
}

}  // namespace

std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) {
    out += c;
    if (c == '\'') out += '\'';
  }
  return out + "'";
}

Status RunMigrationStep(Connection& connection, const std::string& settings, const std::function<Status()>& step,
                        const MigrateLimits& limits) {
  for (int n = 1;; ++n) {
    Status done = StepOnce(connection, settings, step, limits);
    if (done || done.message().find("[55P03]") == std::string::npos) return done;
    if (n >= limits.lock_tries) {
      return Error{Code::kTimeout, done.message() +
                                       "; something reads a table for long (pg_dump, a verification of all): let it end, or end it, "
                                       "and migrate again"};
    }
    std::this_thread::sleep_for(limits.lock_pause);
  }
}

}  // namespace acl::pg
