#pragma once
// After every point: is what the database holds what was promised? All rows are counted, every checksum and chain is computed again, and
// `airun verify` reads all runs, or a sample of many. The figures of a point that fails are not shown.

#include <filesystem>
#include <string>

namespace acl::bench {

struct Checked {
  std::int64_t runs = 0, events = 0;
  int verified = 0;                                // runs of which `airun verify` also restored the state, step by step
  double sql_s = 0, journals_s = 0, verify_s = 0;  // what the checks took
};

struct CheckOptions {
  std::string conninfo;
  std::filesystem::path airun;
  std::int64_t runs = 0;    // how many must be there, all COMPLETED
  int steps = 10;           // of each
  bool own_commits = true;  // each step of a run was durable before the next began: as many transactions as steps, and one for the start
  std::int64_t verify_all_up_to = 0;  // events; more of them: a sample of runs, as `sample` says
  int sample = 24;
};

// Throws with what is wrong.
Checked CheckRuns(const CheckOptions& options);

}  // namespace acl::bench
