#pragma once
// What is written into a task and what comes back (docs/architecture.md#dispatch): the agreement between whoever holds the run and
// whoever runs the task, kept as JSON text in the task's row and in the inbox row of kind `task_result`. Unknown members are passed over.
//
//   task:    {"v": 1, "call": {..}, "effect": "pure", "key": "<idempotency key>", "timeout_ms": 300000, "trace": {..},
//             "files": {"a.txt": <manifest entry>, ..}}                    the run's files as they were when the step was dispatched
//   result:  {"step_id": "s", "attempt": 1, "outcome": "succeeded", "outputs": {..}, "files": [..], "duration_ms": 5, "worker": "w1",
//             "token": 4294967297}
//            "damaged": "content .. is gone": whoever holds the run quarantines it before anything else is done with the result;
//            "repeatable": true says that the attempt may then be made again without being counted (SettleDamage). "outcome": "lost" and
//            "cancelled" (nobody had taken it) are written by the store itself; "counted": false says that the worker's end is not held
//            against the step.

#include <string>

#include "shared/kernel/kind.h"
#include "shared/kernel/task.h"

namespace acl {

inline constexpr int kTaskVersion = 1;

struct TaskOffer {
  StartStep step;  // without target and note
  TraceContext trace;
  Document files;  // a state that holds the run's files and nothing else
};

// `files`: {path: manifest entry}.
std::string OfferToText(const StartStep& step, const TraceContext& trace, const Json& files);
// kInvalid with the reason: a newer version, or not an offer.
Result<TaskOffer> OfferFromText(const std::string& step_id, const std::string& text);

struct TaskResult {
  std::string step_id;
  int attempt_id = 0;
  StepResult result;
  bool lost = false;    // its worker ended or stopped answering; `result` is empty
  bool counted = true;  // of a loss: it may have been the step's doing
  std::string worker;   // for people
  std::int64_t token = 0;
  bool repeatable = false;  // its effect may be repeated: another attempt does no harm
};

std::string ResultToText(const TaskResult& result);
// What a result's text says is damaged; empty: nothing.
std::string DamageIn(const Json& result);
// A person has released the run since: the result counts as what else it says, or as not begun if the attempt may be repeated.
void SettleDamage(Json& result);
// kInvalid: not such a text.
Result<TaskResult> ResultFromJson(const Json& json);

}  // namespace acl
