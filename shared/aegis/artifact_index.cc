#include "shared/aegis/artifact_index.h"

#include <algorithm>

#include "shared/aegis/conflicts.h"
#include "shared/aegis/history.h"
#include "shared/base/sha256.h"

namespace acl::aegis {

namespace {

constexpr std::uint32_t kInText = 1, kInTopics = 2;

bool IsWork(ArtifactType type) {
  return type == ArtifactType::kNextStep || type == ArtifactType::kTask || type == ArtifactType::kCheckpoint ||
         type == ArtifactType::kRunState;
}

}  // namespace

ArtifactIndex::Newest ArtifactIndex::KeyOf(Slot slot) const {
  const Entry& entry = entries_[slot];
  return {MicrosOf(entry.candidate.artifact.observed_at), entry.id, slot};
}

void ArtifactIndex::AddPostings(Slot slot, const ArtifactWords& words) {
  const auto add = [&](const std::string& word, std::uint32_t flags) {
    const auto [place, fresh] = words_.try_emplace(word, std::uint32_t(postings_.size()));
    if (fresh) postings_.emplace_back();
    auto& posting = postings_[place->second];
    const auto at = std::lower_bound(posting.begin(), posting.end(), slot * 4);
    if (at != posting.end() && *at / 4 == slot) {
      *at |= flags;
      return;
    }
    posting.insert(at, slot * 4 + flags);
    entries_[slot].words.push_back(place->second);
  };
  for (const std::string& word : words.in_text) add(word, kInText);
  for (const std::string& word : words.in_topics) add(word, kInTopics);
}

void ArtifactIndex::RemovePostings(Slot slot) {
  for (std::uint32_t word : entries_[slot].words) {
    auto& posting = postings_[word];
    const auto at = std::lower_bound(posting.begin(), posting.end(), slot * 4);
    ACL_CHECK(at != posting.end() && *at / 4 == slot, "a posting of the index is gone");
    posting.erase(at);
  }
  entries_[slot].words.clear();
}

std::vector<ArtifactIndex::NewestFirst*> ArtifactIndex::ListsOf(const Artifact& artifact) {
  std::vector<NewestFirst*> lists;
  if (artifact.type == ArtifactType::kTurn) lists.push_back(&turns_[artifact.session]);
  if (artifact.type == ArtifactType::kIntent) lists.push_back(&intents_[artifact.session]);
  if (IsWork(artifact.type)) lists.push_back(&work_[std::size_t(artifact.type)]);
  std::set<std::string_view> named(artifact.contradicts.begin(), artifact.contradicts.end());
  for (std::string_view id : named) lists.push_back(&contradicted_by_[std::string(id)]);
  return lists;
}

void ArtifactIndex::Link(Slot slot) {
  Entry& entry = entries_[slot];
  const Artifact& artifact = entry.candidate.artifact;
  const Newest key = KeyOf(slot);
  for (NewestFirst* list : ListsOf(artifact)) list->insert(key);
  ++eligible_[{int(artifact.type), artifact.tier}];
  if (!ClaimsSubject(artifact)) return;
  entry.claim = Sha256(ClaimOf(artifact));
  Subject& subject = by_subject_[artifact.subject];
  NewestFirst& same = subject.claims[entry.claim];
  if (!same.empty()) subject.heads.erase(*same.begin());
  same.insert(key);
  subject.heads.emplace(*same.begin(), entry.claim);
}

void ArtifactIndex::Unlink(Slot slot) {
  const Entry& entry = entries_[slot];
  const Artifact& artifact = entry.candidate.artifact;
  const Newest key = KeyOf(slot);
  for (NewestFirst* list : ListsOf(artifact)) list->erase(key);
  --eligible_[{int(artifact.type), artifact.tier}];
  if (!ClaimsSubject(artifact)) return;
  const auto found = by_subject_.find(artifact.subject);
  NewestFirst& same = found->second.claims[entry.claim];
  found->second.heads.erase(*same.begin());
  same.erase(key);
  if (!same.empty())
    found->second.heads.emplace(*same.begin(), entry.claim);
  else
    found->second.claims.erase(entry.claim);
  if (found->second.claims.empty()) by_subject_.erase(found);
}

void ArtifactIndex::Put(Artifact artifact) {
  Remove(artifact.id);
  Slot slot = Slot(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
    briefs_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[slot];
  entry.id = artifact.id;
  slot_by_id_.emplace(artifact.id, slot);
  AddPostings(slot, WordsOfArtifact(artifact));
  entry.candidate = Screen(std::move(artifact), finds_secret_);
  const Artifact& kept = entry.candidate.artifact;
  briefs_[slot] = {kept.observed_at, kept.tier, kept.type, !entry.candidate.refused.empty()};
  if (entry.candidate.refused.empty())
    Link(slot);
  else
    ++refused_[entry.candidate.refused];
}

bool ArtifactIndex::Remove(const std::string& id) {
  const auto found = slot_by_id_.find(id);
  if (found == slot_by_id_.end()) return false;
  const Slot slot = found->second;
  RemovePostings(slot);
  if (const std::string& refused = entries_[slot].candidate.refused; refused.empty())
    Unlink(slot);
  else
    --refused_[refused];
  slot_by_id_.erase(found);
  entries_[slot] = {};
  free_.push_back(slot);
  return true;
}

// One question.
class ArtifactIndex::Gathering {
 public:
  Gathering(const ArtifactIndex& index, const GatherAsked& asked, const Kernel& kernel, const GatherBounds& bounds)
      : index_(index), asked_(asked), kernel_(kernel), bounds_(bounds), weights_(index.entries_.size()), chosen_(index.entries_.size()) {}

  CandidateSet Run() {
    WeighWords();
    total_ = out_.query.Total();
    MarkRecent();
    SortTouched();
    const std::size_t ring2 = history_ ? bounds_.ring2_asked : bounds_.ring2_unasked;
    Take(&ring1_, bounds_.ring1);
    Take(&ring2_, ring2);
    Take(&refused_, bounds_.refused);
    for (Slot slot : recent_) Choose(slot);
    TakeStanding();
    TakeConflicting();
    CountLeftOut();
    Write();
    return std::move(out_);
  }

 private:
  struct Found {
    std::int64_t relevance, micros;
    Slot slot;
  };

  const ScreenedArtifact& At(Slot slot) const { return index_.entries_[slot].candidate; }
  bool Allowed(Slot slot) const { return !CheckAuthority(At(slot).artifact, kernel_); }
  std::int64_t RelevanceAt(Slot slot) const { return RelevanceFrom(weights_[slot], 0, total_); }

  // The rarest words that are known, and what each artifact holds of them.
  void WeighWords() {
    struct Known {
      std::size_t holders;
      std::string word;
      const std::vector<std::uint32_t>* posting;
    };
    std::vector<Known> known;
    for (std::string& word : QueryWordsOf(asked_.user_input)) {
      const auto found = index_.words_.find(word);
      if (found == index_.words_.end() || index_.postings_[found->second].empty()) continue;
      const auto& posting = index_.postings_[found->second];
      known.push_back({posting.size(), std::move(word), &posting});
    }
    std::sort(known.begin(), known.end(),
              [](const Known& a, const Known& b) { return std::tie(a.holders, a.word) < std::tie(b.holders, b.word); });
    if (known.size() > kQueryWords) known.resize(kQueryWords);
    for (const Known& one : known) {
      const std::int64_t weight = WordWeight(std::int64_t(index_.size()), std::int64_t(one.holders));
      if (weight == 0) continue;
      out_.query.weights.emplace(one.word, weight);
      for (std::uint32_t posted : *one.posting) {
        std::uint32_t& sum = weights_[posted / 4];
        if (sum == 0) touched_.push_back(posted / 4);
        sum += std::uint32_t(weight) * (posted % 4 == (kInText | kInTopics) ? 2 : 1);
      }
    }
  }

  void MarkRecent() {
    const auto turns = index_.turns_.find(asked_.session_id);
    if (turns == index_.turns_.end()) return;
    for (const Newest& turn : turns->second) {
      if (recent_.size() >= std::size_t(kernel_.recent_turns)) return;
      if (Allowed(turn.slot)) recent_.insert(turn.slot);
    }
  }

  void SortTouched() {
    for (Slot slot : touched_) {
      const Brief& brief = index_.briefs_[slot];
      const Found found{RelevanceAt(slot), MicrosOf(brief.observed_at), slot};
      if (brief.refused || std::max(brief.tier, kernel_.artifact_from_tier[std::size_t(brief.type)]) > kernel_.tier) {
        refused_.push_back(found);
        continue;
      }
      if (brief.type == ArtifactType::kIntent && IsForeignIntent(slot)) continue;
      const bool recent = brief.type == ArtifactType::kTurn && recent_.contains(slot);
      const int ring = RingOf(brief.type, brief.observed_at, found.relevance, recent, kernel_, asked_.now);
      (ring == 1 ? ring1_ : ring2_).push_back(found);
    }
  }

  bool IsForeignIntent(Slot slot) const {
    const std::string& session = At(slot).artifact.session;
    return !session.empty() && session != asked_.session_id;
  }

  // The more relevant, then the newer, then by id.
  bool IsBefore(const Found& a, const Found& b) const {
    if (a.relevance != b.relevance) return a.relevance > b.relevance;
    if (a.micros != b.micros) return a.micros > b.micros;
    return index_.entries_[a.slot].id < index_.entries_[b.slot].id;
  }

  void Take(std::vector<Found>* found, std::size_t most) {
    if (found->size() > most)
      std::nth_element(found->begin(), found->begin() + std::ptrdiff_t(most), found->end(),
                       [this](const Found& a, const Found& b) { return IsBefore(a, b); });
    for (std::size_t i = 0; i < found->size() && i < most; ++i) Choose((*found)[i].slot);
  }

  void Choose(Slot slot) {
    if (chosen_[slot]) return;
    chosen_[slot] = true;
    slots_.push_back(slot);
  }

  void TakeNewest(const NewestFirst& list) {
    std::size_t taken = 0;
    for (const Newest& one : list) {
      if (taken == bounds_.newest_of_type) return;
      if (!Allowed(one.slot)) continue;
      Choose(one.slot);
      ++taken;
    }
  }

  void TakeStanding() {
    for (const std::string& session : {asked_.session_id, std::string()}) {
      const auto intents = index_.intents_.find(session);
      if (intents != index_.intents_.end()) TakeNewest(intents->second);
    }
    for (const NewestFirst& list : index_.work_) TakeNewest(list);
  }

  void TakeConflicting() {
    const std::vector<Slot> before = slots_;  // of what comes in here nothing more follows
    for (Slot slot : before) {
      const ScreenedArtifact& candidate = At(slot);
      if (!candidate.refused.empty() || !Allowed(slot)) continue;
      TakeOtherClaims(slot);
      std::size_t taken = 0;
      for (const std::string& id : candidate.artifact.contradicts) {
        const auto found = index_.slot_by_id_.find(id);
        if (found != index_.slot_by_id_.end() && taken < bounds_.conflicting && TakePartner(found->second)) ++taken;
      }
      const auto named = index_.contradicted_by_.find(candidate.artifact.id);
      if (named == index_.contradicted_by_.end()) continue;
      taken = 0;
      for (const Newest& one : named->second)
        if (taken < bounds_.conflicting && TakePartner(one.slot)) ++taken;
    }
  }

  bool TakePartner(Slot slot) {
    if (!At(slot).refused.empty() || !Allowed(slot)) return false;
    Choose(slot);
    return true;
  }

  void TakeOtherClaims(Slot slot) {
    const Entry& entry = index_.entries_[slot];
    if (!ClaimsSubject(entry.candidate.artifact)) return;
    const Subject& subject = index_.by_subject_.at(entry.candidate.artifact.subject);
    std::size_t taken = 0;
    for (const auto& [head, claim] : subject.heads) {
      if (taken == bounds_.conflicting) return;
      if (claim == entry.claim) continue;
      const NewestFirst& same = subject.claims.at(claim);
      const auto first = std::find_if(same.begin(), same.end(), [&](const Newest& one) { return Allowed(one.slot); });
      if (first == same.end()) continue;
      Choose(first->slot);
      ++taken;
    }
  }

  void CountLeftOut() {
    const auto beyond = [&](const std::vector<Found>& found) {
      return std::count_if(found.begin(), found.end(), [&](const Found& one) { return !chosen_[one.slot]; });
    };
    out_.left_out = beyond(ring1_) + (history_ ? beyond(ring2_) : 0);
  }

  void Write() {
    out_.refused_beyond = index_.refused_;
    std::int64_t& by_authority = out_.refused_beyond["authority_incompatible"];
    for (const auto& [key, count] : index_.eligible_) {
      const int from = std::max(key.second, kernel_.artifact_from_tier[std::size_t(key.first)]);
      if (from > kernel_.tier) by_authority += count;
    }
    std::sort(slots_.begin(), slots_.end(), [&](Slot a, Slot b) { return index_.entries_[a].id < index_.entries_[b].id; });
    out_.candidates.reserve(slots_.size());
    for (Slot slot : slots_) {
      ScreenedArtifact& candidate = out_.candidates.emplace_back(At(slot));
      if (candidate.refused.empty() && !Allowed(slot)) Refuse(&candidate, "authority_incompatible");
      if (candidate.refused.empty()) continue;
      candidate.relevance = RelevanceAt(slot);
      --out_.refused_beyond[candidate.refused];
    }
    std::erase_if(out_.refused_beyond, [](const auto& reason) { return reason.second == 0; });
  }

  const ArtifactIndex& index_;
  const GatherAsked& asked_;
  const Kernel& kernel_;
  const GatherBounds& bounds_;
  std::vector<std::uint32_t> weights_;  // by slot
  std::vector<bool> chosen_;            // by slot
  std::vector<Slot> touched_, slots_;
  std::set<Slot> recent_;
  std::vector<Found> ring1_, ring2_, refused_;
  std::int64_t total_ = 0;
  const bool history_ = asked_.deep_history || AskedHistory(asked_.user_input);
  CandidateSet out_;
};

CandidateSet ArtifactIndex::Gather(const GatherAsked& asked, const Kernel& kernel, const GatherBounds& bounds) const {
  return Gathering(*this, asked, kernel, bounds).Run();
}

}  // namespace acl::aegis
