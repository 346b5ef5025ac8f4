#include "shared/approval/digest.h"

#include "shared/base/canonical_json.h"

namespace acl::approval {

std::string DigestOf(const Request& request) {
  Json identity = {{"form", "acl-approval-v1"},
                   {"run_id", request.run_id},
                   {"step_id", request.step_id},
                   {"arguments", request.arguments},
                   {"message", request.message},
                   {"risk_level", request.risk},
                   {"requesters", request.requesters},
                   {"approver_role", request.role},
                   {"approvers", request.approvers},
                   {"needed", request.needed},
                   {"allow_requester", request.allow_requester},
                   {"workspace_root", request.workspace_root}};
  if (!request.escalate_to.empty()) identity["escalate_to"] = request.escalate_to;
  return ToHex(CanonicalHash(identity));
}

}  // namespace acl::approval
