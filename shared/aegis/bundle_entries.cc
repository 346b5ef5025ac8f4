#include "shared/aegis/bundle_entries.h"

#include "shared/base/canonical_json.h"

namespace acl::aegis {

namespace {

// "ledger" of "ledger:000183"
std::string SourceWord(const std::string& source) { return source.substr(0, source.find(':')); }

std::string ShownText(const Artifact& artifact) {
  return artifact.text.empty() && !artifact.value.is_null() ? CanonicalJson(artifact.value) : artifact.text;
}

std::string ShownConfidence(const Artifact& artifact) {
  const std::string& said = artifact.confidence;
  return said == "high" || said == "medium" || said == "low" ? said : "unknown";
}

}  // namespace

Json Head(const CompileInput& input) {
  const Kernel& kernel = input.kernel;
  Json head = {{"session_id", input.session_id},
               {"phase", kernel.phase},
               {"tier", kernel.tier},
               {"kernel_hash", kernel.hash},
               {"host_role", kernel.host_role},
               {"model_id", kernel.ModelId()},
               {"compiled_at", WholeSeconds(input.compiled_at)}};
  Json& constraints = head["constraints"] = Json::array();
  for (const RuleText& constraint : kernel.constraints) constraints.push_back({{"rule", constraint.rule}, {"source", "kernel"}});
  head["intent"] = Json::array({{{"intent", "Answer user question under current authority constraints."}, {"source", "system"}}});
  return head;
}

Json SightJson(const Sight& sight) {
  Json all = Json::object();
  for (const SightEntry& entry : sight.entries) {
    Json& one = all[entry.tool] = entry.stamp;
    if (entry.values.is_null()) continue;
    one["values"] = entry.values;
    one["unknowns"] = entry.unknowns;
  }
  return all;
}

const char* ListOf(ArtifactType type) {
  switch (type) {
    case ArtifactType::kIntent: return "intent";
    case ArtifactType::kDriftwatch: return "open_items";
    case ArtifactType::kTurn: return "turns";
    case ArtifactType::kNextStep:
    case ArtifactType::kTask:
    case ArtifactType::kCheckpoint:
    case ArtifactType::kRunState: return "work";
    default: return "facts";
  }
}

Json MakeEntry(const Artifact& artifact, const EntryNotes& notes) {
  Json entry = {{"id", artifact.id}};
  switch (artifact.type) {
    case ArtifactType::kIntent: entry["intent"] = ShownText(artifact); break;
    case ArtifactType::kDriftwatch:
      entry["issue"] = ShownText(artifact);
      entry["status"] = artifact.status;
      break;
    case ArtifactType::kTurn:
      entry["speaker"] = artifact.speaker;
      entry["text"] = ShownText(artifact);
      break;
    case ArtifactType::kNextStep:
    case ArtifactType::kTask:
    case ArtifactType::kCheckpoint:
    case ArtifactType::kRunState: entry["text"] = ShownText(artifact); break;
    default:
      entry["claim"] = ShownText(artifact);
      entry["confidence"] = ShownConfidence(artifact);
      break;
  }
  entry["source"] = SourceWord(artifact.source);
  entry["observed_at"] = WholeSeconds(artifact.observed_at);
  entry["type"] = ArtifactTypeName(artifact.type);
  entry["ref"] = artifact.source;
  entry["trust"] = artifact.trust == Trust::kTrusted ? "trusted" : "untrusted";
  entry["ring"] = notes.ring;
  entry["score"] = notes.score;
  entry["why"] = notes.why;
  if (!artifact.text.empty() && !artifact.value.is_null()) entry["value"] = artifact.value;
  if (!artifact.subject.empty()) entry["subject"] = artifact.subject;
  if (!artifact.hash.empty()) entry["hash"] = artifact.hash;
  if (!notes.conflicts_with.empty()) entry["conflicts_with"] = notes.conflicts_with;
  return entry;
}

IncludedArtifact Included(const Artifact& artifact, int ring, const std::string& why, bool conflicts, WallTime now) {
  IncludedArtifact included;
  included.type = ArtifactTypeName(artifact.type);
  included.id = artifact.id;
  included.hash = artifact.hash;
  included.reason = why;
  included.observed_at = artifact.observed_at;
  included.freshness_s = FreshnessSeconds(artifact.observed_at, now);
  if (artifact.trust == Trust::kUntrusted) included.risk_flags.emplace_back("untrusted");
  if (conflicts) included.risk_flags.emplace_back("conflict");
  const std::string confidence = ShownConfidence(artifact);
  const bool claims = std::string_view(ListOf(artifact.type)) == "facts";
  if (claims && (confidence == "low" || confidence == "unknown")) included.risk_flags.push_back("confidence_" + confidence);
  if (ring == 2) included.risk_flags.emplace_back("deep_history");
  return included;
}

IncludedArtifact IncludedSight(const SightEntry& entry, WallTime now) {
  IncludedArtifact included;
  included.type = entry.tool;
  included.id = ShownId("tool:" + entry.execution);
  included.hash = "sha256:" + ToHex(CanonicalHash(entry.values));
  included.reason = "sight";
  included.observed_at = entry.observed_at;
  included.freshness_s = FreshnessSeconds(entry.observed_at, now);
  included.risk_flags.emplace_back("untrusted");
  if (!entry.unknowns.empty()) included.risk_flags.emplace_back("unknowns");
  return included;
}

std::string DisclosureLine(std::int64_t for_asked, std::int64_t for_conflict, std::optional<std::string_view> phrase) {
  const auto count = [](std::int64_t n) { return std::to_string(n) + (n == 1 ? " older artifact" : " older artifacts"); };
  std::string line = "Deep history was added:";
  if (for_asked > 0)
    line += " " + count(for_asked) + " because the user asked for it" + (phrase ? " (\"" + std::string(*phrase) + "\")" : " (by a flag)");
  if (for_conflict > 0) line += std::string(for_asked > 0 ? ", " : " ") + count(for_conflict) + " to show a conflict";
  return line + ".";
}

}  // namespace acl::aegis
