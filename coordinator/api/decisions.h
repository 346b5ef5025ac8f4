#pragma once
// A person's decision on an approval, on its way into the run: the same for the API and for the page behind a link.

#include <optional>
#include <string>

#include "coordinator/api/api.h"
#include "shared/approval/store.h"

namespace acl::coordinator {

struct GivenDecision {
  std::string approval_id;
  // Of the run's inbox row (shared/workflow/decide_approval.cc): decision, digest, by, roles, assurance, channel, comment ...
  Json payload = Json::object();
  std::optional<std::string> key;  // Idempotency-Key
};

struct Decided {
  std::optional<HttpResponse> refusal;           // else:
  std::optional<approval::ShownApproval> shown;  // as it is now
  bool known = false;                            // the run has heard it and it counts; else it was taken and is not read yet
  bool replayed = false;                         // under the same key before
};

// Waits for the run's answer, not for ever: ApiContext::approval_wait.
Decided Decide(const ApiContext& api, const GivenDecision& given);

}  // namespace acl::coordinator
