#pragma once
// The continuity compiler (document 004, section 6): from artifacts, tool outputs, a question and a kernel to a bundle. Pure: the same
// input gives the same bytes, on every machine and in a year, and the input is written down whole (CompileInputToJson), so a bundle and
// its prompt are rebuilt from the ledger (rebuild.h).

#include <map>

#include "shared/aegis/bundle.h"
#include "shared/aegis/score.h"

namespace acl::aegis {

// What an index found for a question (artifact_index.h): a bounded part of what there is.
struct CandidateSet {
  Query query;
  std::vector<ScreenedArtifact> candidates;
  std::map<std::string, std::int64_t> refused_beyond;  // by reason: refused artifacts that are not among the candidates
  std::int64_t left_out = 0;                           // eligible ones that were found and are beyond the bound

  friend bool operator==(const CandidateSet&, const CandidateSet&) = default;
};

struct CompileInput {
  std::string session_id;
  WallTime session_started_at{};
  WallTime compiled_at{};
  Kernel kernel;
  std::string user_input;     // sanitised
  bool deep_history = false;  // asked for by a flag; the phrases of history.h ask for it too
  CandidateSet found;
  std::vector<ToolOutput> tools;  // screened (gates.h)
  std::string marker;             // random, of this exchange alone (render.h)
};

inline constexpr std::size_t kUserInputBytes = 64 * 1024;
inline constexpr std::size_t kMostCandidates = 1'024;

// kInvalid if the input is none: no session, candidates beyond the bound or with one id, a question too long or not UTF-8, a ring 0 that
// is larger than its cap. Then no model is called.
Result<CompiledBundle> Compile(CompileInput input);

Json CompileInputToJson(const CompileInput& input);
Result<CompileInput> CompileInputFromJson(const Json& json);

// Where an artifact belongs (document 004, section 6.3). Ring 1: declared intents, the project's work and runs; open DriftWatch events,
// facts and observations that share a word with the question; notes and decisions that do and are not older than the kernel's deep_after;
// the newest turns of the session, as many as the kernel says (`is_recent_turn`). All others: ring 2.
int RingOf(ArtifactType type, WallTime observed_at, std::int64_t relevance, bool is_recent_turn, const Kernel& kernel, WallTime now);

// Why an artifact is among the exclusions, besides the gates' reasons.
inline constexpr std::string_view kOverCap = "over_cap", kHistoryNotAsked = "deep_history_not_requested", kNotRelevant = "not_relevant",
                                  kOtherSession = "other_session", kConflictCrowded = "conflict_too_large";
// The members of one conflict that are shown at most; others are excluded as kConflictCrowded, and the bundle says so.
inline constexpr std::size_t kConflictMembers = 8;

}  // namespace acl::aegis
