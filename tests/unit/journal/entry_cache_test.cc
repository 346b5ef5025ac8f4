#include "shared/journal/entry_cache.h"

#include <gtest/gtest.h>

#include "shared/base/random.h"
#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "shared/journal/json_patch.h"
#include "shared/journal/snapshot.h"

namespace acl {
namespace {

// Large, its keys not in canonical order.
Json Definition(int number, int steps = 12) {
  Json definition = {{"name", "workflow " + std::to_string(number)}, {"band", 1}};
  for (int i = 0; i < steps; ++i) {
    definition["steps"].push_back(
        {{"name", "step_" + std::to_string(i)}, {"capability", "test.effect"}, {"inputs", {{"size", i}, {"a", 0.5}}}});
  }
  return definition;
}

struct Made {
  Event event;
  Document state;
};

// A first event with these operations, right in every respect.
Made First(const Json& delta) {
  Made made;
  Event& event = made.event;
  event.subject = SubjectId{NewUuid7()};
  event.seq = 1;
  event.type = "workflow.created";
  event.token = Token{1};
  EXPECT_TRUE(made.state.Apply(delta).ok());
  event.payload = DumpJson(Json{{"name", "x"}, {std::string(kDeltaKey), delta}, {std::string(kRootKey), ToHex(made.state.Root())}});
  Seal(event, ChainStart(event.subject));
  return made;
}

Json RunRecord(int number) { return {{"run_id", "run " + std::to_string(number)}, {"status", "PENDING"}}; }
Json Puts(const Json& definition, int run) {
  return Json::array({PatchAdd({"inputs"}, {{"n", run}}), PatchAdd({"run"}, RunRecord(run)), PatchAdd({"spec"}, definition)});
}

// What stands for the payload's text; the checksum is of the value, whatever that is.
void Reword(Event& event, const std::string& from, const std::string& to, bool reseal) {
  const auto at = event.payload->find(from);
  ASSERT_NE(at, std::string::npos);
  event.payload->replace(at, from.size(), to);
  if (reseal) {
    Seal(event, ChainStart(event.subject));
  } else {
    event.content_hash = Sha256(*event.payload);
  }
}

class Known : public ::testing::Test {
 protected:
  void Teach(const Json& definition) {
    for (int i = 0; i < 2; ++i) {
      const Made made = First(Puts(definition, i));
      known_.Learn(made.event, made.state);
    }
  }
  bool Answers(const Event& event) { return known_.Replay(event, Document()).has_value(); }

  EntryCache known_{4};
};

TEST_F(Known, WhatComesForTheSecondTimeIsSharedFromThenOn) {
  const Made first = First(Puts(Definition(1), 1)), second = First(Puts(Definition(1), 2)), third = First(Puts(Definition(1), 3));
  known_.Learn(first.event, first.state);
  EXPECT_EQ(known_.size(), 0u);
  EXPECT_FALSE(Answers(second.event));
  known_.Learn(second.event, second.state);
  EXPECT_EQ(known_.size(), 1u);
  const auto state = known_.Replay(third.event, Document());
  ASSERT_TRUE(state);
  EXPECT_EQ(state->Root(), third.state.Root());
  EXPECT_EQ(DumpJson(state->ToJson()), DumpJson(third.state.ToJson()));
  EXPECT_EQ(state->LeafOf("spec"), second.state.LeafOf("spec")) << "one value for both";
}

TEST_F(Known, OnlyWhatIsLargeAndNotTooLarge) {
  Teach({{"name", "small"}});
  Teach(Definition(1, 2'000));
  Teach(std::string(2'000, 'x'));
  EXPECT_EQ(known_.size(), 0u);
}

TEST_F(Known, TheLongestNotAskedForAreForgotten) {
  for (int i = 0; i < 4; ++i) Teach(Definition(i));
  EXPECT_TRUE(Answers(First(Puts(Definition(0), 9)).event));
  Teach(Definition(4));
  EXPECT_EQ(known_.size(), 4u);
  EXPECT_TRUE(Answers(First(Puts(Definition(0), 10)).event));
  EXPECT_FALSE(Answers(First(Puts(Definition(1), 11)).event));
}

// Each name is looked for in every payload.
TEST_F(Known, ANameOfWhichNothingIsLeftIsForgotten) {
  for (int i = 0; i < 40; ++i) {
    const Made made = First(Json::array({PatchAdd({"run"}, RunRecord(i)), PatchAdd({"name_" + std::to_string(i / 2)}, Definition(i / 2))}));
    known_.Learn(made.event, made.state);
  }
  EXPECT_EQ(known_.size(), 4u);
  EXPECT_LE(known_.names(), 4u);
}

TEST_F(Known, WhatIsNotRightIsNotAnswered) {
  Teach(Definition(1));
  const Made good = First(Puts(Definition(1), 7));
  ASSERT_TRUE(Answers(good.event));
  const auto spoiled = [&](const std::string& from, const std::string& to, bool reseal) {
    Event event = good.event;
    Reword(event, from, to, reseal);
    return event;
  };
  EXPECT_FALSE(Answers(spoiled("run 7", "run 8", false))) << "the checksum is of another value";
  EXPECT_FALSE(Answers(spoiled("run 7", "run 8", true))) << "the root is of another state";
  EXPECT_FALSE(Answers(spoiled("step_3", "step_4", false)));
  EXPECT_FALSE(Answers(spoiled("step_3", "step_4", true)));
  EXPECT_FALSE(Answers(spoiled("\"path\":\"/spec\"", "\"path\":\"/spek\"", true)));
  Event event = good.event;
  event.checksum[0] ^= 1;
  EXPECT_FALSE(Answers(event));
  event = good.event;
  event.payload.reset();
  EXPECT_FALSE(Answers(event));
}

TEST_F(Known, AnEntryThatIsTouchedTwiceIsReadTheLongWay) {
  Teach(Definition(1));
  Json changed = Puts(Definition(1), 7), copied = Puts(Definition(1), 7);
  changed.push_back(PatchReplace({"spec", "name"}, "another"));
  copied.push_back(PatchCopy({"spec", "name"}, {"title"}));
  EXPECT_FALSE(Answers(First(changed).event));
  EXPECT_FALSE(Answers(First(copied).event));
}

TEST_F(Known, TheSameWordsInAnotherPlaceAreAnotherValue) {
  Teach(Definition(1));
  const Json imitation = {{"op", "add"}, {"path", "/spec"}, {"value", Definition(1)}};
  EXPECT_FALSE(Answers(First(Json::array({PatchAdd({"inputs"}, imitation), PatchAdd({"spec"}, "known entry")})).event));
  EXPECT_FALSE(Answers(First(Json::array({PatchAdd({"inputs"}, imitation), PatchAdd({"spec"}, Definition(2))})).event));
  EXPECT_FALSE(Answers(First(Json::array({PatchAdd({"inputs"}, imitation)})).event));
  // In a text its quotes are escaped.
  const Made quoted = First(Json::array({PatchAdd({"inputs"}, DumpJson(imitation)), PatchAdd({"spec"}, Definition(1))}));
  const auto state = known_.Replay(quoted.event, Document());
  ASSERT_TRUE(state);
  EXPECT_EQ(state->Root(), quoted.state.Root());
}

// Whatever comes: if it is answered, then as the long way answers; and the long way's errors stay.
TEST_F(Known, IsNeverAnotherAnswerThanTheLongWays) {
  SeededRandom random(11);
  int answered = 0;
  for (int round = 0; round < 2'000; ++round) {
    Json delta = Json::array();
    for (const char* key : {"spec", "inputs", "other"}) {
      if (random.Below(3) > 0) delta.push_back(PatchAdd({key}, random.Below(4) > 0 ? Definition(int(random.Below(3))) : RunRecord(round)));
    }
    if (random.Below(4) == 0) delta.push_back(PatchAdd({"spec"}, Definition(int(random.Below(3)))));
    if (delta.empty()) continue;
    Made made = First(delta);
    const bool spoil = random.Below(3) == 0;
    if (spoil) {
      (*made.event.payload)[random.Below(made.event.payload->size())] = char('a' + random.Below(26));
      made.event.content_hash = Sha256(*made.event.payload);
    }
    auto parsed = ParseAndCheck(made.event);
    Document longer;
    const bool right = parsed && (*parsed)->is_object() && (*parsed)->contains(kDeltaKey) &&
                       longer.Apply((**parsed)[std::string(kDeltaKey)]) &&
                       (**parsed).value(std::string(kRootKey), "") == ToHex(longer.Root());
    const auto state = known_.Replay(made.event, Document());
    if (state) {
      ++answered;
      EXPECT_TRUE(right);
      EXPECT_EQ(state->Root(), longer.Root());
      EXPECT_EQ(DumpJson(state->ToJson()), DumpJson(longer.ToJson()));
    } else if (right) {
      known_.Learn(made.event, longer);
    }
  }
  EXPECT_GT(answered, 300);
}

TEST(RestoreOfKnown, ThirdRunsAndBrokenOnesGiveWhatTheyGaveBefore) {
  for (int i = 0; i < 4; ++i) {
    Made made = First(Puts(Definition(77), i));
    auto restored = Restore(made.event.subject, std::nullopt, {made.event}, nullptr);
    ASSERT_TRUE(restored) << restored.message();
    EXPECT_TRUE(MatchesHead(*restored, 1, made.event.chain, made.state.Root()));
    EXPECT_EQ(restored->replayed, 1);
    made.event.checksum[5] ^= 4;
    made.event.chain = ChainNext(ChainStart(made.event.subject), made.event);
    restored = Restore(made.event.subject, std::nullopt, {made.event}, nullptr);
    ASSERT_FALSE(restored);
    EXPECT_EQ(restored.code(), Code::kCorrupt);
    EXPECT_NE(restored.message().find("the checksum is"), std::string::npos) << restored.message();
  }
}

}  // namespace
}  // namespace acl
