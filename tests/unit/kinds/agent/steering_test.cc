// Stimuli in their three modes, pause, resume, stop; takeovers and what nobody knows the outcome of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kinds/agent/agent_driver.h"

namespace acl::agent::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSteeredFile = "agent: clerk\ncapabilities: ['look.*', 'do.*', files.write]\nplanner: {command: plan.py}\n";

Json Acts(std::vector<std::string> capabilities) {
  Json answer = {{"actions", Json::array()}};
  int n = 0;
  for (const std::string& one : capabilities) {
    answer["actions"].push_back({{"capability", one}});
    if (one == "look.pure") answer["actions"].back()["inputs"] = {{"path", std::to_string(++n)}};
  }
  return answer;
}

// Up to the first action of a turn that asks for these.
void Begin(AgentDriver& agent, std::vector<std::string> capabilities) {
  agent.Claim();
  agent.Tell("go");
  agent.Pump();
  agent.Finish("turn-1/request", Says(Acts(std::move(capabilities))));
}

Json StimuliOf(const AgentDriver& agent, std::size_t plan) { return agent.Events("move.plan").at(plan)["stimuli"]; }

TEST(AgentSteeringTest, AFollowupWaitsUntilItWouldRestAndASteerComesWithTheNextTurn) {
  AgentDriver agent(kSteeredFile);
  Begin(agent, {"look.pure"});
  agent.Pump();
  agent.Tell("later", "followup");
  agent.Tell("soon", "steer");
  agent.Finish("turn-1/action[0]", Gives());
  int asked = 1;
  agent.Run([&](const StartStep& step) {
    if (step.step_id.ends_with("/request")) return Says(++asked == 2 ? Acts({"look.read"}) : Json::object());
    return Gives();
  });
  EXPECT_EQ(StimuliOf(agent, 0), Json::array({1}));
  EXPECT_EQ(StimuliOf(agent, 1), Json::array({3}));  // the steer
  EXPECT_EQ(StimuliOf(agent, 2), Json::array());     // what came of the action before
  EXPECT_EQ(StimuliOf(agent, 3), Json::array({2}));  // the followup, when it would have rested
}

// Rules find nothing to do behind an action: what was said meanwhile is heard then, and not only when somebody says more.
TEST(AgentSteeringTest, AFollowupIsHeardWhenTheNextLookFindsNoPlan) {
  AgentDriver agent(
      "agent: a\ncapabilities: ['*']\nplanner: {rules: [{when: \"length(stimuli) > 0\", actions: [{capability: do.effect}]}]}\n");
  agent.Claim();
  agent.Tell("one");
  ASSERT_EQ(agent.Pump().size(), 1U);
  agent.Tell("two");
  agent.Finish("turn-1/action[0]", Gives());
  agent.Run([](const StartStep&) { return Gives(); });
  EXPECT_EQ(agent.Status(), "RESTING");
  EXPECT_TRUE(agent.Now().waiting.empty()) << "it rests, and was not heard";
  EXPECT_EQ(agent.Events("move.process").size(), 2U);
}

TEST(AgentSteeringTest, AnInterruptEndsTheActionThatRunsAndDropsTheOthers) {
  AgentDriver agent(kSteeredFile);
  Begin(agent, {"do.keyed", "do.effect"});
  agent.Pump();
  agent.Tell("stop that", "interrupt");
  EXPECT_THAT(agent.cancelled, ElementsAre("turn-1/action[0]"));
  agent.Finish("turn-1/action[0]", EndsAs(StepResult::Outcome::kCancelled));
  agent.Run([](const StartStep& step) {
    EXPECT_THAT(step.call["inputs"]["stdin"].get<std::string>(), HasSubstr("stop that"));
    return Says(Json::object());
  });
  const Json process = agent.Events("move.process")[0];
  EXPECT_EQ(process["outcomes"][0]["outcome"], "interrupted");
  EXPECT_EQ(process["outcomes"][1]["outcome"], "refused");
  EXPECT_THAT(agent.calls, ElementsAre("turn-1/request", "turn-1/action[0]", "turn-2/request"));
}

TEST(AgentSteeringTest, AnInterruptOfWhatHasNoEffectIsHeardAtOnceAndItsLateResultIsNotTaken) {
  AgentDriver agent(kSteeredFile);
  Begin(agent, {"look.pure"});
  agent.Pump();
  agent.Tell("never mind", "interrupt");
  EXPECT_THAT(agent.cancelled, ElementsAre("turn-1/action[0]"));
  agent.Pump();
  EXPECT_THAT(agent.calls, Contains("turn-2/request"));
  agent.Finish("turn-1/action[0]", Writes("late.md", "x"));
  EXPECT_EQ(agent.state.Find("file:late.md"), nullptr);
  EXPECT_EQ(agent.Events("step.late_result").size(), 1U);
  EXPECT_TRUE(agent.completions.contains("turn-1/action[0]"));
}

TEST(AgentSteeringTest, AnInterruptWhileAPlannerThinksTakesUpWhatItHadAgain) {
  AgentDriver agent(kSteeredFile);
  agent.Claim();
  agent.Tell("first");
  agent.Pump();
  agent.Tell("second", "interrupt");
  EXPECT_THAT(agent.cancelled, ElementsAre("turn-1/request"));
  agent.Finish("turn-1/request", EndsAs(StepResult::Outcome::kCancelled));
  agent.Run([](const StartStep&) { return Says(Json::object()); });
  EXPECT_EQ(StimuliOf(agent, 1), Json::array({1, 2}));
}

TEST(AgentSteeringTest, StopMeansThatNoFurtherEffectBegins) {
  AgentDriver agent(kSteeredFile);
  Begin(agent, {"do.effect", "do.effect", "do.idempotent", "do.keyed", "look.pure"});
  agent.Pump();
  agent.Post("agent.stop", {{"by", "ann"}, {"reason", "enough"}});
  EXPECT_EQ(agent.Status(), "STOPPING");
  EXPECT_THAT(agent.cancelled, ElementsAre("turn-1/action[0]"));
  EXPECT_TRUE(agent.Pump().empty());
  agent.Finish("turn-1/action[0]", EndsAs(StepResult::Outcome::kCancelled));
  EXPECT_EQ(agent.Status(), "STOPPED");
  EXPECT_TRUE(agent.Pump().empty());
  EXPECT_THAT(agent.calls, ElementsAre("turn-1/request", "turn-1/action[0]"));
  EXPECT_EQ(agent.Last("move.process")["outcomes"].size(), 5U);
  EXPECT_EQ(agent.Ask().waiting->reason, "stopped");
}

TEST(AgentSteeringTest, AStopHoldsAgainstMessagesAndTimersUntilSomebodyResumesIt) {
  AgentDriver agent("agent: watch\nevery: 1m\ncapabilities: ['*']\nplanner: {command: p}\n");
  agent.Claim();
  agent.Post("agent.stop");
  EXPECT_EQ(agent.Status(), "STOPPED");
  EXPECT_FALSE(agent.FireNextTimer());
  agent.Tell("wake up", "interrupt");
  EXPECT_EQ(agent.Status(), "STOPPED");
  EXPECT_TRUE(agent.Pump().empty());
  agent.Post("agent.stop");
  EXPECT_THAT(agent.Last("input.refused")["reason"].get<std::string>(), HasSubstr("STOPPED already"));
  agent.Post("agent.resume", {{"by", "ann"}});
  agent.Run([](const StartStep& step) {
    EXPECT_THAT(step.call["inputs"]["stdin"].get<std::string>(), HasSubstr("wake up"));
    return Says(Json::object());
  });
  EXPECT_EQ(agent.Status(), "RESTING");
}

TEST(AgentSteeringTest, APauseLetsWhatRunsEndAndTakesItsResult) {
  AgentDriver agent(kSteeredFile);
  Begin(agent, {"look.pure", "do.effect"});
  agent.Pump();
  agent.Post("agent.pause");
  agent.Finish("turn-1/action[0]", Gives({{"found", 1}}));
  EXPECT_EQ(agent.Status(), "PAUSED");
  EXPECT_TRUE(agent.Pump().empty());
  EXPECT_EQ(agent.Ask().waiting->reason, "paused");
  EXPECT_EQ(agent.Events("action.ended").size(), 1U);
  agent.Post("agent.resume");
  EXPECT_EQ(agent.Pump().size(), 1U);
  EXPECT_THAT(agent.calls, Contains("turn-1/action[1]"));
}

TEST(AgentSteeringTest, AfterATakeoverWhatMayBeRepeatedIsAndWhatMayNotIsUncertain) {
  AgentDriver agent(kSteeredFile);
  Begin(agent, {"do.idempotent", "do.effect", "look.pure"});
  agent.Pump();
  agent.Claim();
  EXPECT_EQ(agent.Events("attempt.lost").size(), 1U);
  agent.Pump();
  EXPECT_EQ(agent.started[1].idempotency_key, agent.started[2].idempotency_key);
  agent.Finish("turn-1/action[0]", Gives());
  agent.Pump();
  agent.Claim();
  EXPECT_EQ(agent.Status(), "RESTING");
  EXPECT_THAT(agent.Reason(), HasSubstr("uncertain: nobody knows what became of do.effect"));
  const Json process = agent.Last("move.process");
  EXPECT_EQ(process["outcomes"][1]["outcome"], "uncertain");
  EXPECT_EQ(process["outcomes"][2]["outcome"], "refused");
  // Nobody but a person takes it further.
  agent.Tell("go on");
  EXPECT_EQ(agent.Status(), "RESTING");
  agent.Post("agent.resolve", {{"decision", "perhaps"}});
  EXPECT_EQ(agent.Status(), "RESTING");
  agent.Post("agent.resolve", {{"decision", "happened"}, {"by", "ann"}});
  agent.Run([](const StartStep& step) {
    EXPECT_THAT(step.call["inputs"]["stdin"].get<std::string>(), HasSubstr("do.effect (turn 1, action 2) happened"));
    return Says(Json::object());
  });
  EXPECT_EQ(agent.Reason(), "nothing to do");
  EXPECT_EQ(std::count(agent.calls.begin(), agent.calls.end(), "turn-1/action[1]"), 1);
}

TEST(AgentSteeringTest, WhatMayBeRepeatedAndWasInterruptedBeforeItsWorkerDiedIsNotUncertain) {
  AgentDriver agent(kSteeredFile);
  Begin(agent, {"do.idempotent"});
  agent.Pump();
  agent.Tell("never mind", "interrupt");
  agent.Claim();
  EXPECT_EQ(agent.Last("move.process")["outcomes"][0]["outcome"], "interrupted");
  EXPECT_TRUE(agent.Now().uncertain.is_null());
}

TEST(AgentSteeringTest, WithOnUnknownOutcomeGoOnItIsToldAndGoesOn) {
  AgentDriver agent(std::string(kSteeredFile) + "on_unknown_outcome: go_on\n");
  Begin(agent, {"do.effect", "look.pure"});
  agent.Pump();
  agent.Finish("turn-1/action[0]", EndsAs(StepResult::Outcome::kUnknown));
  agent.Run([](const StartStep& step) { return step.step_id.ends_with("/request") ? Says(Json::object()) : Gives(); });
  EXPECT_EQ(agent.Events("move.process")[0]["outcomes"][0]["outcome"], "uncertain");
  EXPECT_EQ(agent.Events("move.process")[0]["outcomes"][1]["outcome"], "result");
}

TEST(AgentSteeringTest, WhatDidNotBeginIsBegunAgain) {
  AgentDriver agent(kSteeredFile);
  Begin(agent, {"do.effect"});
  agent.Pump();
  agent.Finish("turn-1/action[0]", EndsAs(StepResult::Outcome::kNotStarted));
  EXPECT_EQ(agent.Pump().size(), 1U);
  EXPECT_EQ(agent.Events("attempt.not_started").size(), 1U);
}

TEST(AgentSteeringTest, AStimulusOfUnknownModeOrTooLargeIsRefusedOnRecord) {
  AgentDriver agent(kSteeredFile);
  agent.Claim();
  agent.Tell("x", "shout");
  EXPECT_THAT(agent.Last("input.refused")["reason"].get<std::string>(), HasSubstr("say interrupt, steer or followup"));
  agent.Tell(std::string(70'000, 'x'));
  EXPECT_THAT(agent.Last("input.refused")["reason"].get<std::string>(), HasSubstr("at most 65536 are taken"));
  agent.Post("dance");
  EXPECT_THAT(agent.Last("input.refused")["reason"].get<std::string>(), HasSubstr("no input 'dance'"));
  EXPECT_EQ(agent.Now().stimuli, 0);
}

}  // namespace
}  // namespace acl::agent::test
