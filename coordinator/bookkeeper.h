#pragma once
// What no worker is there to decide. A run whose queue no living worker serves still hears of a cancel, of the end of its time and, once it
// has begun, of whatever is said to it: a coordinator claims it as a worker does, decides what needs no step (decide_alone.h), and closes
// it or gives it back. Everything is fenced as ever; a coordinator that dies in between is a session that the reaper ends.
//
// A queue counts as unserved once it has been seen so for a while: a worker that is being replaced is not stood in for. Steps, undoing
// included, wait for a worker.

#include "coordinator/jobs.h"

namespace acl::coordinator {

inline constexpr milliseconds kUnservedFor{5'000};

Tick BookkeeperJob(const JobContext& context, const SubjectKind& kind, milliseconds period);

}  // namespace acl::coordinator
