#include "shared/capability/handlers.h"

namespace acl {

void AddApproval(CapabilityRegistry& registry) {
  CapabilityDefinition approve;
  approve.id = "human.approve";
  approve.summary = "Ask a person (steps of type HUMAN_APPROVAL).";
  approve.docs =
      "Declared so that files which name it can be checked. It is not executed as a capability: a step of type HUMAN_APPROVAL asks.";
  approve.parameters = {{.name = "message", .type = "string", .description = "what to decide on", .aliases = {"approval_message"}},
                        {.name = "approver_role", .type = "string", .description = "who may decide"},
                        {.name = "approval_timeout", .type = "integer", .description = "seconds", .aliases = {"timeout"}},
                        {.name = "webhook_url", .type = "string", .description = "whom to notify"},
                        {.name = "webhook_payload", .type = "object", .description = "added to the notification"},
                        {.name = "context", .type = "object", .description = "shown to the approver"}};
  approve.results = {Out("decision", "string", "APPROVED: what is rejected does not go on"), Out("approver", "string", "who decided"),
                     Out("approver_email", "string", "the same, if it is an address"), Out("decided_at", "string", "time"),
                     Out("comment", "string", "what the approver said")};
  registry.Add(std::move(approve), [](const Json&, CallContext&) {
    return Failed("human.approve is not executed as a capability: a step of type HUMAN_APPROVAL asks a person");
  });
}

}  // namespace acl
