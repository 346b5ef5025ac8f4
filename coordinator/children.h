#pragma once
// Makes the runs that other runs ask for (shared/kernel/create.h): children of CHILD steps, runs that undo
// such children, runs that go on in their asker's place, and what people
// approved of what a model proposed. What cannot
// be made is said to who asked, as the end of the child.

#include "coordinator/jobs.h"
#include "coordinator/run_maker.h"

namespace acl::coordinator {

// One look: how many it made or gave up. What may go another time is left for the next look and keeps nobody else waiting.
Result<int> MakeChildren(const JobContext& context, const RunMaker& maker, int max);

}  // namespace acl::coordinator
