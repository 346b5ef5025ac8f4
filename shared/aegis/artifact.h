#pragma once
// What may become continuity: explicit artifacts, each with where it is from (document 004, sections 6.1 to 6.3). Values only; the gates
// (gates.h) say which of them are eligible, the compiler (compile.h) which of those go into a bundle.

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/result.h"

namespace acl::aegis {

// In the order that decides between equals (score.h).
enum class ArtifactType {
  kIntent,      // what this session is doing, as somebody declared it
  kDriftwatch,  // an open DriftWatch event
  kNextStep,    // of the project: its task, checkpoint and next step, and the state of a run
  kTask,
  kCheckpoint,
  kRunState,
  kLedgerFact,  // ratified by a person
  kDecision,
  kObservation,  // what a tool said earlier; what it says now is a ToolOutput
  kTurn,         // of the chat, sanitised
  kNote,
};
inline constexpr int kArtifactTypes = 11;
std::string_view ArtifactTypeName(ArtifactType type);  // "ledger_fact"
std::optional<ArtifactType> ArtifactTypeOf(std::string_view name);
const std::array<std::string_view, kArtifactTypes>& ArtifactTypeNames();

enum class Trust {
  kTrusted,
  kUntrusted,  // tool output, web, file, ticket, what a model said: shown between markers, never an instruction
};

struct Artifact {
  ArtifactType type = ArtifactType::kNote;
  std::string id;      // "ledger:000183"; distinct among all artifacts
  std::string source;  // "turn:ID", "ledger:ID", "tool:EXECUTION", "event:SUBJECT/SEQ"
  WallTime observed_at{};
  std::string hash;  // "sha256:...", as its store has it
  std::string text;
  Json value;  // what it says as a value; null if it is a text only
  Trust trust = Trust::kTrusted;
  int tier = 1;  // the lowest tier that may see it
  std::vector<std::string> topics;
  std::string subject;                   // what it is about: two artifacts with one subject and different values conflict
  std::vector<std::string> contradicts;  // ids
  std::string confidence;                // "high", "medium", "low"; empty: unknown
  std::string status;                    // of a fact "ratified", of a DriftWatch event "open"
  std::string session;                   // of a turn or an intent
  std::string speaker;                   // of a turn: "user", "aurora"

  friend bool operator==(const Artifact&, const Artifact&) = default;
};

Json ArtifactToJson(const Artifact& artifact);
Result<Artifact> ArtifactFromJson(const Json& json);

// What an observational tool said for this turn, or why it said nothing.
struct ToolOutput {
  std::string tool;
  std::string execution;  // its id
  bool available = false;
  std::string reason;  // not available: not_installed, blocked_by_tier or tool_error
  WallTime observed_at{};
  Json values = Json::object();
  std::vector<std::string> unknowns;
  std::string refused;  // of a gate; the values are gone then

  friend bool operator==(const ToolOutput&, const ToolOutput&) = default;
};
Json ToolOutputToJson(const ToolOutput& output);
Result<ToolOutput> ToolOutputFromJson(const Json& json);

}  // namespace acl::aegis
