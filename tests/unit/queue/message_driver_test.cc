#include "shared/queue/message_driver.h"

#include <gtest/gtest.h>

#include "shared/base/uuid7.h"
#include "shared/kernel/dispatch.h"
#include "shared/kernel/memory_store.h"

namespace acl {
namespace {

// Answers claims as told; what was asked is kept.
class ScriptedStore final : public MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  Result<ClaimAnswer> Claim(const ClaimRequest& request) override {
    asked.push_back(request);
    if (request.keys) {
      for (const ReadyKey& key : *request.keys) {
        if (refused.contains(key.subject)) return Error{Code::kInternal, "cannot be claimed"};
      }
    }
    if (request.begun_only && (script.empty() || script_spares_begun)) {
      ClaimAnswer answer;
      for (int n = 0; n < request.max && begun > 0; ++n, --begun) answer.claimed.emplace_back().subject = SubjectId{NewUuid7()};
      return answer;
    }
    if (!script.empty()) {
      const Code code = script.front();
      script.erase(script.begin());
      return Error{code, "scripted"};
    }
    ClaimAnswer answer;
    if (!request.keys) return answer;
    answer.begun_waits = begun_waits;
    for (const ReadyKey& key : *request.keys) {
      if (gone.contains(key.subject)) {
        ++answer.missing;
        continue;
      }
      Claimed claimed;
      claimed.subject = key.subject;
      answer.claimed.push_back(std::move(claimed));
    }
    return answer;
  }
  std::vector<ClaimRequest> asked;
  std::vector<Code> script;
  std::set<SubjectId> refused, gone;
  int begun = 0;  // rows that a look for what has begun finds
  bool begun_waits = false, script_spares_begun = false;
};

class StillClock final : public Clock {
 public:
  WallTime Wall() const override { return WallTimeFromMicros(1'700'000'000'000'000); }
  SteadyTime Steady() const override { return now; }
  SteadyTime now{std::chrono::seconds(1'000)};
};

class MessageDriverTest : public ::testing::Test {
 protected:
  MessageDriverTest() : store(clock) {
    MessageDriver::Options options;
    options.metrics = &metrics;
    options.acknowledged = [this](std::uint64_t handle) { acknowledged.push_back(handle); };
    options.poison = [this](const Delivery& delivery, const std::string& reason) { poison[delivery.handle] = reason; };
    options.on_work = [this] { ++hints; };
    driver = std::make_unique<MessageDriver>(std::move(options), store, clock);
  }
  SubjectId Offer(std::uint64_t handle, int priority = 1, const std::string& kind = "workflow", int version = 1) {
    StepMessage message;
    message.key.subject = SubjectId{NewUuid7()};
    message.key.priority = priority;
    message.key.ready_at = clock.Wall();
    message.kind = kind;
    message.required_version = version;
    driver->Offer({handle, "t", EncodeStepMessage(message)});
    return message.key.subject;
  }
  Result<ClaimAnswer> Claim(int max = 10) {
    ClaimRequest request;
    request.max = max;
    request.known_version = 1;
    request.kinds = {"workflow"};
    return driver->Claim(request);
  }

  StillClock clock;
  Metrics metrics;
  ScriptedStore store;
  std::vector<std::uint64_t> acknowledged;
  std::map<std::uint64_t, std::string> poison;
  int hints = 0;
  std::unique_ptr<MessageDriver> driver;
};

TEST_F(MessageDriverTest, ClaimsWhatMessagesNameFirstPriorityFirst) {
  const SubjectId low = Offer(1, 3), high = Offer(2, 0), middle = Offer(3, 1);
  EXPECT_EQ(hints, 3);
  auto answer = Claim(2);
  ASSERT_TRUE(answer);
  ASSERT_EQ(store.asked.size(), 1u);
  ASSERT_EQ(store.asked[0].keys->size(), 2u) << "no more than there is room for";
  EXPECT_EQ(store.asked[0].keys->at(0).subject, high);
  EXPECT_EQ(store.asked[0].keys->at(1).subject, middle);
  EXPECT_EQ(acknowledged, (std::vector<std::uint64_t>{2, 3})) << "after the database's answer, not before";
  EXPECT_EQ(Claim(2)->claimed.front().subject, low);
}

TEST_F(MessageDriverTest, NothingToDoAsksNothing) {
  EXPECT_TRUE(Claim()->claimed.empty());
  EXPECT_TRUE(store.asked.empty());
}

TEST_F(MessageDriverTest, WithoutTheDatabaseMessagesAreKeptInOrder) {
  Offer(1);
  Offer(2);
  for (const Code code : {Code::kUnavailable, Code::kTimeout, Code::kOutcomeUnknown, Code::kLeaseLost}) {
    store.script = {code};
    EXPECT_EQ(Claim().code(), code);
    EXPECT_TRUE(acknowledged.empty());
    EXPECT_EQ(driver->waiting(), 2u);
  }
  EXPECT_EQ(Claim()->claimed.size(), 2u);
  EXPECT_EQ(acknowledged, (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(MessageDriverTest, RepeatsAreDroppedUntilOneIsNone) {
  for (std::uint64_t n = 1; n <= 5; ++n) store.gone.insert(Offer(n));
  const SubjectId there = Offer(6);
  auto answer = Claim(2);
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->claimed.size(), 1u) << "it goes on to the next ones by itself";
  EXPECT_EQ(answer->claimed.front().subject, there);
  EXPECT_EQ(acknowledged.size(), 6u);
  EXPECT_EQ(driver->counts().dropped, 5);
}

TEST_F(MessageDriverTest, WhatIsNoMessageGoesToThePoisonAtOnce) {
  driver->Offer({7, "t", "garbage"});
  EXPECT_EQ(poison.count(7), 1u);
  EXPECT_TRUE(acknowledged.empty()) << "whoever takes it settles it";
  EXPECT_EQ(hints, 0);
}

TEST_F(MessageDriverTest, OneThatTheDatabaseRefusesIsFoundAndTheOthersGoOn) {
  Offer(1);
  store.refused.insert(Offer(2));
  Offer(3);
  std::size_t claimed = 0;
  for (int n = 0; n < 20 && acknowledged.size() < 2; ++n) {
    auto answer = Claim();
    if (answer) claimed += answer->claimed.size();
  }
  EXPECT_EQ(claimed, 2u);
  EXPECT_EQ(acknowledged, (std::vector<std::uint64_t>{1, 3}));
  ASSERT_EQ(poison.count(2), 1u);
  EXPECT_NE(poison[2].find("refuses"), std::string::npos);
  Offer(4);
  Offer(5);
  EXPECT_EQ(Claim()->claimed.size(), 2u) << "and batches are whole again";
}

TEST_F(MessageDriverTest, OtherKindsAndNewerVersionsAreLeftToOthers) {
  Offer(1, 1, "project");
  Offer(2, 1, "workflow", 2);
  const SubjectId mine = Offer(3);
  auto answer = Claim();
  ASSERT_TRUE(answer);
  ASSERT_EQ(store.asked.back().keys->size(), 1u);
  EXPECT_EQ(store.asked.back().keys->front().subject, mine);
  EXPECT_EQ(acknowledged.size(), 3u) << "their rows stay; the relay offers them again";
  EXPECT_EQ(driver->counts().not_for_us, 2);
}

TEST_F(MessageDriverTest, WhatWaitsGoesWithItsPartition) {
  Offer(1);
  driver->Revoke();
  EXPECT_EQ(driver->waiting(), 0u);
  EXPECT_TRUE(Claim()->claimed.empty());
  EXPECT_TRUE(acknowledged.empty());
}

TEST_F(MessageDriverTest, WhatHasBegunAndWaitsIsLookedForFirstThreeTimesOfFour) {
  for (int n = 1; n <= 40; ++n) Offer(std::uint64_t(n));
  store.begun_waits = true;
  ASSERT_EQ(Claim(1)->claimed.size(), 1u);
  ASSERT_EQ(store.asked.size(), 1u) << "nothing is known to wait";
  EXPECT_EQ(store.asked[0].min_age, milliseconds(250)) << "longer than a message takes";
  EXPECT_EQ(store.asked[0].queues, std::vector<std::string>{"default"});
  store.asked.clear();
  store.begun = 6;
  for (int n = 0; n < 8; ++n) EXPECT_EQ(Claim(1)->claimed.size(), 1u);
  std::string order;
  for (const ClaimRequest& request : store.asked) order += request.begun_only ? 'b' : request.keys ? 'k' : '?';
  EXPECT_EQ(order, "bbbkbbbk");
  EXPECT_EQ(driver->counts().begun, 6);
  for (const ClaimRequest& request : store.asked) EXPECT_EQ(request.min_age, milliseconds(250));
}

TEST_F(MessageDriverTest, ARoomThatWhatHasBegunDoesNotFillGoesToMessages) {
  Offer(1), Offer(2), Offer(3), Offer(4);
  store.begun_waits = true;
  ASSERT_TRUE(Claim(1));
  store.begun = 2;
  store.begun_waits = false;
  store.asked.clear();
  EXPECT_EQ(Claim(4)->claimed.size(), 4u);
  ASSERT_EQ(store.asked.size(), 2u);
  EXPECT_TRUE(store.asked[0].begun_only);
  EXPECT_EQ(store.asked[1].keys->size(), 2u);
  EXPECT_EQ(Claim(4)->claimed.size(), 1u);
  EXPECT_EQ(store.asked.size(), 3u) << "none waits any more";
}

// What was granted is told, whatever becomes of the messages behind it.
TEST_F(MessageDriverTest, AnErrorBehindWhatHasBegunTakesNothingBack) {
  Offer(1), Offer(2);
  store.begun_waits = true;
  ASSERT_TRUE(Claim(1));
  store.begun = 1;
  store.script = {Code::kTimeout};
  store.script_spares_begun = true;
  auto answer = Claim(4);
  ASSERT_TRUE(answer) << answer.error();
  EXPECT_EQ(answer->claimed.size(), 1u);
  EXPECT_EQ(driver->waiting(), 1u) << "its message waits here";
}

TEST_F(MessageDriverTest, LooksOnceWhenToldTo) {
  EXPECT_TRUE(Claim());
  EXPECT_EQ(store.asked.size(), 0u);
  driver->LookOnce();
  EXPECT_TRUE(Claim());
  ASSERT_EQ(store.asked.size(), 1u);
  EXPECT_FALSE(store.asked[0].keys);
  EXPECT_EQ(store.asked[0].min_age, milliseconds(0)) << "the youngest row too";
  EXPECT_TRUE(Claim());
  EXPECT_EQ(store.asked.size(), 1u) << "nothing was found: once";
}

TEST_F(MessageDriverTest, ALookThatCameToNothingIsStillToBeDone) {
  driver->LookOnce();
  store.script = {Code::kTimeout};
  EXPECT_FALSE(Claim());
  ClaimRequest dispatches;
  dispatches.max_dispatches = 4;
  dispatches.kinds = {std::string(kDispatchReadyKind)};
  EXPECT_TRUE(driver->Claim(dispatches)) << "it asks for no runs, and there may be room for them in a moment";
  EXPECT_EQ(store.asked.size(), 1u);
  EXPECT_TRUE(Claim());
  ASSERT_EQ(store.asked.size(), 2u);
  EXPECT_EQ(store.asked[1].min_age, milliseconds(0));
  driver->LookOnce();
  store.script = {Code::kTimeout};
  const SubjectId named = Offer(1);
  auto claimed = Claim();
  ASSERT_TRUE(claimed && claimed->claimed.size() == 1) << "a look that takes too long stands before no message";
  EXPECT_EQ(claimed->claimed[0].subject, named);
  EXPECT_TRUE(Claim());
  store.asked.resize(2);
  driver->LookOnce();
  store.script = {Code::kInternal};
  EXPECT_FALSE(Claim());
  EXPECT_TRUE(Claim());
  EXPECT_EQ(store.asked.size(), 3u) << "what does not pass by itself would stand before every message";
}

TEST_F(MessageDriverTest, LooksForLateRowsNowAndThen) {
  clock.now += std::chrono::seconds(5);
  EXPECT_TRUE(Claim());
  ASSERT_EQ(store.asked.size(), 1u);
  EXPECT_FALSE(store.asked[0].keys);
  EXPECT_EQ(store.asked[0].min_age, milliseconds(30'000));
  EXPECT_TRUE(Claim());
  EXPECT_EQ(store.asked.size(), 1u) << "not at each call";
}

}  // namespace
}  // namespace acl
