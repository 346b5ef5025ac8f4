#include "shared/capability/standard.h"

#include "shared/capability/handlers.h"

namespace acl {

void RegisterStandardCapabilities(CapabilityRegistry& registry, const CapabilityConfig& config) {
  auto shared = std::make_shared<const CapabilityConfig>(config);
  AddFileReaders(registry);
  AddFileWriters(registry);
  AddFileMovers(registry);
  AddInfo(registry, shared);
  AddExec(registry, shared);
  AddArchive(registry, shared);
  AddHttp(registry, shared);
  AddJson(registry);
  AddText(registry);
  AddTestHelpers(registry);
  AddApproval(registry);
  AddLlm(registry, shared);
  AddProjects(registry, shared);
}

}  // namespace acl
