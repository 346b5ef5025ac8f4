#pragma once
// The ticks of a coordinator's jobs: what a Job repeats. Relays and schedules have files of their own; which jobs there are says
// job_plan.h.

#include "coordinator/api/api.h"

namespace acl::coordinator {

struct JobContext {
  KernelStore& store;
  Queries& queries;
  const Clock& clock;
  Metrics& metrics;
  std::function<void(const std::string& queue)> ring;  // workers, for a queue that has work
  std::function<void(const std::string& queue)> look;  // the same, and they look for themselves (doorbell_frame.h); empty: as ring
  std::function<void(const SubjectId&)> closed = {};   // a subject that this process closed: whoever waits for its end; may be empty
};

using Tick = std::function<Result<std::chrono::milliseconds>()>;

// Fires due timers; then waits for the next one, at most `longest`: a timer set meanwhile may be earlier.
Tick TimersJob(const JobContext& context, std::chrono::milliseconds longest);
// Frees leases of dead sessions in bounded batches; then waits for the next death, at most `longest`: a session opened meanwhile may die
// earlier.
Tick ReaperJob(const JobContext& context, std::chrono::milliseconds longest);
// Removes what no process needs any more, in bounded batches; looks again after an hour.
struct Retention {
  std::chrono::milliseconds sessions, request_keys;  // how long each is kept; dispatches that ended, as long as sessions
};
Tick RetentionJob(const JobContext& context, Retention keep);
// Drops journals that ended longer ago than `keep`, in bounded batches; looks again after `look`.
Tick JournalsJob(const JobContext& context, std::chrono::milliseconds keep, std::chrono::milliseconds look);
// Removes contents that no subject refers to and nobody put for `grace`, a page a tick (docs/decisions.md, "Object store").
Tick ContentsJob(const JobContext& context, std::chrono::milliseconds grace);
// Counts ready rows by queue and rings for those that have some: a hint that was lost costs one period. `forget` sets the counts to zero:
// whoever does not hold the job shows no depth, so that a sum over coordinators is right.
struct ReadyCount {
  Tick tick;
  std::function<void()> forget;
};
ReadyCount CountReady(const JobContext& context, std::chrono::milliseconds period);

}  // namespace acl::coordinator
