#include "shared/aegis/score.h"

#include "shared/aegis/history.h"
#include "shared/aegis/words.h"
#include "tests/unit/aegis/bundle_fixture.h"

namespace acl::aegis {
namespace {

using namespace bundles;
using WordList = std::vector<std::string>;

TEST(Words, AreFoldedAndTheSameOnEveryMachine) {
  EXPECT_EQ(WordsOf("Is sys_health OK? 3rd-party"), (WordList{"is", "sys", "health", "ok", "3rd", "party"}));
  EXPECT_EQ(WordsOf("Straße STRASSE"), (WordList{"strasse", "strasse"}));
  EXPECT_EQ(WordsOf("caf\u00e9 cafe\u0301 CAF\u00c9"), (WordList{"café", "café", "café"}));
  EXPECT_EQ(WordsOf("ΣΑΣ “σας”"), (WordList{"σασ", "σασ"}));
  EXPECT_EQ(WordsOf("ﬁle ＡＢＣ"), (WordList{"file", "abc"}));
  EXPECT_EQ(WordsOf("日本 disk"), (WordList{"日", "本", "disk"}));
  EXPECT_EQ(WordsOf("한국어 문서"), (WordList{"한국어", "문서"}));
  EXPECT_EQ(WordsOf("a\xff"
                    "b"),
            (WordList{"a", "b"}));
  EXPECT_EQ(WordsOf(""), WordList{});
  EXPECT_EQ(WordsOf(std::string(100, 'x')).at(0).size(), kLongestWord);
  EXPECT_TRUE(IsStopWord("the"));
  EXPECT_FALSE(IsStopWord("disk"));
}

TEST(Words, TokensByTheStatedFormula) {
  EXPECT_EQ(EstimateTokens(""), 0);
  EXPECT_EQ(EstimateTokens("abcd"), 1);
  EXPECT_EQ(EstimateTokens("abcde fg"), 3);
  EXPECT_EQ(EstimateTokens("{\"a\":1}"), 7);
  EXPECT_EQ(EstimateTokens("a\nb"), 3);
  EXPECT_EQ(EstimateTokens("é日"), 2);
}

TEST(History, IsAskedForInStatedWordsAlone) {
  EXPECT_EQ(AskedHistory("What did we decide about billing?"), "what did we decide");
  EXPECT_EQ(AskedHistory("Look into the DEEP  history, please"), "deep history");
  EXPECT_EQ(AskedHistory("Answer without deep history"), std::nullopt);
  EXPECT_EQ(AskedHistory("Don't use the chat history"), std::nullopt);
  EXPECT_EQ(AskedHistory("no chat history; yes, do use the earlier sessions"), "earlier sessions");
  EXPECT_EQ(AskedHistory("the history of Rome is deep"), std::nullopt);
  for (std::string_view phrase : HistoryPhrases()) EXPECT_EQ(AskedHistory("please: " + std::string(phrase)), phrase);
}

TEST(Score, TheFormula) {
  const Kernel kernel = KernelOf(KernelText());
  Query query;
  query.weights = {{"disk", 3}, {"full", 1}};
  Artifact fact = Fact("1", "The DISK of the host", "2026-01-07T12:00:00Z");
  EXPECT_EQ(RelevanceOf(fact, query), 750);
  fact.topics = {"disk"};
  EXPECT_EQ(RelevanceOf(fact, query), 1'000);
  Score score = ScoreOf(fact, 750, false, kernel, kAskedAt);
  EXPECT_EQ(score, (Score{.relevance = 750, .recency = 500, .authority_fit = 750, .risk = 0, .utility = 700}));
  EXPECT_EQ(score.Total(), 40 * 750 + 20 * 500 + 10 * 750 + 15 * 700);
  fact.trust = Trust::kUntrusted;
  fact.confidence = "";
  fact.tier = 2;
  score = ScoreOf(fact, 0, true, kernel, kAskedAt);
  EXPECT_EQ(score.authority_fit, 500);
  EXPECT_EQ(score.risk, 1'000);
  EXPECT_EQ(ScoreOf(Fact("1", "x", "2027-01-01T00:00:00Z"), 0, false, kernel, kAskedAt).recency, 1'000);
}

TEST(Score, RareWordsWeighMore) {
  EXPECT_EQ(WordWeight(1, 1), 1);
  EXPECT_EQ(WordWeight(100, 100), 1);
  EXPECT_EQ(WordWeight(100, 50), 2);
  EXPECT_EQ(WordWeight(100, 1), 7);
  EXPECT_EQ(WordWeight(100'000, 25'001), 0);
  EXPECT_EQ(WordWeight(100'000, 25'000), 3);
}

TEST(Score, EveryTieIsBroken) {
  const Artifact newer = Fact("2", "x", "2026-01-07T12:00:00.000001Z"), older = Fact("1", "x"), other = Fact("3", "x");
  Artifact decision = Of(ArtifactType::kDecision, "0", "x");
  const auto ranked = [](const Artifact& artifact, Score score = {}) { return Ranked{&artifact, score}; };
  EXPECT_TRUE(Before(ranked(older, {.relevance = 1}), ranked(newer)));
  EXPECT_TRUE(Before(ranked(older, {.relevance = 1}), ranked(newer, {.recency = 2})));  // equal totals
  EXPECT_TRUE(Before(ranked(newer), ranked(older)));
  EXPECT_TRUE(Before(ranked(older), ranked(decision)));
  EXPECT_TRUE(Before(ranked(older), ranked(other)));
  EXPECT_FALSE(Before(ranked(other), ranked(older)));
  EXPECT_FALSE(Before(ranked(older), ranked(older)));
}

}  // namespace
}  // namespace acl::aegis
