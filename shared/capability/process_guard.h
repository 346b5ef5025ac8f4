#pragma once
// Inside of process.cc: what runs between fork and exec, in the guard and in the program's process. Only system calls, no memory from
// the heap, no locks: the worker has many threads, and their locks may be held for ever in the copy.

#include <sys/types.h>

#include <cstdint>

namespace acl {

// Everything the guard needs, laid out before the fork.
struct GuardPlan {
  const char* program = nullptr;
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  int folder = -1;         // working directory
  int null = -1;           // /dev/null
  int input = -1;          // what the program reads on stdin
  int out = -1, err = -1;  // write ends
  int control = -1;        // read end: a byte or its end means stop
  int status = -1;         // write end: one GuardReport, perhaps two
  std::int64_t max_memory_bytes = 0, max_file_bytes = 0;
  int max_processes = 0, max_open_files = 0;
};

// Whole in one write (far below PIPE_BUF). A failed start comes from the program's process, the end from the guard.
struct GuardReport {
  enum Kind : std::int32_t { kStartFailed = 1, kEnded = 2 } kind;
  std::int32_t value;  // errno, or the status of waitpid
};

[[noreturn]] void RunGuard(const GuardPlan& plan);

}  // namespace acl
