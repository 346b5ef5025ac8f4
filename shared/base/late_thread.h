#pragma once
// A thread that begins while the process runs: the system may have none left (its limit of processes, memory for a stack). Whoever wanted
// it is told so and goes on without it; the process goes on too.

#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "shared/base/result.h"

namespace acl {

// kExhausted: there is no thread, and `thread` is as it was.
template <class Run>
Status StartThread(std::thread& thread, Run&& run) {
  try {
    thread = std::thread(std::forward<Run>(run));
    return {};
  } catch (const std::system_error& error) {
    return Error{Code::kExhausted, std::string("no further thread can be had: ") + error.code().message() +
                                       "; allow the process more of them (ulimit -u, TasksMax=, pids.max) or more memory"};
  } catch (const std::bad_alloc&) {
    return Error{Code::kExhausted, "no further thread can be had: no memory is left for it; allow the process more memory"};
  }
}

}  // namespace acl
