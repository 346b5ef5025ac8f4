#pragma once
// The turns of a coordinator's duties: what a Duty repeats. Relays and schedules have files of their own; which duties there are says
// duty_plan.h.

#include "coordinator/api/api.h"

namespace acl::coordinator {

struct TurnContext {
  KernelStore& store;
  Queries& queries;
  const Clock& clock;
  Metrics& metrics;
  std::function<void(const std::string& queue)> ring;  // workers, for a queue that has work
  std::function<void(const std::string& queue)> look;  // the same, and they look for themselves (doorbell_frame.h); empty: as ring
  std::function<void(const SubjectId&)> closed = {};   // a subject that this process closed: whoever waits for its end; may be empty
};

using Turn = std::function<Result<std::chrono::milliseconds>()>;

// Fires due timers; then waits for the next one, at most `longest`: a timer set meanwhile may be earlier.
Turn TimersTurn(const TurnContext& context, std::chrono::milliseconds longest);
// Frees leases of dead sessions in bounded batches; then waits for the next death, at most `longest`: a session opened meanwhile may die
// earlier.
Turn ReaperTurn(const TurnContext& context, std::chrono::milliseconds longest);
// Removes what no process needs any more, in bounded batches; looks again after an hour.
struct Retention {
  std::chrono::milliseconds sessions, request_keys;  // how long each is kept; tasks that ended, as long as sessions
};
Turn RetentionTurn(const TurnContext& context, Retention keep);
// Drops journals that ended longer ago than `keep`, in bounded batches; looks again after `look`.
Turn JournalsTurn(const TurnContext& context, std::chrono::milliseconds keep, std::chrono::milliseconds look);
// Removes contents that no subject refers to and nobody put for `grace`, a page a turn (docs/decisions.md, "Object store").
Turn ContentsTurn(const TurnContext& context, std::chrono::milliseconds grace);
// Counts ready rows by queue and rings for those that have some: a hint that was lost costs one period. `forget` sets the counts to zero:
// whoever does not hold the duty shows no depth, so that a sum over coordinators is right.
struct ReadyCount {
  Turn turn;
  std::function<void()> forget;
};
ReadyCount CountReady(const TurnContext& context, std::chrono::milliseconds period);

}  // namespace acl::coordinator
