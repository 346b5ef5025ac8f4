#pragma once
// The context bundle (document 004, section 6.6): the only continuity that a prompt holds. A CompiledBundle is made by Compile alone
// (compile.h), so whoever has one knows that the gates, rings and caps were applied.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shared/aegis/kernel_file.h"

namespace acl::aegis {

// One artifact, or the values of one tool, that went in, as `context_artifact_ref` has it (document 004, section 5.2).
struct IncludedArtifact {
  std::string type, id, hash;
  std::string reason;  // relevant, recent_turn, declared_intent, open_item, current_work, conflict, asked_history, sight
  WallTime observed_at{};
  std::int64_t freshness_s = 0;
  std::vector<std::string> risk_flags;  // untrusted, conflict, confidence_low, confidence_unknown, deep_history, unknowns
};

// What Compile found, and what it was found from as far as rendering needs it.
struct BundleParts {
  Kernel kernel;
  std::string user_input;
  std::string marker;             // by which Render delimits what is untrusted
  WallTime session_started_at{};  // facts observed before it are the older ones, which stand in the stable part of a prompt
  WallTime compiled_at{};
  Json bundle;                             // context_bundle.json
  std::string canonical;                   // RFC 8785 of `bundle`
  std::string hash;                        // "sha256:..." over `canonical`
  std::vector<IncludedArtifact> included;  // sight, then artifacts by rank
  std::vector<std::string> unseen_tools;   // said to be available, and gave no values
};

class CompiledBundle {
 public:
  CompiledBundle(CompiledBundle&&) noexcept = default;
  CompiledBundle& operator=(CompiledBundle&&) noexcept = default;
  CompiledBundle(const CompiledBundle&) = delete;
  CompiledBundle& operator=(const CompiledBundle&) = delete;

  const Json& json() const { return parts().bundle; }
  const std::string& canonical() const { return parts().canonical; }
  const std::string& hash() const { return parts().hash; }
  const Kernel& kernel() const { return parts().kernel; }
  const std::vector<IncludedArtifact>& included() const { return parts().included; }
  const BundleParts& parts() const {
    ACL_CHECK(parts_ != nullptr, "a bundle that was moved on");
    return *parts_;
  }

 private:
  friend class Compiler;
  explicit CompiledBundle(std::unique_ptr<const BundleParts> parts) : parts_(std::move(parts)) {}

  std::unique_ptr<const BundleParts> parts_;
};

// What an answer may cite, with the text it may quote: every fact, turn, open item, intent and piece of work, and `sight:TOOL` with its
// values as JSON. For the validator.
struct BundleEntry {
  std::string id;
  std::string text;
  Trust trust = Trust::kTrusted;
};
std::vector<BundleEntry> EntriesOf(const Json& bundle);

}  // namespace acl::aegis
