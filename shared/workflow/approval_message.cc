#include "shared/workflow/approval_message.h"

#include <fmt/format.h>

#include "shared/kernel/publish.h"

namespace acl::workflow {

OutboxRow ApprovalMessage(const approval::Request& request, const std::string& message_id, std::string_view event,
                          const std::string& endpoint) {
  const auto command = [&](const char* decision) {
    return fmt::format("airun workflow resume {} --decision {}", request.run_id, decision);
  };
  const Json* context = nullptr;
  if (const auto it = request.arguments.find("context"); it != request.arguments.end()) context = &*it;
  Json payload = {{"event", event},
                  {"approval_id", request.approval_id},
                  {"workflow_id", request.run_id},
                  {"workflow_name", request.workflow},
                  {"step_id", request.step_id},
                  {"step_name", request.step_name},
                  {"step_info",
                   {{"capability", "human.approve"},
                    {"inputs", request.arguments},
                    {"risk_level", request.risk},
                    {"description", request.description}}},
                  {"message", request.message},
                  {"context", context ? *context : Json::object()},
                  {"requested_at", FormatWallTime(request.requested_at)},
                  {"actions", {{"approve", command("approve")}, {"reject", command("reject")}}},
                  {"digest", request.digest}};
  if (request.expires_at) payload["expires_at"] = FormatWallTime(*request.expires_at);
  if (!request.escalated_roles.empty()) payload["escalated_roles"] = request.escalated_roles;
  return WebhookMessage(request.run_id, message_id, event, endpoint, payload);
}

}  // namespace acl::workflow
