#pragma once
// One way to start a program as a child of this process: for `airun dev`, the chaos driver, the benchmark and the tests. A child never
// outlives us (the kernel sends it `death_signal` when we die); waiting for it is the caller's.

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace acl {

struct SpawnOptions {
  std::vector<std::string> argv;                   // argv[0]: a path, or a name that is looked for in PATH
  std::map<std::string, std::string> environment;  // on top of ours
  bool without_our_settings = false;               // ACL_... and PG... of our own environment are not passed on
  std::filesystem::path directory;                 // empty: ours
  int in = -1, out = -1, err = -1;                 // file descriptors of its standard streams; -1: ours
  std::optional<pid_t> group;                      // process group to join, 0 one of its own; nothing: ours
  int death_signal = SIGKILL;
  const sigset_t* signal_mask = nullptr;  // nothing: ours
};

// The new process. kNotFound if the program or the folder is not there or may not be run, kUnavailable if no process can be had.
Result<pid_t> Spawn(const SpawnOptions& options);

}  // namespace acl
