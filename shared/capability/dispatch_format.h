#pragma once
// What is written into a dispatch and what comes back (docs/architecture.md#dispatch): the agreement between whoever holds the run and
// whoever runs the dispatch, kept as JSON text in the dispatch's row and in the inbox row of kind `dispatch_result`. Unknown members are
// passed over.
//
//   dispatch:    {"v": 1, "call": {..}, "effect": "pure", "key": "<idempotency key>", "timeout_ms": 300000, "trace": {..},
//             "files": {"a.txt": <manifest entry>, ..}}                    the run's files as they were when the step was dispatched
//   result:  {"step_id": "s", "attempt": 1, "outcome": "succeeded", "outputs": {..}, "files": [..], "duration_ms": 5, "worker": "w1",
//             "token": 4294967297}
//            "damaged": "content .. is gone": whoever holds the run quarantines it before anything else is done with the result;
//            "repeatable": true says that the attempt may then be made again without being counted (AcknowledgeDamage). "outcome": "lost"
//            and "cancelled" (nobody had taken it) are written by the store itself; "counted": false says that the worker's end is not held
//            against the step.

#include <string>

#include "shared/kernel/dispatch.h"
#include "shared/kernel/kind.h"

namespace acl {

inline constexpr int kDispatchVersion = 1;

struct DispatchOffer {
  StartStep step;  // without target and note
  TraceContext trace;
  Document files;  // a state that holds the run's files and nothing else
};

// `files`: {path: manifest entry}.
std::string OfferToText(const StartStep& step, const TraceContext& trace, const Json& files);
// kInvalid with the reason: a newer version, or not an offer.
Result<DispatchOffer> OfferFromText(const std::string& step_id, const std::string& text);

struct DispatchResult {
  std::string step_id;
  int attempt_id = 0;
  StepResult result;
  bool lost = false;    // its worker ended or stopped answering; `result` is empty
  bool counted = true;  // of a loss: it may have been the step's doing
  std::string worker;   // for people
  std::int64_t token = 0;
  bool repeatable = false;  // its effect may be repeated: another attempt does no harm
};

std::string ResultToText(const DispatchResult& result);
// What a result's text says is damaged; empty: nothing.
std::string DamageIn(const Json& result);
// A person has released the run since: the result counts as what else it says, or as not begun if the attempt may be repeated.
void AcknowledgeDamage(Json& result);
// kInvalid: not such a text.
Result<DispatchResult> ResultFromJson(const Json& json);

}  // namespace acl
