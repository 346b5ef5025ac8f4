#pragma once
// What subjects say to each other goes from the outbox to their inboxes (shared/kernel/post.h), and what they ask for is made
// (children.h). A job; two at once wait for each other.

#include "coordinator/jobs.h"
#include "coordinator/run_maker.h"

namespace acl::coordinator {

// Looks every `period`: whoever commits a post does not say so.
Tick PostsJob(const JobContext& context, const RunMaker& maker, milliseconds period);

}  // namespace acl::coordinator
