// The job that sends, over the store in memory and a sender that answers when the test says so.
#include "coordinator/deliveries/deliveries.h"

#include <gtest/gtest.h>

#include "shared/base/uuid7.h"
#include "tests/support/manual_clock.h"
#include "tests/support/memory_deliveries.h"

namespace acl::coordinator {
namespace {

using delivery::Answer;
using delivery::Delivery;
using delivery::State;

class DeliveriesTest : public ::testing::Test {
 protected:
  struct Sent {
    Delivery message;
    OnAnswered done;
  };
  // One coordinator.
  std::unique_ptr<Deliveries> Coordinator(DeliveriesOptions options = {}) {
    options.stop_within = milliseconds(0);
    return std::make_unique<Deliveries>(
        store_,
        [this](const Delivery& message, OnAnswered done) {
          sent_.push_back({message, std::move(done)});
        },
        clock_, random_, metrics_, options);
  }
  void Say(const std::string& id, const std::string& endpoint = "hook", SubjectId run = kRun) {
    Delivery said;
    said.message_id = id;
    said.subject = run;
    said.endpoint = endpoint;
    said.event = "e";
    said.body = "{}";
    store_.Say(std::move(said));
  }
  // What was sent since the last call, in order.
  std::vector<std::string> Ticked(Deliveries& who) {
    sent_before_ = sent_.size();
    EXPECT_TRUE(who.Tick().ok());
    std::vector<std::string> ids;
    for (std::size_t n = sent_before_; n < sent_.size(); ++n) ids.push_back(sent_[n].message.message_id);
    return ids;
  }
  static Answer Status(int status) {
    Answer answer;
    answer.status = status;
    return answer;
  }
  Delivery Now(const std::string& id) { return *store_.Get(kDefaultProject, id); }

  static inline const SubjectId kRun{NewUuid7()}, kOther{NewUuid7()};
  using Ids = std::vector<std::string>;
  test::ManualClock clock_;
  test::MemoryDeliveries store_{clock_};
  SystemRandom random_;
  Metrics metrics_;
  std::vector<Sent> sent_;
  std::size_t sent_before_ = 0;
};

TEST_F(DeliveriesTest, OfOneRunToOneEndpointTheNextWaitsForTheFirst) {
  for (const char* id : {"a", "b"}) Say(id);
  Say("c", "elsewhere");
  Say("d", "hook", kOther);
  auto one = Coordinator();
  EXPECT_EQ(Ticked(*one), (Ids{"a", "c", "d"}));
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Ticked(*one), Ids{});
  sent_[0].done(Status(503));
  EXPECT_EQ(Ticked(*one), Ids{});  // "a" is tried again, and "b" waits
  EXPECT_EQ(Now("a").failures, 1);
  clock_.Advance(std::chrono::seconds(7));
  EXPECT_EQ(Ticked(*one), Ids{"a"});
  sent_.back().done(Status(200));
  EXPECT_EQ(Ticked(*one), Ids{"b"});
  EXPECT_EQ(Now("a").state, State::kDelivered);
}

TEST_F(DeliveriesTest, ADeadLetterHoldsUpNobodyAndMayBeTriedAgain) {
  for (const char* id : {"a", "b"}) Say(id);
  auto one = Coordinator();
  EXPECT_EQ(Ticked(*one), Ids{"a"});
  sent_.back().done(Status(410));
  EXPECT_EQ(Ticked(*one), Ids{"b"});
  EXPECT_EQ(Now("a").state, State::kDead);
  sent_.back().done(Status(204));
  EXPECT_EQ(Ticked(*one), Ids{});
  ASSERT_TRUE(store_.Retry(kDefaultProject, "a").ok());
  clock_.Advance(std::chrono::seconds(5));
  EXPECT_EQ(Ticked(*one), Ids{"a"});
  EXPECT_EQ(sent_.back().message.message_id, "a");
}

// Its mistake, delivery_marked_before_sent, must turn this red (tests/mutants).
TEST_F(DeliveriesTest, WhatAKilledCoordinatorHadIsTakenUpUnderTheSameId) {
  Say("a");
  auto killed = Coordinator();
  EXPECT_EQ(Ticked(*killed), Ids{"a"});
  killed.reset();  // nothing was written down
  auto other = Coordinator();
  EXPECT_EQ(Ticked(*other), Ids{});
  clock_.Advance(std::chrono::minutes(1));
  EXPECT_EQ(Ticked(*other), Ids{"a"}) << "nobody sends it any more";
  sent_.front().done(Status(200));  // of the killed one: nobody hears it
  sent_.back().done(Status(200));
  EXPECT_EQ(Ticked(*other), Ids{});
  EXPECT_EQ(Now("a").state, State::kDelivered);
  EXPECT_EQ(Now("a").attempts, 2);
}

TEST_F(DeliveriesTest, AnAnswerThatComesAfterSomebodyElseTookItUpCountsOnlyIfItIsDelivered) {
  Say("a");
  auto slow = Coordinator(), other = Coordinator();
  EXPECT_EQ(Ticked(*slow), Ids{"a"});
  clock_.Advance(std::chrono::minutes(1));
  EXPECT_EQ(Ticked(*other), Ids{"a"});
  sent_[0].done(Status(500));
  EXPECT_EQ(Ticked(*slow), Ids{});
  EXPECT_EQ(Now("a").failures, 0);
  sent_[1].done(Status(200));
  EXPECT_EQ(Ticked(*other), Ids{});
  EXPECT_EQ(Now("a").state, State::kDelivered);
}

TEST_F(DeliveriesTest, ASlowEndpointLeavesRoomForTheOthers) {
  for (int n = 0; n < 6; ++n) Say("slow" + std::to_string(n), "slow", SubjectId{NewUuid7()});
  auto one = Coordinator({.at_once = 3, .each = 2});
  EXPECT_EQ(Ticked(*one), (Ids{"slow0", "slow1"}));
  Say("other", "other");
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Ticked(*one), Ids{"other"});
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Ticked(*one), Ids{});
}

TEST_F(DeliveriesTest, WhatEndedIsWrittenDownWhenTheJobGoes) {
  Say("a");
  auto one = Coordinator();
  EXPECT_EQ(Ticked(*one), Ids{"a"});
  sent_.back().done(Status(200));
  one->Lost();
  EXPECT_EQ(Now("a").state, State::kDelivered);
}

TEST_F(DeliveriesTest, AsksOnceInFourSecondsWhileNothingIsSaid) {
  auto one = Coordinator();
  auto wait = one->Tick();
  ASSERT_TRUE(wait.ok());
  EXPECT_EQ(*wait, std::chrono::seconds(4));
}

TEST(CloudEvents, AreWhatTheirSpecificationSays) {
  Delivery message;
  message.message_id = "msg_1";
  message.event = "org.example.made";
  message.body = R"({"n":1})";
  message.about = "things/1";
  message.created_at = *ParseWallTime("2026-11-27T10:00:00Z");
  const auto event = ParseJson(CloudEventOf(message));
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(*event, (Json{{"specversion", "1.0"},
                          {"id", "msg_1"},
                          {"source", "/v1/workflows/" + message.subject.ToString()},
                          {"type", "org.example.made"},
                          {"time", "2026-11-27T10:00:00.000000Z"},
                          {"datacontenttype", "application/json"},
                          {"subject", "things/1"},
                          {"data", {{"n", 1}}}}));
}

TEST(KafkaSenders, SayPlainlyWhyNothingIsPublished) {
  Delivery message;
  message.message_id = "msg_1";
  message.endpoint = "orders";
  std::vector<Answer> answers;
  KafkaSender(nullptr, "acl").Send(message, [&](Answer answer) { answers.push_back(std::move(answer)); });
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].for_good);
  EXPECT_NE(answers[0].error.find("no Kafka"), std::string::npos) << answers[0].error;
  kafka::Producer never_started({});
  message.endpoint = "acl.steps.default.1";
  KafkaSender(&never_started, "acl").Send(message, [&](Answer answer) { answers.push_back(std::move(answer)); });
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_NE(answers[1].error.find("the fleet's own"), std::string::npos) << answers[1].error;
}

}  // namespace
}  // namespace acl::coordinator
