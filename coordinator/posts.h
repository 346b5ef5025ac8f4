#pragma once
// What subjects say to each other goes from the outbox to their inboxes (shared/kernel/post.h). A duty; two at once wait for each other.

#include "coordinator/duties.h"

namespace acl::coordinator {

// Looks every `period`: whoever commits a post does not say so.
Turn PostsTurn(const TurnContext& context, milliseconds period);

}  // namespace acl::coordinator
