#pragma once
// Dispatched steps (docs/architecture.md#dispatch) as the stores keep them. A dispatch is one attempt of a step that any worker of its
// queue may take:
//
//   queued --take--> started --finish--> done | failed          finish: the taker's result, under the dispatch's own token
//     |                 |------lose----> lost                    lose: the taker's session is dead
//     '--withdraw--> cancelled                                   withdraw: its cancel was wanted and nobody had taken it
//
// Each of the four ends is a compare-and-set on the row's state and becomes one inbox row of kind `dispatch_result` of the subject, whose
// holder turns it into events. A started dispatch that should be cancelled is asked to stop (its worker hears it with the heartbeat) and
// ends like any other. Nothing is ever put back to `queued`: another attempt is another dispatch.

#include <optional>
#include <string>
#include <string_view>

#include "shared/kernel/types.h"

namespace acl {

inline constexpr std::string_view kDispatchResultKind = "dispatch_result";
inline constexpr std::string_view kDispatchReadyKind = "dispatch";  // of its ready row, whose subject_id is the dispatch's id

// The same for the same attempt, whoever computes it: a UUID of version 8.
DispatchId DispatchIdOf(const SubjectId& subject, std::string_view step_id, int attempt_id);

// What the store itself says of a dispatch that ended without its taker's word (capability/dispatch_format.h reads it).
std::string LostDispatchText(const DispatchKey& dispatch, bool counted, const std::string& worker, Token token);
std::string WithdrawnDispatchText(const DispatchKey& dispatch);

}  // namespace acl
