#pragma once
// The standard capabilities (docs/reference/other-runtimes.md#capabilities): io.fs.*, sys.*, net.http.*, data.json.*, text.*, test.*,
// human.approve, llm.ask. What each takes and gives: docs/reference/capabilities.md, which a test compares with the registry.

#include "shared/capability/capability.h"
#include "shared/capability/config.h"

namespace acl {

void RegisterStandardCapabilities(CapabilityRegistry& registry, const CapabilityConfig& config);

// The registry as the text of docs/reference/capabilities.md.
std::string CapabilityMarkdown(const CapabilityRegistry& registry);
// One row as `GET /v1/capabilities/{id}` and `airun capability show -o json` give it.
Json CapabilityToJson(const CapabilityDefinition& definition);

}  // namespace acl
