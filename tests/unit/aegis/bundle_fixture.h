#pragma once
// Kernels, artifacts and whole compile inputs for the tests of the compiler.

#include <gtest/gtest.h>

#include <fstream>

#include "shared/aegis/artifact_index.h"
#include "shared/aegis/rebuild.h"
#include "shared/base/random.h"

namespace acl::aegis::bundles {

inline std::string TextOfFile(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A kernel of tier 2 whose caps are given.
inline std::string KernelText(const std::string& caps =
                                  "{ring0: {tokens: 800, bytes: 6000}, ring1: {tokens: 3000, bytes: 24000}, ring2: "
                                  "{tokens: 1500, bytes: 12000}}",
                              int tier = 2) {
  return "kernel: aegis/1\nphase: beta\ntier: " + std::to_string(tier) +
         "\nhost_role: brain\n"
         "authority: {rules: [\"Nothing is changed without a person.\"], artifacts: {note: 2, run_state: 3}}\n"
         "constraints: [read_only_default, evidence_first, unknowns_are_risk]\n"
         "tools:\n  observational: {sys_health: {from_tier: 1, about: \"load and memory\"}, disk_usage: {from_tier: 1}, deep_scan: "
         "{from_tier: "
         "3}}\n  actuation: {systemctl_restart: {from_tier: 3}}\n"
         "caps: " +
         caps +
         "\nhistory: {recent_turns: 2, deep_after: 30d}\n"
         "drift:\n"
         "  authority: [{tiers: [1, 2, 3], severity: critical, action: fail_closed}]\n"
         "  evidence: [{tiers: [1], severity: low, action: mark}, {tiers: [2, 3], severity: high, action: fail_closed}]\n"
         "  tone: [{tiers: [1, 2, 3], severity: low, action: mark}]\n"
         "  schema: [{tiers: [1, 2, 3], severity: medium, action: mark}]\n"
         "  completeness: [{tiers: [1, 2, 3], severity: high, action: fail_closed}]\n"
         "model: {provider: ollama, api: openai_compatible, model: \"llama3.1:8b\", max_tokens: 256, temperature: 0.2, seed: 7}\n";
}

inline Kernel KernelOf(const std::string& text) {
  LoadedKernel loaded = LoadKernel(text);
  for (const acl::Finding& finding : loaded.findings) ADD_FAILURE() << FormatFinding("kernel", finding);
  return loaded.kernel ? std::move(*loaded.kernel) : Kernel{};
}

inline WallTime Instant(const std::string& text) { return ParseWallTime(text).value(); }
inline const WallTime kAskedAt = Instant("2026-01-08T12:00:00Z"), kThisSessionStart = Instant("2026-01-08T11:00:00Z");
inline const std::string kThisSession = "5f0c2a52-7a3e-4d5e-9d0a-000000000001", kThisMarker = "k3v9q0zz81mnb2x4";

inline Artifact Fact(const std::string& id, const std::string& text, const std::string& observed_at = "2026-01-07T12:00:00Z") {
  Artifact artifact;
  artifact.type = ArtifactType::kLedgerFact;
  artifact.id = "ledger:" + id;
  artifact.source = "ledger:" + id;
  artifact.observed_at = Instant(observed_at);
  artifact.text = text;
  artifact.status = "ratified";
  artifact.confidence = "high";
  return artifact;
}

inline Artifact Turn(const std::string& id, const std::string& text, const std::string& observed_at) {
  Artifact artifact;
  artifact.type = ArtifactType::kTurn;
  artifact.id = "turn:" + id;
  artifact.source = "turn:" + id;
  artifact.observed_at = Instant(observed_at);
  artifact.text = text;
  artifact.session = kThisSession;
  artifact.speaker = "user";
  artifact.trust = Trust::kUntrusted;
  return artifact;
}

inline Artifact Of(ArtifactType type, const std::string& id, const std::string& text) {
  Artifact artifact = Fact(id, text);
  artifact.type = type;
  artifact.id = std::string(ArtifactTypeName(type)) + ":" + id;
  artifact.source = (type == ArtifactType::kObservation ? "tool:" : "event:") + id;
  if (type == ArtifactType::kDriftwatch) artifact.status = "open";
  return artifact;
}

inline ToolOutput Health(const std::string& observed_at = "2026-01-08T11:59:57Z") {
  ToolOutput output;
  output.tool = "sys_health";
  output.execution = "x1";
  output.available = true;
  output.observed_at = Instant(observed_at);
  output.values = {{"cpu_load", 0.42}, {"mem_used_mb", 3812}, {"disk_free_pct", 71}};
  output.unknowns = {"gpu_health"};
  return output;
}

// What finds "hunter2": a stand-in for the sanitiser, which is tested by itself.
inline std::optional<std::string> FindsHunter(std::string_view text) {
  return text.find("hunter2") == std::string_view::npos ? std::nullopt : std::optional<std::string>("password");
}

// An input whose candidates an index found.
inline CompileInput InputFor(const std::vector<Artifact>& artifacts, const std::string& user_input,
                             const std::string& kernel = KernelText(), bool deep_history = false, WallTime now = kAskedAt) {
  ArtifactIndex index(FindsHunter);
  for (const Artifact& artifact : artifacts) index.Put(artifact);
  CompileInput input;
  input.session_id = kThisSession;
  input.session_started_at = kThisSessionStart;
  input.compiled_at = now;
  input.kernel = KernelOf(kernel);
  input.user_input = user_input;
  input.deep_history = deep_history;
  input.found = index.Gather({kThisSession, user_input, deep_history, now}, input.kernel);
  input.tools = {ScreenOutput(Health(), FindsHunter)};
  input.marker = kThisMarker;
  return input;
}

inline Json BundleOf(CompileInput input) {
  auto bundle = Compile(std::move(input));
  if (!bundle.ok()) ADD_FAILURE() << bundle.error();
  return bundle.ok() ? bundle->json() : Json();
}

inline std::vector<std::string> IdsIn(const Json& list) {
  std::vector<std::string> ids;
  for (const Json& entry : list)
    if (entry.contains("id")) ids.push_back(entry.at("id"));
  return ids;
}

// {"artifact": "reason", ...} of the exclusions.
inline Json ReasonsIn(const Json& bundle) {
  Json reasons = Json::object();
  for (const Json& exclusion : bundle.at("exclusions")) reasons[exclusion.at("artifact").get<std::string>()] = exclusion.at("reason");
  return reasons;
}

// Any artifact: of all types, sources, tiers and ages, some refused, some in conflict.
Artifact RandomArtifact(Random& random, int number);
std::string RandomText(Random& random, std::size_t words);

}  // namespace acl::aegis::bundles
