#include "shared/aegis/artifact.h"

#include <algorithm>

#include "shared/aegis/json_fields.h"

namespace acl::aegis {

const std::array<std::string_view, kArtifactTypes>& ArtifactTypeNames() {
  static constexpr std::array<std::string_view, kArtifactTypes> kNames = {
      "intent", "driftwatch", "next_step", "task", "checkpoint", "run_state", "ledger_fact", "decision", "observation", "turn", "note"};
  return kNames;
}

std::string_view ArtifactTypeName(ArtifactType type) { return ArtifactTypeNames()[std::size_t(type)]; }

std::optional<ArtifactType> ArtifactTypeOf(std::string_view name) {
  const auto& names = ArtifactTypeNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return ArtifactType(found - names.begin());
}

namespace {

void PutText(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

}  // namespace

Json ArtifactToJson(const Artifact& artifact) {
  Json json = {{"type", ArtifactTypeName(artifact.type)},
               {"id", artifact.id},
               {"source", artifact.source},
               {"observed_at", FormatWallTime(artifact.observed_at)},
               {"trust", artifact.trust == Trust::kTrusted ? "trusted" : "untrusted"},
               {"tier", artifact.tier}};
  PutText(json, "hash", artifact.hash);
  PutText(json, "text", artifact.text);
  if (!artifact.value.is_null()) json["value"] = artifact.value;
  if (!artifact.topics.empty()) json["topics"] = artifact.topics;
  PutText(json, "subject", artifact.subject);
  if (!artifact.contradicts.empty()) json["contradicts"] = artifact.contradicts;
  PutText(json, "confidence", artifact.confidence);
  PutText(json, "status", artifact.status);
  PutText(json, "session", artifact.session);
  PutText(json, "speaker", artifact.speaker);
  return json;
}

Result<Artifact> ArtifactFromJson(const Json& json) {
  JsonFields fields(json, "a recorded artifact");
  Artifact artifact;
  const auto type = ArtifactTypeOf(fields.Text("type"));
  if (!type) fields.Fail("has a type that is not known");
  artifact.type = type.value_or(ArtifactType::kNote);
  artifact.id = fields.Text("id");
  artifact.source = fields.Text("source");
  artifact.observed_at = fields.Time("observed_at");
  const std::string trust = fields.Text("trust");
  if (trust != "trusted" && trust != "untrusted") fields.Fail("'trust' is neither trusted nor untrusted");
  artifact.trust = trust == "trusted" ? Trust::kTrusted : Trust::kUntrusted;
  const std::int64_t tier = fields.Integer("tier");
  if (tier < 0 || tier > 1'000) fields.Fail("'tier' is not 0 to 1000");
  artifact.tier = int(tier);
  artifact.hash = fields.TextOr("hash");
  artifact.text = fields.TextOr("text");
  if (const Json* value = fields.Find("value")) artifact.value = *value;
  artifact.topics = fields.TextsOr("topics");
  artifact.subject = fields.TextOr("subject");
  artifact.contradicts = fields.TextsOr("contradicts");
  artifact.confidence = fields.TextOr("confidence");
  artifact.status = fields.TextOr("status");
  artifact.session = fields.TextOr("session");
  artifact.speaker = fields.TextOr("speaker");
  if (!fields.status().ok()) return fields.status().error();
  return artifact;
}

Json ToolOutputToJson(const ToolOutput& output) {
  Json json = {{"tool", output.tool},
               {"execution", output.execution},
               {"available", output.available},
               {"observed_at", FormatWallTime(output.observed_at)},
               {"values", output.values}};
  PutText(json, "reason", output.reason);
  if (!output.unknowns.empty()) json["unknowns"] = output.unknowns;
  PutText(json, "refused", output.refused);
  return json;
}

Result<ToolOutput> ToolOutputFromJson(const Json& json) {
  JsonFields fields(json, "a recorded tool output");
  ToolOutput output;
  output.tool = fields.Text("tool");
  output.execution = fields.Text("execution");
  output.available = fields.BooleanOr("available", false);
  output.observed_at = fields.Time("observed_at");
  if (const Json* values = fields.Need("values")) output.values = *values;
  output.reason = fields.TextOr("reason");
  output.unknowns = fields.TextsOr("unknowns");
  output.refused = fields.TextOr("refused");
  if (!fields.status().ok()) return fields.status().error();
  return output;
}

}  // namespace acl::aegis
