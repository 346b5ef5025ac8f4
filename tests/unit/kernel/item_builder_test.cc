// What a holder of a lease commits of a kind's decisions: one event of what may stand together, rows once, and what is said last counts.
#include "shared/kernel/item_builder.h"

#include <gtest/gtest.h>

#include <string>

#include "shared/base/uuid7.h"

namespace acl {
namespace {

// Decides what its next decision was set to; an event's facts are written to the state's entry "said".
class ScriptedKind : public SubjectKind {
 public:
  std::string_view Name() const override { return "scripted"; }
  Decision Decide(const Document&, const Input&, WallTime) const override { return next; }
  Delta Evolve(const Document&, const EventDraft& draft) const override {
    Delta delta;
    DeltaOp op;
    op.kind = DeltaOp::Kind::kAdd;
    op.entry = "said";
    op.value = draft.facts;
    delta.ops.push_back(std::move(op));
    return delta;
  }
  bool Joins(std::string_view event, std::string_view next_one) const override { return event == "first" && next_one == "second"; }
  Next WhatNext(const Document&, const NextContext&) const override { return {}; }

  Decision next;
};

class ItemBuilderTest : public ::testing::Test {
 protected:
  ItemBuilderTest() { base_.token.value = 7, base_.seq = 4, base_.last_timestamp = WallTime(std::chrono::seconds(100)); }

  static EventDraft Draft(const std::string& type, int value) {
    EventDraft draft;
    draft.type = type;
    draft.facts = Json{{"value", value}};
    return draft;
  }
  const Input input_ = InboxInput{InboxId{}, "any", Json::object()};
  const WallTime now_{std::chrono::seconds(200)};
  ScriptedKind kind_;
  ItemBase base_;
};

TEST_F(ItemBuilderTest, WhatMayStandTogetherIsOneEventAndRowsNameTheEventTheyStandIn) {
  ItemBuilder made(kind_, base_, Document());
  kind_.next.events = {Draft("first", 1), Draft("second", 2), Draft("third", 3)};
  kind_.next.completions = {{"joined", 1, {}, {}, 2}, {"apart", 1, {}, {}, 3}};
  ASSERT_TRUE(made.Decide(input_, now_).ok());
  made.Finish(now_);
  ASSERT_EQ(made.item.events.size(), 2u);
  EXPECT_EQ(made.item.events[0].type, "first");
  EXPECT_EQ(made.item.events[1].type, "third");
  EXPECT_EQ(made.item.events[0].seq, 5);
  EXPECT_EQ(made.item.events[1].token.value, 7);
  EXPECT_EQ(made.item.chain, made.item.events[1].chain);
  ASSERT_EQ(made.item.completions.size(), 2u);
  EXPECT_EQ(made.item.completions[0].event_seq, 5);
  EXPECT_EQ(made.item.completions[1].event_seq, 6);
  EXPECT_EQ(made.item.state_root, made.state.Root());
  EXPECT_EQ(made.item.last_timestamp, now_);
}

TEST_F(ItemBuilderTest, TimeDoesNotGoBack) {
  ItemBuilder made(kind_, base_, Document());
  kind_.next.events = {Draft("first", 1)};
  ASSERT_TRUE(made.Decide(input_, WallTime(std::chrono::seconds(50))).ok());
  made.Finish(WallTime(std::chrono::seconds(50)));
  EXPECT_EQ(made.item.events.at(0).timestamp, base_.last_timestamp);
}

TEST_F(ItemBuilderTest, ACompletionOfNoEventOfItsDecisionIsTheKindsFault) {
  for (int event : {0, 2, -1}) {
    ItemBuilder made(kind_, base_, Document());
    kind_.next.events = {Draft("first", 1)};
    kind_.next.completions = {{"step", 1, {}, {}, event}};
    const auto decided = made.Decide(input_, now_);
    ASSERT_FALSE(decided.ok()) << event;
    EXPECT_EQ(decided.code(), Code::kInternal);
  }
}

TEST_F(ItemBuilderTest, TheLastWordOnATimerCounts) {
  ItemBuilder made(kind_, base_, Document());
  made.item.timers_cleared.push_back("fired");  // by its firing
  kind_.next.timers_set = {{"fired", now_}, {"taken back", now_}};
  kind_.next.timers_cleared = {"taken back"};
  ASSERT_TRUE(made.Decide(input_, now_).ok());
  made.Finish(now_);
  ASSERT_EQ(made.item.timers_set.size(), 1u);
  EXPECT_EQ(made.item.timers_set[0].timer_id, "fired");
  EXPECT_EQ(made.item.timers_cleared, std::vector<std::string>{"taken back"}) << "what is set again must not be cleared by the same item";
  EXPECT_EQ(made.timer_changes().at("taken back"), std::nullopt);
}

TEST_F(ItemBuilderTest, ATaskWantedBackByTheItemThatOffersItIsOfferedAsUnwanted) {
  ItemBuilder made(kind_, base_, Document());
  DispatchRow dispatch;
  dispatch.step_id = "here", dispatch.attempt_id = 1;
  kind_.next.dispatches = {dispatch};
  kind_.next.dispatches_cancelled = {{"here", 1}, {"elsewhere", 1}};
  ASSERT_TRUE(made.Decide(input_, now_).ok());
  EXPECT_TRUE(made.item.dispatches.at(0).cancel_requested);
  ASSERT_EQ(made.item.dispatches_cancelled.size(), 1u);
  EXPECT_EQ(made.item.dispatches_cancelled[0].step_id, "elsewhere");
}

TEST_F(ItemBuilderTest, AListingKeepsTheLastStatusEveryTimeAndTheLastError) {
  ItemBuilder made(kind_, base_, Document());
  kind_.next.listing = ListingChange{"RUNNING", "one", now_, std::nullopt};
  ASSERT_TRUE(made.Decide(input_, now_).ok());
  kind_.next.listing = ListingChange{"FAILED", std::nullopt, std::nullopt, now_};
  ASSERT_TRUE(made.Decide(input_, now_).ok());
  EXPECT_EQ(made.item.listing, (ListingChange{"FAILED", "one", now_, now_}));
}

TEST_F(ItemBuilderTest, GivingBackSaysNothing) {
  Claimed claimed;
  claimed.head.seq = 9, claimed.wake = 3, claimed.db_now = now_;
  const CommitItem item = ReleaseUntilLater(claimed, WorkerSessionId{});
  EXPECT_TRUE(item.events.empty());
  EXPECT_EQ(item.base_seq, 9);
  EXPECT_EQ(item.expected_wake, 3);
  EXPECT_EQ(item.disposition, Disposition::kRelease);
  EXPECT_TRUE(item.requeue);
  EXPECT_EQ(item.not_before, now_ + kClaimAgainPause);
  EXPECT_EQ(ReleaseFor(claimed, WorkerSessionId{}, 5).required_version, 5);
}

}  // namespace
}  // namespace acl
