#include "tests/bench/run/check.h"

#include <fmt/format.h>

#include <stdexcept>

#include "shared/base/clock.h"
#include "tests/bench/run/child.h"
#include "tests/bench/run/journals.h"
#include "tests/bench/wire/database.h"

namespace acl::bench {
namespace {

// Fails unless `sql`, which lists or counts what is wrong, counts none.
void MustBeNone(Database* database, const std::string& what, const std::string& sql) {
  const std::string found = database->Value("SELECT count(*) FROM (" + sql + ") wrong");
  if (found != "0") throw std::runtime_error(fmt::format("the database is not as promised: {} ({} of them)", what, found));
}

void Verify(const CheckOptions& options, const std::vector<std::string>& what) {
  std::vector<std::string> argv = {options.airun, "verify"};
  argv.insert(argv.end(), what.begin(), what.end());
  RunToEnd(argv, {{"ACL_DATABASE_URL", options.conninfo}});
}

}  // namespace

Checked CheckRuns(const CheckOptions& options) {
  const SystemClock clock;
  const auto began = clock.Steady();
  Database database(options.conninfo);
  database.Run("SET max_parallel_workers_per_gather = 2; SET work_mem = '512MB'; SET jit = off; SET enable_nestloop = off");
  Checked checked;
  checked.runs = std::stoll(database.Value("SELECT count(*) FROM listings WHERE kind = 'workflow'"));
  checked.events = std::stoll(database.Value("SELECT count(*) FROM event_rows"));
  if (checked.runs != options.runs) {
    throw std::runtime_error(fmt::format("{} runs were submitted and {} are in the database", options.runs, checked.runs));
  }
  MustBeNone(&database, "runs that are not COMPLETED", "SELECT FROM listings WHERE status <> 'COMPLETED'");
  MustBeNone(&database, "leases that are not closed", "SELECT FROM leases WHERE state <> 1");
  MustBeNone(
      &database, "journals with a gap, or without the head's last event",
      "SELECT FROM subject_head h FULL JOIN (SELECT subject_id, count(*) n, min(seq) low, max(seq) high FROM event_rows GROUP BY 1) e "
      "USING (subject_id) WHERE (h.head_seq = e.n AND e.low = 1 AND e.high = e.n) IS NOT TRUE");
  for (const char* table : {"completion_rows", "attempt_rows"}) {
    MustBeNone(
        &database, fmt::format("runs without exactly {} {}", options.steps, table),
        fmt::format("SELECT FROM subjects s FULL JOIN (SELECT subject_id, count(*) n, count(DISTINCT step_id) d FROM {} GROUP BY 1) c "
                    "USING (subject_id) WHERE (c.n = {} AND c.d = c.n) IS NOT TRUE",
                    table, options.steps));
  }
  if (options.own_commits) {
    MustBeNone(&database, "runs with fewer commits than steps and a start",
               fmt::format("SELECT FROM journal_rows GROUP BY subject_id HAVING count(DISTINCT age(xmin)) < {}", options.steps + 1));
  }
  MustBeNone(&database, "journals that end elsewhere than their head says",
             "SELECT FROM subject_head h LEFT JOIN event_rows e ON e.subject_id = h.subject_id AND e.seq = h.head_seq "
             "WHERE (e.chain = h.chain) IS NOT TRUE");
  const auto read = clock.Steady();
  if (VerifyJournals(options.conninfo, 2) != checked.events)
    throw std::runtime_error("not every event is in a journal that begins with its first");
  checked.journals_s = std::chrono::duration<double>(clock.Steady() - read).count();
  const auto between = clock.Steady();
  checked.sql_s = std::chrono::duration<double>(read - began).count();
  if (checked.events <= options.verify_all_up_to) {
    Verify(options, {"--all"});
    checked.verified = static_cast<int>(checked.runs);
  } else {
    for (const auto& row :
         database.Rows(fmt::format("SELECT subject_id FROM subjects ORDER BY md5(subject_id::text) LIMIT {}", options.sample))) {
      Verify(options, {row[0]});
      ++checked.verified;
    }
  }
  checked.verify_s = std::chrono::duration<double>(clock.Steady() - between).count();
  return checked;
}

}  // namespace acl::bench
