#pragma once
// What a model proposed to do (document 004, 7.1): an intent on record, about which people are asked; only what they approve becomes a run.
// Models propose, people dispose: approval::Decide is the one function that says who may. Pure.
//
//   intent:<id>     in the session's state: the request for approval, and until it is decided the workflow that would run
//
//   intent.proposed -> intent.voted ... -> intent.approved (and a run is asked for, shared/kernel/create.h)
//                                       -> intent.rejected, intent.expired        intent.approved -> intent.failed: no run could be made

#include "shared/approval/approval.h"
#include "shared/kernel/commanded_kind.h"
#include "shared/kinds/ask/model.h"

namespace acl::ask {

inline constexpr std::string_view kIntentPrefix = "intent:";  // of the state, and of the timer that ends its time
inline std::string IntentKey(std::string_view id) { return std::string(kIntentPrefix).append(id); }

inline constexpr int kMostIntents = 100;               // of one session
inline constexpr int kMostIntentsOfExchange = 8;       // of one answer
inline constexpr std::chrono::days kIntentOpenFor{7};  // then it is TIMEOUT

namespace events {
inline constexpr std::string_view kIntentProposed = "intent.proposed", kIntentVoted = "intent.voted", kIntentApproved = "intent.approved",
                                  kIntentRejected = "intent.rejected", kIntentExpired = "intent.expired", kIntentFailed = "intent.failed";
}  // namespace events

struct Intent {
  approval::Request
      request;  // approval_id: its id, "<exchange>.<n>"; arguments: the tool, its arguments, kernel and workflow by their hashes
  std::string exchange_id, tool, workflow;
  std::string run_id, error;  // of an approved one: what was asked for, and why it could not be made
};
Json ToJson(const Intent& intent);
std::optional<Intent> FindIntent(const Document& state, std::string_view id);
std::vector<Intent> Intents(const Document& state);  // by id

// `proposed`: of the command `record`, [{tool, about, arguments, workflow, kernel_hash, approvers, allow_requester}]. Their events and
// timers go into `out`; the ids.
Json ProposeIntents(const Document& state, const Json& proposed, const UnderWay& exchange, const std::string& session_id, WallTime now,
                    CommandDecided& out);
// Command `decide_intent`: intent_id, decision ("approve", "reject"), digest, by, roles, assurance, channel, [comment]. Refusals are
// thrown.
CommandDecided DecideIntent(const Document& state, const Json& command, WallTime now);
CommandDecided ExpireIntent(const Document& state, const std::string& id, WallTime now);
// What was asked for could not be made: `payload` as kChildEndedPost has it.
CommandDecided IntentNotMade(const Document& state, const Json& payload, WallTime now);

// The intent after one of the events above; nullopt: it does not fit.
std::optional<Intent> IntentAfter(const Document& state, std::string_view type, const Json& facts, WallTime at);

}  // namespace acl::ask
