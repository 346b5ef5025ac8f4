#pragma once
// The webhook that asks for an approval (docs/reference/other-runtimes.md#approvals: document 002's payload and the runtime's, in one). The
// job `deliveries` signs and sends it.

#include <string>
#include <string_view>

#include "shared/approval/approval.h"
#include "shared/kernel/types.h"

namespace acl::workflow {

// `event`: approval_required or approval_reminder; `endpoint`: by its name.
OutboxRow ApprovalMessage(const approval::Request& request, const std::string& message_id, std::string_view event,
                          const std::string& endpoint);

}  // namespace acl::workflow
