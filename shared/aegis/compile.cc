#include "shared/aegis/compile.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "shared/aegis/bundle_entries.h"
#include "shared/aegis/conflicts.h"
#include "shared/aegis/history.h"
#include "shared/aegis/sight.h"
#include "shared/aegis/words.h"
#include "shared/base/canonical_json.h"
#include "shared/base/sha256.h"
#include "shared/base/utf8.h"

namespace acl::aegis {

int RingOf(ArtifactType type, WallTime observed_at, std::int64_t relevance, bool is_recent_turn, const Kernel& kernel, WallTime now) {
  switch (type) {
    case ArtifactType::kIntent:
    case ArtifactType::kNextStep:
    case ArtifactType::kTask:
    case ArtifactType::kCheckpoint:
    case ArtifactType::kRunState: return 1;
    case ArtifactType::kTurn: return is_recent_turn ? 1 : 2;
    case ArtifactType::kDriftwatch:
    case ArtifactType::kLedgerFact:
    case ArtifactType::kObservation: return relevance > 0 ? 1 : 2;
    case ArtifactType::kDecision:
    case ArtifactType::kNote: break;
  }
  const bool old = FreshnessSeconds(observed_at, now) > kernel.deep_after_s;
  return relevance > 0 && !old ? 1 : 2;
}

// One compilation.
class Compiler {
 public:
  explicit Compiler(CompileInput input) : input_(std::move(input)) {}

  Result<CompiledBundle> Run() {
    if (Status valid = CheckInput(); !valid.ok()) return valid.error();
    asked_ = AskedHistory(input_.user_input);
    ApplyGates();
    MarkRecentTurns();
    MarkConflicts();
    Rank();
    sight_ = CompileSight(input_.kernel, input_.tools, input_.compiled_at);
    for (const SightExclusion& exclusion : sight_.exclusions) Exclude(exclusion.artifact, exclusion.reason, 0);
    if (Status fits = PlaceRing0(); !fits.ok()) return fits.error();
    PlaceSight();
    PlaceUnits();
    return Finish();
  }

 private:
  // A candidate on its way; positions of items_ are those of the candidates.
  struct Item {
    const ScreenedArtifact* candidate = nullptr;
    std::string refused;
    std::int64_t relevance = 0;
    bool recent_turn = false;
    std::vector<std::size_t> conflicts;  // with these items
    Score score;
    std::int64_t rank = 0;  // 1: before all others
    int ring = 2;
    std::string why;
    bool placed = false;

    const Artifact& artifact() const { return candidate->artifact; }
    bool eligible() const { return refused.empty(); }
  };
  struct Excluded {
    int order;  // of what kind: gates, history, caps
    std::int64_t rank;
    std::string artifact, reason;
  };
  struct Use {
    std::int64_t tokens = 0, bytes = 0;
  };

  Status CheckInput() const {
    const auto invalid = [](std::string message) { return Status(Code::kInvalid, std::move(message)); };
    if (input_.session_id.empty() || ShownId(input_.session_id) != input_.session_id)
      return invalid("the session id is missing or no plain name; open or resume a session first");
    if (input_.user_input.size() > kUserInputBytes)
      return invalid("the question has " + std::to_string(input_.user_input.size()) + " bytes; the limit is " +
                     std::to_string(kUserInputBytes) + ": ask less at once, or refer to a file by its id");
    if (!IsUtf8(input_.user_input) || input_.user_input.find('\0') != std::string::npos)
      return invalid("the question is not UTF-8 text; send it as UTF-8");
    if (input_.found.candidates.size() > kMostCandidates)
      return invalid("there are " + std::to_string(input_.found.candidates.size()) + " candidates; the limit is " +
                     std::to_string(kMostCandidates) + ": gather them with an ArtifactIndex");
    std::set<std::string_view> ids;
    for (const ScreenedArtifact& candidate : input_.found.candidates)
      if (candidate.refused.empty() && !ids.insert(candidate.artifact.id).second)
        return invalid("two artifacts have the id " + ShownId(candidate.artifact.id) + "; give each its own");
    return {};
  }

  // A candidate that was not screened is refused here all the same, but for secrets: only Screen can find those.
  void ApplyGates() {
    for (const ScreenedArtifact& candidate : input_.found.candidates) {
      Item& item = items_.emplace_back();
      item.candidate = &candidate;
      item.refused = candidate.refused;
      for (const auto gate : {CheckSourced, CheckStanding, CheckEvidenceBlob})
        if (item.refused.empty()) item.refused = gate(candidate.artifact).value_or("");
      if (item.refused.empty()) item.refused = CheckAuthority(candidate.artifact, input_.kernel).value_or("");
      const bool foreign_intent = candidate.artifact.type == ArtifactType::kIntent && !candidate.artifact.session.empty() &&
                                  candidate.artifact.session != input_.session_id;
      if (item.refused.empty() && foreign_intent) item.refused = kOtherSession;
      item.relevance = item.eligible() ? RelevanceOf(candidate.artifact, input_.found.query) : candidate.relevance;
    }
  }

  void MarkRecentTurns() {
    std::vector<Item*> turns;
    for (Item& item : items_)
      if (item.eligible() && item.artifact().type == ArtifactType::kTurn && item.artifact().session == input_.session_id)
        turns.push_back(&item);
    std::sort(turns.begin(), turns.end(), [](const Item* a, const Item* b) {
      return std::tuple(b->artifact().observed_at, std::string_view(b->artifact().id)) <
             std::tuple(a->artifact().observed_at, std::string_view(a->artifact().id));
    });
    for (std::size_t i = 0; i < turns.size() && i < std::size_t(input_.kernel.recent_turns); ++i) turns[i]->recent_turn = true;
  }

  void MarkConflicts() {
    std::vector<const Artifact*> eligible;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (!items_[i].eligible()) continue;
      eligible.push_back(&items_[i].artifact());
      eligible_.push_back(i);
    }
    conflicts_ = FindConflicts(eligible);
    for (Conflict& conflict : conflicts_) {
      conflict.first = eligible_[conflict.first];
      conflict.second = eligible_[conflict.second];
      items_[conflict.first].conflicts.push_back(conflict.second);
      items_[conflict.second].conflicts.push_back(conflict.first);
    }
  }

  void Rank() {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      Item& item = items_[i];
      item.score = ScoreOf(item.artifact(), item.relevance, !item.conflicts.empty(), input_.kernel, input_.compiled_at);
      item.ring =
          RingOf(item.artifact().type, item.artifact().observed_at, item.relevance, item.recent_turn, input_.kernel, input_.compiled_at);
      ranking_.push_back(i);
    }
    std::stable_sort(ranking_.begin(), ranking_.end(), [&](std::size_t a, std::size_t b) {
      return Before({&items_[a].artifact(), items_[a].score}, {&items_[b].artifact(), items_[b].score});
    });
    for (std::size_t i = 0; i < ranking_.size(); ++i) items_[ranking_[i]].rank = std::int64_t(i) + 1;
  }

  Status PlaceRing0() {
    Json ring0 = Head(input_);
    Json& stamps = ring0["sight"] = Json::object();
    for (const SightEntry& entry : sight_.entries) stamps[entry.tool] = entry.stamp;
    if (Fits(0, CostOf(ring0))) {
      Spend(0, CostOf(ring0));
      return {};
    }
    const Cap& cap = input_.kernel.rings[0];
    return {Code::kInvalid, "ring 0 takes " + std::to_string(CostOf(ring0).tokens) + " tokens and " + std::to_string(CostOf(ring0).bytes) +
                                " bytes; the kernel's 'ring0' allows " + std::to_string(cap.tokens) + " and " + std::to_string(cap.bytes) +
                                ": raise it, or declare fewer tools and constraints"};
  }

  static Use CostOf(const Json& json) {
    const std::string text = CanonicalJson(json);
    return {EstimateTokens(text), std::int64_t(text.size())};
  }
  bool Fits(int ring, const Use& cost) const {
    const Use& used = used_[std::size_t(ring)];
    const Cap& cap = input_.kernel.rings[std::size_t(ring)];
    return used.tokens + cost.tokens <= cap.tokens && used.bytes + cost.bytes <= cap.bytes;
  }
  void Spend(int ring, const Use& cost) {
    used_[std::size_t(ring)].tokens += cost.tokens;
    used_[std::size_t(ring)].bytes += cost.bytes;
  }

  // Values first of all in ring 1, tool by tool: they are what an answer is to rest on.
  void PlaceSight() {
    for (SightEntry& entry : sight_.entries) {
      if (entry.values.is_null()) continue;
      const Use cost = CostOf({{"values", entry.values}, {"unknowns", entry.unknowns}});
      if (Fits(1, cost)) {
        Spend(1, cost);
        continue;
      }
      MakeUnavailable(&entry, "tool_error", "the values are larger than ring 1 allows");
      Exclude("sight:" + entry.tool, kOverCap, 0);
      ++truncated_;
    }
  }

  bool HistoryAsked() const { return input_.deep_history || asked_.has_value(); }

  // The items that conflict with this one, with others, and so on: they are placed together.
  std::vector<std::size_t> UnitOf(std::size_t start) {
    std::vector<std::size_t> unit = {start};
    std::set<std::size_t> seen = {start};
    for (std::size_t i = 0; i < unit.size(); ++i)
      for (std::size_t other : items_[unit[i]].conflicts)
        if (seen.insert(other).second) unit.push_back(other);
    std::sort(unit.begin(), unit.end(), [&](std::size_t a, std::size_t b) { return items_[a].rank < items_[b].rank; });
    return unit;
  }

  // Whether a ring 2 item may go in: asked for, or to show a conflict with what does. A DriftWatch event about something else never does.
  std::string_view ExclusionReason(const Item& item, bool conflict_shown) const {
    if (item.ring < 2 || conflict_shown) return {};
    if (item.relevance == 0) return kNotRelevant;
    return HistoryAsked() ? std::string_view() : kHistoryNotAsked;
  }

  void PlaceUnits() {
    std::vector<bool> done(items_.size());
    for (std::size_t index : ranking_) {
      if (done[index]) continue;
      if (!items_[index].eligible()) {
        Exclude(items_[index].artifact().id, items_[index].refused, items_[index].rank);
        continue;
      }
      const auto unit = UnitOf(index);
      for (std::size_t member : unit) done[member] = true;
      // One that may go in by itself brings in those it conflicts with.
      const bool wanted = std::any_of(unit.begin(), unit.end(), [&](std::size_t i) { return ExclusionReason(items_[i], false).empty(); });
      PlaceUnit(unit, wanted && unit.size() > 1);
    }
  }

  void PlaceUnit(std::vector<std::size_t> unit, bool conflict_shown) {
    if (unit.size() == 1 || !conflict_shown) {
      for (std::size_t i : unit)
        if (const auto why_not = ExclusionReason(items_[i], false); !why_not.empty())
          Exclude(items_[i].artifact().id, why_not, items_[i].rank);
      if (unit.size() > 1 || !ExclusionReason(items_[unit[0]], false).empty()) return;
    }
    while (unit.size() > kConflictMembers) {
      Drop(items_[unit.back()], kConflictCrowded);
      unit.pop_back();
    }
    std::array<Use, 3> cost{};
    for (std::size_t i : unit) {
      Item& item = items_[i];
      item.why = WhyIn(item);
      const Use own = CostOf(EntryOf(item));
      cost[std::size_t(item.ring)].tokens += own.tokens;
      cost[std::size_t(item.ring)].bytes += own.bytes;
    }
    const bool fits = Fits(1, cost[1]) && Fits(2, cost[2]);
    for (std::size_t i : unit) {
      if (!fits) Drop(items_[i], kOverCap);
      items_[i].placed = fits;
    }
    for (int ring : {1, 2})
      if (fits) Spend(ring, cost[std::size_t(ring)]);
  }

  void Drop(const Item& item, std::string_view reason) {
    Exclude(item.artifact().id, reason, item.rank);
    ++truncated_;
  }

  void Exclude(const std::string& artifact, std::string_view reason, std::int64_t rank) {
    const bool cut = reason == kOverCap || reason == kConflictCrowded;
    const bool unasked = reason == kHistoryNotAsked || reason == kNotRelevant || reason == kOtherSession;
    excluded_.push_back({cut ? 1 : unasked ? 2 : 0, rank, ShownId(artifact), std::string(reason)});
  }

  std::string WhyIn(const Item& item) const {
    if (item.ring == 2) return item.relevance > 0 && HistoryAsked() ? "asked_history" : "conflict";
    switch (item.artifact().type) {
      case ArtifactType::kIntent: return "declared_intent";
      case ArtifactType::kDriftwatch: return "open_item";
      case ArtifactType::kTurn: return "recent_turn";
      case ArtifactType::kNextStep:
      case ArtifactType::kTask:
      case ArtifactType::kCheckpoint:
      case ArtifactType::kRunState: return "current_work";
      default: return "relevant";
    }
  }

  Json EntryOf(const Item& item) const {
    std::vector<std::string> others;
    for (std::size_t other : item.conflicts) others.push_back(items_[other].artifact().id);
    std::sort(others.begin(), others.end());
    others.resize(std::min(others.size(), kConflictMembers));
    return MakeEntry(item.artifact(), {item.ring, item.score.Total(), item.why, others});
  }

  Result<CompiledBundle> Finish() {
    auto parts = std::make_unique<BundleParts>();
    Json& bundle = parts->bundle = Head(input_);
    bundle["sight"] = SightJson(sight_);
    for (const char* list : {"facts", "open_items", "turns", "work"}) bundle[list] = Json::array();
    for (const SightEntry& entry : sight_.entries)
      if (!entry.values.is_null()) parts->included.push_back(IncludedSight(entry, input_.compiled_at));
    std::int64_t for_asked = 0, for_conflict = 0;
    for (std::size_t index : ranking_) {
      const Item& item = items_[index];
      if (!item.placed) continue;
      bundle[ListOf(item.artifact().type)].push_back(EntryOf(item));
      parts->included.push_back(Included(item.artifact(), item.ring, item.why, !item.conflicts.empty(), input_.compiled_at));
      if (item.ring == 2) ++(item.why == "conflict" ? for_conflict : for_asked);
    }
    WriteConflicts(&bundle);
    WriteExclusions(&bundle);
    bundle["truncated"] = truncated_ + input_.found.left_out;
    for (std::size_t ring = 0; ring < used_.size(); ++ring)
      bundle["rings"]["ring" + std::to_string(ring)] = {{"tokens", used_[ring].tokens}, {"bytes", used_[ring].bytes}};
    if (for_asked + for_conflict > 0) bundle["disclosure"] = DisclosureLine(for_asked, for_conflict, asked_);
    for (const SightEntry& entry : sight_.entries)
      if (entry.without_values) parts->unseen_tools.push_back(entry.tool);
    if (!parts->unseen_tools.empty()) bundle["sight_without_values"] = parts->unseen_tools;
    parts->canonical = CanonicalJson(bundle);
    parts->hash = "sha256:" + ToHex(Sha256(parts->canonical));
    parts->kernel = std::move(input_.kernel);
    parts->user_input = std::move(input_.user_input);
    parts->marker = std::move(input_.marker);
    parts->session_started_at = input_.session_started_at;
    parts->compiled_at = input_.compiled_at;
    return CompiledBundle(std::move(parts));
  }

  // Each pair once, by rank; a pair that did not fit is said all the same. Beyond kPairs they are counted.
  void WriteConflicts(Json* bundle) {
    constexpr std::size_t kPairs = 64;
    struct Pair {
      std::int64_t first, second;
      const Conflict* conflict;
    };
    std::vector<Pair> pairs;
    for (const Conflict& conflict : conflicts_) {
      const auto [first, second] = std::minmax(items_[conflict.first].rank, items_[conflict.second].rank);
      if (IsSaid(conflict)) pairs.push_back({first, second, &conflict});
    }
    std::sort(pairs.begin(), pairs.end(),
              [](const Pair& a, const Pair& b) { return std::tuple(a.first, a.second) < std::tuple(b.first, b.second); });
    Json& list = (*bundle)["conflicts"] = Json::array();
    for (std::size_t i = 0; i < pairs.size() && i < kPairs; ++i) {
      const Item& first = items_[ranking_[std::size_t(pairs[i].first) - 1]];
      const Item& second = items_[ranking_[std::size_t(pairs[i].second) - 1]];
      Json entry = {{"between", {first.artifact().id, second.artifact().id}}, {"shown", first.placed && second.placed}};
      if (!pairs[i].conflict->subject.empty()) entry["subject"] = pairs[i].conflict->subject;
      list.push_back(std::move(entry));
    }
    (*bundle)["conflict_count"] = pairs.size();
  }

  // A conflict between two that nobody asked for is not this question's.
  bool IsSaid(const Conflict& conflict) const {
    const Item &first = items_[conflict.first], &second = items_[conflict.second];
    return first.placed || second.placed || ExclusionReason(first, false).empty() || ExclusionReason(second, false).empty();
  }

  // The gates' refusals first, then what was cut, then what was not asked for; each by rank.
  void WriteExclusions(Json* bundle) {
    std::stable_sort(excluded_.begin(), excluded_.end(), [](const Excluded& a, const Excluded& b) {
      return std::tie(a.order, a.rank, a.artifact) < std::tie(b.order, b.rank, b.artifact);
    });
    std::map<std::string, std::int64_t> unnamed = input_.found.refused_beyond;
    Json& list = (*bundle)["exclusions"] = Json::array();
    for (std::size_t i = 0; i < excluded_.size(); ++i) {
      const Excluded& one = excluded_[i];
      if (i < std::size_t(input_.kernel.exclusions_named))
        list.push_back({{"artifact", one.artifact}, {"reason", one.reason}, {"rank", one.rank}});
      else
        ++unnamed[one.reason];
    }
    if (unnamed.empty()) return;
    Json& counts = (*bundle)["exclusions_unnamed"] = Json::object();
    for (const auto& [reason, count] : unnamed) counts[reason] = count;
  }

  CompileInput input_;
  std::optional<std::string_view> asked_;
  std::vector<Item> items_;
  std::vector<std::size_t> eligible_;  // positions in items_
  std::vector<std::size_t> ranking_;
  std::vector<Conflict> conflicts_;
  Sight sight_;
  std::array<Use, 3> used_{};
  std::vector<Excluded> excluded_;
  std::int64_t truncated_ = 0;
};

Result<CompiledBundle> Compile(CompileInput input) { return Compiler(std::move(input)).Run(); }

}  // namespace acl::aegis
