#pragma once
// A command on an ask session and its state: events and an answer, or a refusal (document 004, 4.1 and 10). The commands are the desk's
// (coordinator/ask), in this order for one exchange; people's words are checked before they get here.
//
//   open_session     session_id, phase, tier, kernel_hash, host_role, model_id, owner, [limit_micros]
//   prepare          exchange_id, [request_key], user {turn_id, content, content_hash, said_digest}, bundle, bundle_hash, prompt,
//   prompt_hash,
//                    prefix_hash, inputs, refs, call {provider, model ...}, [reserved_micros], deadline
//                      before the call is made: what was compiled and what will be sent. A commit of it is what lets the call go out.
//                      Behind its own deadline it is refused: by then its reservation may be another's.
//   record           exchange_id, aurora {turn_id, content, content_hash, said_digest, refusal, authority_state}, response_hash,
//                    validator_summary, findings [{drift_class, severity, summary}], answer {finish_reason, usage ...}, [cost_micros]
//                      only behind it may the answer be shown
//                      also [intents]: what the model proposed and people are to be asked about (intents.h)
//   fail             exchange_id, code, message, [cost_micros]: the call is known not to have given an answer
//   lose             exchange_id, message: nobody knows what became of the call: UNCERTAIN
//   close_drift      drift_id, reason, by
//   close_session    reason, by
//   decide_intent    as intents.h has it
//
// `record` of a call that was said to be UNCERTAIN is taken: what is known is better than what is not.

#include <string>

#include "shared/kernel/commanded_kind.h"
#include "shared/kinds/ask/model.h"

namespace acl::ask {

// Reasons of refusals: FORM, NOT_FOUND, CLOSED, FULL, BUSY, BUDGET, EXISTS, SETTLED, LATE, and those of approval::Decide.
using Decided = CommandDecided;

// The first event of a session's journal.
EventDraft Created(const std::string& by, WallTime now);
// Pure: the same state, command and time give the same answer.
Decided Decide(const Document& state, const Json& command, WallTime now);
// A deadline has passed: events if the call is still under way.
Decided DecideDeadline(const Document& state, const std::string& timer_id, WallTime now);

}  // namespace acl::ask
