#pragma once
// Runs one program: no shell, an argument list, a clean environment, its own process group, capped output, resource limits, no file
// descriptor of ours but its three. It ends with everything it started:
//
//   worker --fork--> guard --fork--> program --> ... children, also those that became daemons
//
// The guard is a process of ours that adopts orphans (PR_SET_CHILD_SUBREAPER) and holds a pipe to the worker. When the program has ended,
// when the worker says stop, or when the worker is gone (kill -9: the pipe closes), the guard kills every descendant and then itself ends.
//
// A program runs as the worker's user and may stop or kill its guard. So a guard that is stopped, or has not ended kKillGrace after it was
// told to, is killed by the worker with everything below it (process_tree.h); nothing that a program does keeps RunProcess longer than
// kKillGrace and kKillPatience after its deadline. What the guard had adopted comes to the worker when the guard is killed, if it called
// AdoptOrphans.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace acl {

struct ProcessRequest {
  std::string program;                      // absolute path of the file
  std::vector<std::string> arguments;       // without the program's own name
  std::string name;                         // argv[0]
  std::vector<std::string> environment;     // "NAME=value", all of it
  std::string folder;                       // working directory
  std::string input;                        // on stdin, then its end
  std::size_t max_output_bytes = 1u << 20;  // of each stream; the rest is read and dropped
  std::int64_t max_memory_bytes = 0;        // address space; 0 = no limit
  std::int64_t max_file_bytes = 0;          // of a file it writes; 0 = no limit
  int max_processes = 0, max_open_files = 1024;
  std::chrono::steady_clock::time_point deadline;
  std::function<bool()> stopped;  // asked about every 20 ms
};

struct ProcessResult {
  enum class End { kExited, kSignalled, kTimedOut, kStopped } end = End::kExited;
  int exit_code = 0;  // of kExited
  int signal = 0;     // of kSignalled
  std::string out, err;
  bool out_truncated = false, err_truncated = false;
  bool guard_lost = false;  // somebody stopped or killed the guard: how the program ended is not known
  int left_alive = 0;       // processes of it that could not be killed
};

inline constexpr std::chrono::milliseconds kKillGrace{1'000}, kKillPatience{3'000};

// kUnavailable, kExhausted: it could not be started (nothing ran). Blocks until everything has ended, or could not be killed.
Result<ProcessResult> RunProcess(const ProcessRequest& request);

}  // namespace acl
