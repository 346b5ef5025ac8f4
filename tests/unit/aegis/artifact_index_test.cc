// The index finds what a scan finds, whatever came, went and in which order.
#include "shared/aegis/artifact_index.h"

#include "shared/aegis/conflicts.h"
#include "shared/aegis/history.h"
#include "tests/unit/aegis/bundle_fixture.h"

namespace acl::aegis {
namespace {

using namespace bundles;

// The definition of Gather, written down as plainly as possible.
class IndexScan {
 public:
  IndexScan(const std::vector<Artifact>& artifacts, const GatherAsked& asked, const Kernel& kernel, const GatherBounds& bounds)
      : asked_(asked), kernel_(kernel), bounds_(bounds) {
    for (const Artifact& artifact : artifacts) {
      One one;
      one.given = artifact;
      one.candidate = Screen(artifact, FindsHunter);
      if (one.candidate.refused.empty() && CheckAuthority(artifact, kernel)) Refuse(&one.candidate, "authority_incompatible");
      all_.push_back(std::move(one));
    }
    std::sort(all_.begin(), all_.end(), [](const One& a, const One& b) { return Newer(a, b); });
  }

  CandidateSet Run() {
    Weigh();
    for (One& one : all_) one.relevance = RelevanceOf(one.given, out_.query);
    std::int64_t turns = 0;
    for (One& one : all_)  // newest first
      if (one.eligible() && one.given.type == ArtifactType::kTurn && one.given.session == kThisSession)
        one.recent = turns++ < kernel_.recent_turns;
    std::vector<One*> found;
    for (One& one : all_)
      if (one.relevance > 0) found.push_back(&one);
    std::stable_sort(found.begin(), found.end(), [](const One* a, const One* b) { return a->relevance > b->relevance; });
    const bool history = asked_.deep_history || AskedHistory(asked_.user_input);
    std::size_t taken[4] = {};
    const std::size_t most[4] = {bounds_.refused, bounds_.ring1, history ? bounds_.ring2_asked : bounds_.ring2_unasked, 0};
    std::vector<One*> beyond;
    for (One* one : found) {
      const int place = !one->eligible() ? 0
                        : Foreign(*one)  ? 3
                                        : RingOf(one->given.type, one->given.observed_at, one->relevance, one->recent, kernel_, asked_.now);
      if (taken[place]++ < most[place])
        one->chosen = true;
      else if (place == 1 || (place == 2 && history))
        beyond.push_back(one);
    }
    TakeStanding();
    TakeConflicting();
    for (One* one : beyond) out_.left_out += one->chosen ? 0 : 1;
    Write();
    return out_;
  }

 private:
  struct One {
    Artifact given;
    ScreenedArtifact candidate;
    std::int64_t relevance = 0;
    bool recent = false, chosen = false;
    bool eligible() const { return candidate.refused.empty(); }
  };
  static bool Newer(const One& a, const One& b) {
    return a.given.observed_at != b.given.observed_at ? a.given.observed_at > b.given.observed_at : a.given.id < b.given.id;
  }
  static bool Foreign(const One& one) {
    return one.given.type == ArtifactType::kIntent && !one.given.session.empty() && one.given.session != kThisSession;
  }

  void Weigh() {
    std::vector<std::pair<std::int64_t, std::string>> words;
    for (const std::string& word : QueryWordsOf(asked_.user_input)) {
      std::int64_t holders = 0;
      for (const One& one : all_) {
        const ArtifactWords own = WordsOfArtifact(one.given);
        holders += std::binary_search(own.in_text.begin(), own.in_text.end(), word) ||
                   std::binary_search(own.in_topics.begin(), own.in_topics.end(), word);
      }
      if (holders > 0) words.emplace_back(holders, word);
    }
    std::sort(words.begin(), words.end());
    for (std::size_t i = 0; i < words.size() && i < kQueryWords; ++i)
      if (const auto weight = WordWeight(std::int64_t(all_.size()), words[i].first); weight > 0)
        out_.query.weights[words[i].second] = weight;
  }

  void TakeStanding() {
    std::map<std::pair<ArtifactType, std::string>, std::size_t> taken;
    for (One& one : all_) {
      const ArtifactType type = one.given.type;
      one.chosen |= one.recent;
      const bool intent = type == ArtifactType::kIntent && !Foreign(one);
      const bool work = type == ArtifactType::kNextStep || type == ArtifactType::kTask || type == ArtifactType::kCheckpoint ||
                        type == ArtifactType::kRunState;
      if (one.eligible() && (intent || work) && taken[{type, intent ? one.given.session : ""}]++ < bounds_.newest_of_type)
        one.chosen = true;
    }
  }

  void TakeConflicting() {
    std::vector<One*> chosen;
    for (One& one : all_)
      if (one.chosen && one.eligible()) chosen.push_back(&one);
    for (One* one : chosen) {
      std::set<std::string> claims = {ClaimOf(one->given)};
      std::vector<std::string> order;  // of the other claims, those with the newest artifact first, whatever its tier
      const auto same_subject = [&](const One& other) {
        return ClaimsSubject(one->given) &&
               ClaimsSubject(other.candidate.artifact.subject.empty() ? other.given : other.candidate.artifact) &&
               other.given.subject == one->given.subject;
      };
      std::size_t taken = 0;
      for (One& other : all_) {
        const bool screened_out = !Screen(other.given, FindsHunter).refused.empty();
        if (screened_out || !same_subject(other) || !claims.insert(ClaimOf(other.given)).second) continue;
        order.push_back(ClaimOf(other.given));
      }
      for (const std::string& claim : order) {
        if (taken == bounds_.conflicting) break;
        const auto first = std::find_if(all_.begin(), all_.end(), [&](const One& other) {
          return other.eligible() && same_subject(other) && ClaimOf(other.given) == claim;
        });
        if (first == all_.end()) continue;
        first->chosen = true;
        ++taken;
      }
      taken = 0;
      for (const std::string& id : one->given.contradicts)
        for (One& other : all_)
          if (other.given.id == id && other.eligible() && taken < bounds_.conflicting) other.chosen = true, ++taken;
      taken = 0;
      for (One& other : all_) {
        const auto& named = other.given.contradicts;
        if (other.eligible() && taken < bounds_.conflicting && std::find(named.begin(), named.end(), one->given.id) != named.end())
          other.chosen = true, ++taken;
      }
    }
  }

  void Write() {
    std::sort(all_.begin(), all_.end(), [](const One& a, const One& b) { return a.given.id < b.given.id; });
    for (One& one : all_) {
      if (!one.eligible() && !one.chosen) ++out_.refused_beyond[one.candidate.refused];
      if (!one.chosen) continue;
      if (!one.eligible()) one.candidate.relevance = one.relevance;
      out_.candidates.push_back(one.candidate);
    }
  }

  const GatherAsked& asked_;
  const Kernel& kernel_;
  const GatherBounds& bounds_;
  std::vector<One> all_;
  CandidateSet out_;
};

Json DescribedSet(const CandidateSet& found) {
  CompileInput input;
  input.found = found;
  return CompileInputToJson(input);
}

TEST(ArtifactIndex, FindsWhatAScanFinds) {
  const GatherBounds small{.ring1 = 6, .ring2_asked = 4, .ring2_unasked = 2, .refused = 3, .newest_of_type = 2, .conflicting = 2};
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SeededRandom random(seed);
    const Kernel kernel = KernelOf(
        KernelText("{ring0: {tokens: 1, bytes: 1}, ring1: {tokens: 1, bytes: 1}, ring2: {tokens: 1, bytes: 1}}", 1 + int(random.Below(3))));
    ArtifactIndex index(FindsHunter);
    std::map<std::string, Artifact> there;
    for (int i = 0; i < 120; ++i) {  // ids come again: those are replaced; some are removed
      Artifact artifact = RandomArtifact(random, int(random.Below(60)));
      if (random.Below(4) == 0) {
        EXPECT_EQ(index.Remove(artifact.id), there.erase(artifact.id) == 1);
        continue;
      }
      there[artifact.id] = artifact;
      index.Put(std::move(artifact));
    }
    ASSERT_EQ(index.size(), there.size());
    std::vector<Artifact> artifacts;
    for (const auto& [id, artifact] : there) artifacts.push_back(artifact);
    for (int i = 0; i < 4; ++i) {
      const GatherAsked asked{kThisSession, RandomText(random, random.Below(6)), random.Below(3) == 0, kAskedAt};
      const GatherBounds bounds = random.Below(2) == 0 ? small : GatherBounds{};
      ASSERT_EQ(DescribedSet(index.Gather(asked, kernel, bounds)), DescribedSet(IndexScan(artifacts, asked, kernel, bounds).Run()))
          << "seed " << seed << ", question " << asked.user_input;
    }
  }
}

TEST(ArtifactIndex, TheOrderOfComingSaysNothing) {
  SeededRandom random(3);
  std::vector<Artifact> artifacts;
  for (int i = 0; i < 200; ++i) artifacts.push_back(RandomArtifact(random, i));
  const CompileInput forward = InputFor(artifacts, "is the billing queue stuck");
  std::reverse(artifacts.begin(), artifacts.end());
  EXPECT_EQ(CompileInputToJson(forward), CompileInputToJson(InputFor(artifacts, "is the billing queue stuck")));
}

// Of a claim whose newest artifact goes, the next one still shows the conflict.
TEST(ArtifactIndex, AClaimOutlivesItsNewestArtifact) {
  const auto about = [](const std::string& id, const std::string& host, const std::string& text) {
    Artifact fact = Fact(id, text, "2026-01-0" + id + "T12:00:00Z");
    fact.subject = "billing.host";
    fact.value = host;
    return fact;
  };
  ArtifactIndex index(FindsHunter);
  index.Put(about("1", "a", "billing runs there"));
  index.Put(about("2", "b", "moved"));
  index.Put(about("3", "b", "moved again"));
  const Kernel kernel = KernelOf(KernelText());
  const auto found = [&] {
    std::vector<std::string> ids;
    for (const ScreenedArtifact& candidate : index.Gather({kThisSession, "billing?", false, kAskedAt}, kernel).candidates)
      ids.push_back(candidate.artifact.id);
    return ids;
  };
  EXPECT_EQ(found(), (std::vector<std::string>{"ledger:1", "ledger:3"}));
  EXPECT_TRUE(index.Remove("ledger:3"));
  EXPECT_EQ(found(), (std::vector<std::string>{"ledger:1", "ledger:2"}));
  EXPECT_TRUE(index.Remove("ledger:2"));
  EXPECT_EQ(found(), (std::vector<std::string>{"ledger:1"}));
  EXPECT_FALSE(index.Remove("ledger:2"));
}

TEST(ArtifactIndex, WhatIsRefusedLosesItsText) {
  const auto input = InputFor({Fact("1", "the billing password is hunter2"), Fact("2", "billing runs at night")}, "billing at night?");
  ASSERT_EQ(input.found.candidates.size(), 2u);
  EXPECT_EQ(input.found.candidates[0].refused, "sensitive_content");
  EXPECT_EQ(input.found.candidates[0].artifact.text, "");
  EXPECT_GT(input.found.candidates[0].relevance, 0);
  EXPECT_EQ(input.found.candidates[1].refused, "");
}

}  // namespace
}  // namespace acl::aegis
