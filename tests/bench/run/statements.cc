#include "tests/bench/run/statements.h"

#include <fmt/format.h>

namespace acl::bench {
namespace {

// Of the fleet's: our own questions are left out.
constexpr const char* kCounted =
    "FROM public.pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND query NOT LIKE '%pg_stat_statements%'";

}  // namespace

StatementCount::StatementCount(const Server& server, const std::string& database)
    : switcher_(server.Conninfo("postgres")), asker_(server.Conninfo(database)) {
  asker_.Run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements WITH SCHEMA public");
  Track("top");
  asker_.Run("SELECT public.pg_stat_statements_reset()");
}

StatementCount::~StatementCount() {
  try {
    Track("none");
    asker_.Run("DROP EXTENSION pg_stat_statements");
  } catch (const std::exception&) {
    // the server has gone, or the runner is being stopped
  }
}

void StatementCount::Track(const char* what) {
  switcher_.Run(fmt::format("ALTER SYSTEM SET pg_stat_statements.track = '{}'", what));
  switcher_.Run("SELECT pg_reload_conf()");
  Pause(std::chrono::milliseconds(200));
}

double StatementCount::Calls() { return asker_.Number(fmt::format("SELECT coalesce(sum(calls), 0) {}", kCounted)); }

std::vector<std::string> StatementCount::Costliest(double steps) {
  std::vector<std::string> lines;
  for (const auto& row : asker_.Rows(
           fmt::format("SELECT round(calls::numeric / {0}, 4), round((total_exec_time * 1000 / {0})::numeric, 2), round(wal_bytes / {0}), "
                       "left(regexp_replace(query, '\\s+', ' ', 'g'), 90) {1} ORDER BY total_exec_time DESC LIMIT 8",
                       steps, kCounted))) {
    lines.push_back(fmt::format("statement: {} calls, {} µs, {} B WAL a step: {}", row[0], row[1], row[2], row[3]));
  }
  return lines;
}

}  // namespace acl::bench
