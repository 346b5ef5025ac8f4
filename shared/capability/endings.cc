#include "shared/capability/endings.h"

namespace acl {

std::string_view FollowsText(Follows follows) {
  switch (follows) {
    case Follows::kCompleted: return "completed";
    case Follows::kFailed: return "failed, not tried again";
    case Follows::kFailedAgain: return "failed, tried again";
    case Follows::kAgain: return "run again, counts as no attempt";
    case Follows::kUnknown: return "outcome unknown";
    case Follows::kCancelled: return "cancelled";
  }
  return "";
}

const std::vector<Ending>& Endings() {
  using enum Follows;
  static const std::vector<Ending> endings = {
      {"sys.exec.run", "the program is not on the worker's list or not installed, or a parameter is wrong", kFailed},
      {"sys.exec.run", "the program cannot be started", kFailedAgain},
      {"sys.exec.run", "not begun: the worker is short of disk, descriptors, processes or memory", kAgain},
      {"sys.exec.run", "its time is over before the program is begun", kFailedAgain},
      {"sys.exec.run", "stopped while it waits for its turn", kAgain},
      {"sys.exec.run", "exit code 0", kCompleted},
      {"sys.exec.run", "any other exit code", kCompleted},
      {"sys.exec.run", "ended by a signal that the worker did not send (exit code 128 + n)", kCompleted},
      {"sys.exec.run", "any other exit code, or such a signal, with `check: true`", kFailedAgain},
      {"sys.exec.run", "killed at its timeout", kUnknown},
      {"sys.exec.run", "stopped while the program runs", kUnknown},
      {"sys.exec.run", "the process that watches over the program is stopped or killed", kUnknown},
      {"sys.exec.run", "ended, and its files break a limit of the run", kFailed},
      {"sys.exec.run", "ended, and its files cannot be stored (store away, disk full)", kUnknown},
      {"net.http.post", "a parameter is wrong, or the address is not allowed", kFailed},
      {"net.http.post", "connection refused, or no such host", kFailedAgain},
      {"net.http.post", "stopped before anything was sent", kAgain},
      {"net.http.post", "any status, 5xx too, unless `expect_status` or `retry_on` says otherwise", kCompleted},
      {"net.http.post", "connection closed or reset after sending", kUnknown},
      {"net.http.post", "its time is over after sending", kUnknown},
      {"net.http.post", "stopped after sending", kUnknown},
      {"net.http.post", "the answer is larger than allowed", kUnknown},
      {"net.http.get, net.http.put", "a parameter is wrong, or the address is not allowed", kFailed},
      {"net.http.get, net.http.put", "connection refused, closed or reset", kFailedAgain},
      {"net.http.get, net.http.put", "its time is over", kFailedAgain},
      {"net.http.get, net.http.put", "any status, 5xx too, unless `expect_status` or `retry_on` says otherwise", kCompleted},
      {"net.http.get, net.http.put", "the answer is larger than allowed", kFailed},
      {"llm.ask", "the worker has no `aegis_urls`", kFailed},
      {"llm.ask", "no coordinator is reached for five seconds", kFailedAgain},
      {"llm.ask", "answered, and on record", kCompleted},
      {"llm.ask", "the answer is withheld", kFailed},
      {"llm.ask", "the model surely did not run: `rate-limited`, `overloaded`, `not-connected`", kFailedAgain},
      {"llm.ask", "a budget, the kernel or the provider says no", kFailed},
      {"llm.ask", "nobody knows what became of the call: `uncertain`, `not-recorded`", kUnknown},
      {"llm.ask", "its time is over while the coordinator asks", kFailedAgain},
      {"llm.ask", "stopped while the coordinator asks", kAgain},
      {"project.*", "the worker has no `aegis_urls`", kFailed},
      {"project.*", "no coordinator is reached for five seconds", kFailedAgain},
      {"project.*", "the project says yes, or said so under this key before", kCompleted},
      {"project.*", "the project says no, and why", kFailed},
      {"project.*", "its time is over", kFailedAgain},
      {"any other", "bad input, a missing file, a limit", kFailed},
      {"any other", "the store of contents is away", kFailedAgain},
      {"any other", "its time is over", kFailedAgain},
      {"non_idempotent", "its worker is lost while it runs", kUnknown},
      {"non_idempotent", "its worker is drained and stops it at the end of its time", kUnknown},
      {"non_idempotent", "it does not come back at its timeout", kUnknown},
      {"non_idempotent", "its run is cancelled, or fails beside it, and the step names no compensation", kCancelled},
      {"non_idempotent", "its run is cancelled, or fails beside it, and the step names a compensation", kUnknown},
      {"pure, read, idempotent", "its worker is lost while it runs", kAgain},
      {"pure, read, idempotent", "its worker is drained and stops it at the end of its time", kAgain},
      {"pure, read, idempotent", "it does not come back at its timeout", kFailedAgain},
      {"pure, read, idempotent", "its run is cancelled, or fails beside it", kCancelled},
      {"any", "not begun: its worker drains, or is not sure of its session", kAgain},
  };
  return endings;
}

}  // namespace acl
