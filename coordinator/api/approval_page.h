#pragma once
// The page behind an approval's link: plain HTML without a script. GET shows what is asked, or how it ended; only the form's POST decides.

#include "coordinator/api/api.h"
#include "coordinator/deliveries/approval_links.h"
#include "shared/base/clock.h"

namespace acl::coordinator {

// Not of the API: no key is asked for, the link's token says who may look. `links` and `clock` outlive the router.
void AddApprovalPage(Router& router, const ApiContext& api, const ApprovalLinks& links, const Clock& clock);

}  // namespace acl::coordinator
