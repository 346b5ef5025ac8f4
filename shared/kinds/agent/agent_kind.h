#pragma once
// Agent sessions as a kind of subject: leased and run by workers like workflow runs, but without an end. A session that rests holds no
// lease and no worker; what wakes it is an input or a timer, never somebody who looks.

#include <map>
#include <memory>
#include <mutex>

#include "shared/kernel/kind.h"
#include "shared/kinds/agent/core.h"

namespace acl::agent {

inline constexpr std::string_view kKindName = "agent";

// `extensions`: those that this program brings beside the standard ones.
std::shared_ptr<const SubjectKind> MakeAgentKind(std::shared_ptr<const CapabilityRegistry> capabilities, BuiltInExtensions extensions = {});

// The agent file that a session keeps, read once for each hash. From any thread. kCorrupt: it has none that can be read.
class KnownAgents {
 public:
  Result<std::shared_ptr<const AgentDefinition>> Of(const Document& state) const;

 private:
  static constexpr std::size_t kMostKept = 256;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const AgentDefinition>> known_;
};

}  // namespace acl::agent
