#pragma once
// One run: a fleet (or one elsewhere), a workload, the faults of a schedule, then the checks. Phases: warm-up, faults, heal, drain, check.

#include <functional>

#include "chaos/fleet/fleet.h"
#include "chaos/plan/schedule.h"
#include "chaos/report/report.h"
#include "shared/verify/report.h"

namespace acl::chaos {

struct RunOptions {
  Profile profile;
  std::uint64_t seed = 1;
  std::filesystem::path programs;              // where acl-coordinator and acl-worker are
  std::filesystem::path folder;                // history, report, logs; made anew
  std::filesystem::path postgres;              // PostgreSQL's programs; empty: looked for
  KafkaAccess kafka;                           // of a profile with Kafka; its prefix is the run's own
  std::filesystem::path toxiproxy;             // its program, for a profile that uses it; empty: not there
  std::map<std::string, std::string> objects;  // ACL_S3_...: the object store of a profile with one
  // A fleet elsewhere instead: its coordinator and its database.
  std::string against, api_key, database_url;
  // What `airun verify --all` does, over this database.
  std::function<Result<verify::Report>(const std::string& conninfo)> verify;
  std::function<void(const std::string&)> say;  // progress, a line each
};

// The report; it and the history are in the folder too (history.jsonl, report.json, report.html). An error: the run could not be made.
Result<Report> RunChaos(const RunOptions& options);

struct ZombieOptions {
  std::filesystem::path programs, folder, postgres;
  std::function<void(const std::string&)> say;
};
// The demonstration: a worker frozen past its lease, its late commit refused by the database, its late call by the receiver. An error says
// which step was not seen.
Status RunZombie(const ZombieOptions& options);

}  // namespace acl::chaos
