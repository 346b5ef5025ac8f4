// Document 003, section 2: an agent moves or rests, a move at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kinds/agent/agent_driver.h"

namespace acl::agent::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kProgram = "agent: clerk\ncapabilities: ['look.*', 'do.*', files.write]\nplanner: {command: plan.py}\n";

Json Act(const std::string& capability, Json inputs = Json::object()) {
  return {{"say", "so be it"}, {"actions", {{{"capability", capability}, {"inputs", std::move(inputs)}}}}};
}

TEST(AgentCoreTest, WithoutAnythingToDoItRestsAndAsksNobody) {
  AgentDriver agent(kProgram);
  agent.Claim();
  EXPECT_EQ(agent.Status(), "RESTING");
  EXPECT_EQ(agent.Reason(), "nothing to do");
  EXPECT_THAT(agent.Types("move."), ElementsAre("prepare", "rest"));
  EXPECT_TRUE(agent.Ask().start.empty());
  ASSERT_TRUE(agent.Ask().waiting) << "it keeps its worker";
  EXPECT_EQ(agent.Ask().waiting->reason, "rest");
  EXPECT_TRUE(agent.timers.empty());
}

TEST(AgentCoreTest, AMessageLeadsToPlanRequestProcessAndRest) {
  AgentDriver agent(kProgram);
  agent.Claim();
  agent.Tell("tidy up");
  int asked = 0;
  agent.Run([&](const StartStep& step) {
    if (step.step_id.ends_with("/request"))
      return Says(++asked == 1 ? Act("look.pure", {{"path", "a"}}) : Json{{"say", "nothing is left"}});
    return Gives({{"found", 3}});
  });
  EXPECT_THAT(agent.Types("move."),
              ElementsAre("prepare", "rest", "stimulus", "plan", "request", "process", "plan", "request", "process", "rest"));
  EXPECT_THAT(agent.calls, ElementsAre("turn-1/request", "turn-1/action[0]", "turn-2/request"));
  EXPECT_EQ(agent.Reason(), "nothing to do");
  // The second request was told what came of the first.
  const Json sent = *ParseJson(agent.started[2].call["inputs"]["stdin"].get<std::string>());
  EXPECT_EQ(sent["context"]["last"]["outcomes"][0]["outputs"]["found"], 3);
  EXPECT_TRUE(sent["context"]["stimuli"].empty());
  EXPECT_EQ(agent.Events("move.plan")[0]["stimuli"], Json::array({1}));
}

TEST(AgentCoreTest, RulesPlanWithoutAskingAnybody) {
  AgentDriver agent(R"(
agent: ruler
capabilities: [look.pure]
planner:
  rules:
    - {when: "length(stimuli) > 0 and stimulus.text == 'look'", intention: "look at {{stimulus.text}}", actions: [{capability: look.pure, inputs: {path: "{{stimulus.by}}"}}]}
)");
  agent.Claim();
  agent.Tell("look");
  agent.Run([](const StartStep& step) {
    EXPECT_EQ(step.call["inputs"]["path"], "ann");
    return Gives();
  });
  EXPECT_THAT(agent.Types("move."), ElementsAre("prepare", "rest", "stimulus", "plan", "request", "process", "rest"));
  EXPECT_EQ(agent.Reason(), "no plan");
  EXPECT_EQ(agent.Last("move.plan")["intention"], "look at look");
  agent.Tell("something else");
  EXPECT_EQ(agent.Status(), "RESTING");
  EXPECT_EQ(agent.Now().turns, 3);
}

TEST(AgentCoreTest, EachRequestedActionEndsInExactlyOneOutcome) {
  AgentDriver agent(kProgram);
  agent.Claim();
  agent.Tell("go");
  bool first = true;
  agent.Run([&](const StartStep& step) {
    if (step.step_id.ends_with("/request")) {
      if (!std::exchange(first, false)) return Says({{"say", "done"}});
      return Says({{"actions",
                    {{{"capability", "look.pure"}},
                     {{"capability", "no.such"}},
                     {{"capability", "human.approve"}},
                     {{"capability", "look.pure"}, {"inputs", {{"path", 7}}}},
                     {{"capability", "look.read"}}}}});
    }
    return step.step_id == "turn-1/action[4]" ? FailsWith("the line is dead") : Gives();
  });
  const Json process = agent.Events("move.process")[0];
  ASSERT_EQ(process["outcomes"].size(), 5U);
  EXPECT_EQ(process["outcomes"][0]["outcome"], "result");
  EXPECT_EQ(process["outcomes"][1]["code"], "unknown-capability");
  EXPECT_EQ(process["outcomes"][2]["code"], "unknown-capability");
  EXPECT_EQ(process["outcomes"][3]["code"], "bad-inputs");
  EXPECT_EQ(process["outcomes"][4]["outcome"], "error");
  EXPECT_EQ(agent.Events("action.ended").size(), 5U);
}

TEST(AgentCoreTest, WhatIsNotAmongItsCapabilitiesIsRefused) {
  AgentDriver agent("agent: a\ncapabilities: [look.pure]\nplanner: {command: p}\n");
  agent.Claim();
  agent.Tell("go");
  bool first = true;
  agent.Run([&](const StartStep&) { return Says(std::exchange(first, false) ? Act("do.effect") : Json::object()); });
  EXPECT_EQ(agent.Events("move.process")[0]["outcomes"][0]["code"], "not-allowed");
  EXPECT_THAT(agent.calls, ElementsAre("turn-1/request", "turn-2/request"));
}

TEST(AgentCoreTest, FilesOfAnActionAreTheSessions) {
  AgentDriver agent(kProgram);
  agent.Claim();
  agent.Tell("write");
  bool first = true;
  agent.Run([&](const StartStep& step) {
    if (step.step_id.ends_with("/request")) return Says(std::exchange(first, false) ? Act("files.write") : Json::object());
    return Writes("notes/a.md", "hello");
  });
  EXPECT_NE(agent.state.Find("file:notes/a.md"), nullptr);
  EXPECT_EQ(agent.Events("move.process")[0]["outcomes"][0]["artifacts"], Json::array({"notes/a.md"}));
  const Json sent = *ParseJson(agent.started.back().call["inputs"]["stdin"].get<std::string>());
  EXPECT_EQ(sent["context"]["files"]["paths"], Json::array({"notes/a.md"}));
}

TEST(AgentCoreTest, AFailedRequestIsTriedAgainAndThenTheAgentRestsAndComesBackByItself) {
  AgentDriver agent(kProgram);
  agent.Claim();
  agent.Tell("go");
  for (int attempt = 1; attempt <= 3; ++attempt) {
    ASSERT_EQ(agent.Pump().size(), 1U) << attempt;
    agent.Finish("turn-1/request", FailsWith("no answer"));
    if (attempt < 3) {
      EXPECT_TRUE(agent.Ask().start.empty());
      EXPECT_EQ(agent.Ask().waiting->reason, "retry");
      ASSERT_TRUE(agent.FireNextTimer());
    }
  }
  EXPECT_EQ(agent.Status(), "RESTING");
  EXPECT_THAT(agent.Reason(), StartsWith("request failed: no answer"));
  ASSERT_TRUE(agent.FireNextTimer());
  // What nobody answered is taken up again.
  agent.Run([](const StartStep& step) {
    EXPECT_THAT(step.call["inputs"]["stdin"].get<std::string>(), HasSubstr("\"go\""));
    return Says({{"say", "here I am"}});
  });
  EXPECT_EQ(agent.Reason(), "nothing to do");
  EXPECT_EQ(agent.Now().failed_requests, 0);
}

TEST(AgentCoreTest, AnAnswerThatIsNoPlanIsAskedForAgain) {
  AgentDriver agent(kProgram);
  agent.Claim();
  agent.Tell("go");
  agent.Pump();
  agent.Finish("turn-1/request", Gives({{"stdout", "I would rather not"}}));
  EXPECT_THAT(agent.Last("request.failed")["error"].get<std::string>(), HasSubstr("no JSON object"));
  ASSERT_TRUE(agent.FireNextTimer());
  agent.Run([](const StartStep&) { return Gives({{"stdout", "Here you are: {\"say\": \"yes\"} - bye"}}); });
  EXPECT_EQ(agent.Last("move.request")["response"]["say"], "yes");
}

TEST(AgentCoreTest, TimeWakesItIfItsFileSaysSo) {
  AgentDriver agent(
      "agent: watch\nevery: 10m\ncapabilities: [look.read]\nplanner: {rules: [{when: \"length(stimuli) > 0\", actions: [{capability: "
      "look.read}]}]}\n");
  agent.Claim();
  const WallTime before = agent.now;
  ASSERT_TRUE(agent.FireNextTimer());
  EXPECT_EQ(agent.now - before, std::chrono::minutes(10));
  agent.Run([](const StartStep&) { return Gives(); });
  EXPECT_EQ(agent.Status(), "RESTING");
  EXPECT_EQ(agent.Events("move.stimulus").size(), 1U);
  EXPECT_EQ(agent.timers.size(), 1U);  // one timer row, however long it rests
}

TEST(AgentCoreTest, ALimitOfMovesAMinuteMakesItRestUntilTheMinuteIsOver) {
  AgentDriver agent("agent: fast\ncapabilities: ['*']\nlimits: {moves_per_minute: 5}\nplanner: {command: p}\n");
  agent.Claim();
  agent.Tell("go");
  int n = 0;
  const auto busy = [&](const StartStep& step) {
    return step.step_id.ends_with("/request") ? Says(Act("look.pure", {{"path", std::to_string(++n)}})) : Gives();
  };
  agent.Run(busy);
  EXPECT_THAT(agent.Reason(), StartsWith("rate: "));
  const int before = n;
  ASSERT_TRUE(agent.FireNextTimer());
  agent.Run(busy);
  EXPECT_GT(n, before);
}

}  // namespace
}  // namespace acl::agent::test
