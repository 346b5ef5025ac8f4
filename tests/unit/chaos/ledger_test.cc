#include "chaos/effects/ledger.h"

#include <gtest/gtest.h>

#include "chaos/effects/server.h"
#include "chaos/http/client.h"

namespace acl::chaos {
namespace {

EffectCall Call(const std::string& key, std::int64_t token, const std::string& step = "pay") {
  return {"run", step, key, token, "run", "10 EUR"};
}

TEST(EffectLedger, AppliesAKeyOnce) {
  EffectLedger ledger;
  EXPECT_EQ(ledger.Take(Call("k", 5), 1), Verdict::kApplied);
  EXPECT_EQ(ledger.Take(Call("k", 5), 2), Verdict::kReplayed);
  EXPECT_EQ(ledger.Take(Call("k", 7), 3), Verdict::kReplayed) << "the next holder asks again under the same key";
  EXPECT_EQ(ledger.Take(Call("k2", 7), 4), Verdict::kApplied);
  EXPECT_EQ(ledger.entries().size(), 4u);
}

TEST(EffectLedger, RefusesALowerTokenAfterAHigherOne) {
  EffectLedger ledger;
  EXPECT_EQ(ledger.Take(Call("a", 9), 1), Verdict::kApplied);
  EXPECT_EQ(ledger.Take(Call("b", 8), 2), Verdict::kStale);
  EXPECT_EQ(ledger.Take(Call("a", 8), 3), Verdict::kStale) << "also a repeat";
  EXPECT_EQ(ledger.Take(Call("b", 9), 4), Verdict::kApplied);
}

TEST(EffectLedger, TheTokensOfADispatchedStepAreItsOwn) {
  EffectLedger ledger;
  EXPECT_EQ(ledger.Take(Call("a", 9), 1), Verdict::kApplied);
  EffectCall task = Call("b", 3, "render");
  task.scope = "run/step";
  EXPECT_EQ(ledger.Take(task, 2), Verdict::kApplied);
}

TEST(EffectLedger, RefusesAKeyUsedForSomethingElseAndACallWithoutOne) {
  EffectLedger ledger;
  EXPECT_EQ(ledger.Take(Call("k", 5), 1), Verdict::kApplied);
  EXPECT_EQ(ledger.Take(Call("k", 5, "other"), 2), Verdict::kReused);
  EXPECT_EQ(ledger.Take(Call("", 5), 3), Verdict::kUnfenced);
  EXPECT_EQ(ledger.Take(Call("x", 0), 4), Verdict::kUnfenced);
}

TEST(EffectsServer, AnswersAsItsLedgerSays) {
  SystemClock clock;
  auto server = EffectsServer::Start(clock);
  ASSERT_TRUE(server.ok()) << server.error();
  const auto call = [&](const std::string& token) {
    HttpAsk ask{"POST", "http://127.0.0.1:" + std::to_string((*server)->port()) + "/effects/r1/pay", "x", {}, {}};
    ask.headers = {{"Idempotency-Key", "k"}, {"Fencing-Token", token}, {"Fencing-Scope", "run"}};
    ask.timeout = std::chrono::milliseconds(10'000);
    return Http(ask).status;
  };
  EXPECT_EQ(call("5"), 200);
  EXPECT_EQ(call("6"), 200);
  EXPECT_EQ(call("5"), 412);
  EXPECT_EQ(call("five"), 400);
  EXPECT_EQ((*server)->Count(Verdict::kApplied), 1);
  EXPECT_EQ((*server)->Count(Verdict::kReplayed), 1);
  EXPECT_EQ((*server)->Count(Verdict::kStale), 1);
}

TEST(EffectsServer, NotesWhatIsNotSignedAsItShouldBe) {
  SystemClock clock;
  const auto key = webhook::Key::Parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
             other = webhook::Key::Parse("whsec_bmV3IGtleSwgbmV3IGtleSwgbmV3IGtleS4u");
  ASSERT_TRUE(key.ok() && other.ok());
  auto server = EffectsServer::Start(clock, {*key});
  ASSERT_TRUE(server.ok()) << server.error();
  const auto call = [&](const webhook::Key& by, const std::string& id, const std::string& body) {
    const auto headers = webhook::Sign(std::vector{by}, id, clock.Wall(), "x");
    HttpAsk ask{"POST", "http://127.0.0.1:" + std::to_string((*server)->port()) + "/effects/r1/pay", body, {}, {}};
    ask.headers = {{"Idempotency-Key", "k"},
                   {"Fencing-Token", "5"},
                   {"Fencing-Scope", "run"},
                   {webhook::kIdHeader, headers->id},
                   {webhook::kTimestampHeader, headers->timestamp},
                   {webhook::kSignatureHeader, headers->signature}};
    ask.timeout = std::chrono::milliseconds(10'000);
    EXPECT_NE(Http(ask).status, 0);
    return (*server)->Entries().back().call.signature;
  };
  EXPECT_EQ(call(*key, "k", "x"), "good");
  EXPECT_EQ(call(*key, "another", "x"), "webhook-id is not the idempotency key");
  EXPECT_EQ(call(*key, "k", "y"), "no signature is by a key that is known");
  EXPECT_EQ(call(*other, "k", "x"), "no signature is by a key that is known");
}

}  // namespace
}  // namespace acl::chaos
