// Document 003, section 3: extensions inspect, modify and block at eleven phases, and the core never needs one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kinds/agent/agent_driver.h"

namespace acl::agent::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string FileWith(const std::string& extensions, const std::string& more = "") {
  return "agent: clerk\ncapabilities: ['look.*', 'do.*', files.write]\nplanner: {command: plan.py}\n" + more + "extensions:\n" + extensions;
}

Json OneAction(const std::string& capability = "look.pure") { return {{"say", "well"}, {"actions", {{{"capability", capability}}}}}; }

// What the extension was asked, of the step that asks it.
Json AskedIn(const StartStep& step) { return *ParseJson(step.call["inputs"]["stdin"].get<std::string>()); }

// A planner that asks for one action and then for none; extensions answer by the script.
void Converse(AgentDriver& agent, const std::function<StepResult(const Json& asked)>& extension,
              const std::string& capability = "look.pure") {
  agent.Claim();
  bool first = true;
  const auto script = [&](const StartStep& step) {
    if (step.step_id.find("request") != std::string::npos && step.step_id.ends_with("/request"))
      return Says(std::exchange(first, false) ? OneAction(capability) : Json{{"say", "bye"}});
    if (step.step_id.find("/action[") != std::string::npos) return Gives({{"found", 1}});
    return extension(AskedIn(step));
  };
  agent.Run(script);
  agent.Tell("go");
  agent.Run(script);
}

TEST(AgentExtensionsTest, OneThatListensToAllElevenPhasesIsAskedAtEach) {
  AgentDriver agent(FileWith(
      "  - {name: all, phases: [after_prepare, before_plan, after_plan, before_request, after_request, before_process, before_action, "
      "after_action, after_process, before_rest, after_rest], command: x}\n"));
  std::vector<std::string> phases;
  Converse(agent, [&](const Json& asked) {
    phases.push_back(asked["phase"]);
    EXPECT_EQ(asked["draft"].is_null(), RuleOf(*ParsePhase(phases.back())).draft.empty()) << phases.back();
    EXPECT_TRUE(asked["snapshot"]["standing"].is_object());
    return Says(Json::object());
  });
  EXPECT_THAT(phases, ElementsAre("after_prepare", "before_rest", "after_rest", "before_plan", "after_plan", "before_request",
                                  "after_request", "before_process", "before_action", "after_action", "after_process", "before_plan",
                                  "after_plan", "before_request", "after_request", "before_process", "after_process", "before_rest"));
  EXPECT_EQ(agent.Events("extension.answered").size(), phases.size());
  EXPECT_EQ(agent.Status(), "RESTING");
}

TEST(AgentExtensionsTest, APatchOfTheDraftIsTakenAndTheRestOfItStays) {
  AgentDriver agent(FileWith("  - {name: change, phases: [before_action], command: x}\n"));
  Converse(agent, [](const Json&) { return Says({{"patch", {{{"op", "add"}, {"path", "/inputs/path"}, {"value", "elsewhere"}}}}}); });
  const Json ended = agent.Events("action.ended")[0];
  EXPECT_EQ(ended["inputs"]["path"], "elsewhere");
  EXPECT_EQ(ended["capability"], "look.pure");
  EXPECT_EQ(agent.Events("extension.answered")[0]["patch"][0]["path"], "/inputs/path");
}

TEST(AgentExtensionsTest, RightsAreLookedAtBehindTheLastExtension) {
  AgentDriver agent(
      "agent: a\ncapabilities: [look.pure]\nplanner: {command: p}\nextensions:\n  - {name: sly, phases: [before_action], command: x}\n");
  Converse(agent, [](const Json&) { return Says({{"patch", {{{"op", "replace"}, {"path", "/capability"}, {"value", "do.effect"}}}}}); });
  EXPECT_EQ(agent.Events("action.ended")[0]["code"], "not-allowed");
}

TEST(AgentExtensionsTest, EachSeesTheDraftOfTheOneBeforeAndTwoThatWriteOnePlaceAreAnError) {
  const std::string two = "  - {name: one, phases: [before_action], command: x}\n  - {name: two, phases: [before_action], command: y}\n";
  AgentDriver agent(FileWith(two));
  int asked = 0;
  Converse(agent, [&](const Json& call) {
    if (++asked == 2) {
      EXPECT_EQ(call["draft"]["inputs"]["path"], "first");
    }
    return Says({{"patch", {{{"op", "add"}, {"path", "/inputs/path"}, {"value", asked == 1 ? "first" : "second"}}}}});
  });
  const Json ended = agent.Events("action.ended")[0];
  EXPECT_EQ(ended["outcome"], "refused");
  EXPECT_THAT(ended["message"].get<std::string>(),
              HasSubstr("'two' failed: it changes '/inputs/path', which the extension 'one' has changed"));
}

TEST(AgentExtensionsTest, AWholeDraftIsRefusedAndSoIsAPatchWhereThereIsNothingToChange) {
  AgentDriver whole(FileWith("  - {name: whole, phases: [before_action], command: x}\n"));
  Converse(whole, [](const Json& asked) { return Says({{"draft", asked["draft"]}}); });
  EXPECT_THAT(whole.Events("extension.answered")[0]["error"].get<std::string>(), HasSubstr("send what you change"));
  AgentDriver looks(FileWith("  - {name: late, phases: [after_process], command: x}\n"));
  Converse(looks, [](const Json&) { return Says({{"patch", {{{"op", "add"}, {"path", "/x"}, {"value", 1}}}}}); });
  EXPECT_THAT(looks.Events("extension.answered")[0].value("error", ""), HasSubstr("it may only look on"));
  EXPECT_EQ(looks.Status(), "RESTING");
}

TEST(AgentExtensionsTest, AStopNeedsACodeAndAMessageAndTheAgentIsTold) {
  AgentDriver agent(FileWith("  - {name: guard, phases: [before_action], command: x}\n"));
  Converse(agent, [](const Json&) { return Says({{"stop", {{"code", "office-hours"}, {"message", "nothing is changed at night"}}}}); });
  EXPECT_EQ(agent.Events("move.block")[0]["code"], "office-hours");
  EXPECT_EQ(agent.Events("action.ended")[0]["outcome"], "refused");
  const Json told = AskedIn(agent.started.back());
  AgentDriver bare(FileWith("  - {name: guard, phases: [before_action], command: x}\n"));
  Converse(bare, [](const Json&) { return Says({{"stop", true}}); });
  EXPECT_EQ(bare.Events("action.ended")[0]["code"], "extension-failed");
}

TEST(AgentExtensionsTest, AStopBeforeThePlanEndsTheTurn) {
  AgentDriver agent(FileWith("  - {name: no, phases: [before_plan], command: x}\n"));
  Converse(agent, [](const Json&) { return Says({{"stop", {{"code", "no"}, {"message", "not today"}}}}); });
  EXPECT_THAT(agent.Reason(), StartsWith("blocked: no at before_plan: not today"));
  EXPECT_TRUE(agent.Events("move.plan").empty());
}

struct Failure {
  const char* name;
  StepResult result;
};
class ExtensionFailure : public testing::TestWithParam<int> {};

// Closed, a failure counts as a stop; open, it is passed over, on record; and the agent goes on living, at every phase.
TEST_P(ExtensionFailure, NeverTakesTheAgentDown) {
  const Failure failures[] = {{"crash", FailsWith("ended with exit code 139")},
                              {"late", EndsAs(StepResult::Outcome::kUnknown)},
                              {"timeout", EndsAs(StepResult::Outcome::kTimedOut)},
                              {"garbage", Gives({{"stdout", "\x01\x02 no json"}})},
                              {"list", Gives({{"stdout", "[1, 2]"}})},
                              {"wrong types", Gives({{"stdout", R"({"patch": [7], "stop": {"code": 1}})"}})},
                              {"wrong patch", Gives({{"stdout", R"({"patch": [{"op": "remove", "path": "/no/such"}]})"}})},
                              {"form", Gives({{"stdout", R"({"patch": [{"op": "replace", "path": "", "value": 7}]})"}})}};
  const PhaseRule& rule = kPhaseRules[std::size_t(GetParam())];
  for (const char* policy : {"closed", "open"}) {
    for (const Failure& failure : failures) {
      AgentDriver agent(FileWith("  - {name: bad, phases: [" + std::string(rule.name) + "], command: x, on_failure: " + policy + "}\n"));
      Converse(agent, [&](const Json&) { return failure.result; });
      EXPECT_EQ(agent.Status(), "RESTING") << rule.name << " " << policy << " " << failure.name;
      const auto answers = agent.Events("extension.answered");
      ASSERT_FALSE(answers.empty()) << rule.name << " " << failure.name;
      for (const Json& answer : answers)
        EXPECT_EQ(answer["answer"], std::string(policy) == "open" ? "passed over" : "stop") << failure.name;
      if (std::string(policy) == "open") {
        EXPECT_EQ(agent.Events("action.ended").at(0)["outcome"], "result") << rule.name << failure.name;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(AtEachPhase, ExtensionFailure, testing::Range(0, kPhases),
                         [](const testing::TestParamInfo<int>& at) { return std::string(kPhaseRules[std::size_t(at.param)].name); });

class Counting final : public BuiltInExtension {
 public:
  Answer LookIn(Phase phase, const Json&, const Json& snapshot, const Json&) const override {
    Answer answer;
    if (phase == Phase::kBeforeRequest)
      answer.patch.push_back({{"op", "add"}, {"path", "/hint"}, {"value", snapshot.at("standing").at("turns")}});
    return answer;
  }
};

TEST(AgentExtensionsTest, OneOfTheProgramItselfNeedsNoStep) {
  AgentDriver agent(FileWith("  - {name: count, phases: [before_request], builtin: counting}\n"), {},
                    {{"counting", std::make_shared<Counting>()}});
  Converse(agent, [](const Json&) { return StepResult{}; });
  EXPECT_THAT(agent.calls, ElementsAre("turn-1/request", "turn-1/action[0]", "turn-2/request"));
  EXPECT_EQ(AskedIn(agent.started[0])["hint"], 1);
}

TEST(AgentExtensionsTest, RedactionReachesEveryTextOfARequestBeforeItIsSent) {
  AgentDriver agent(
      FileWith("  - {name: redact, phases: [before_request], builtin: redact, config: {patterns: ['[0-9]{4}-[0-9]{4}', 'hunter2']}}\n"));
  agent.Claim();
  agent.Tell("my card is 1234-5678 and hunter2 the word");
  agent.Pump();
  EXPECT_THAT(agent.started[0].call["inputs"]["stdin"].get<std::string>(), HasSubstr("my card is [redacted] and [redacted] the word"));
  EXPECT_THAT(agent.started[0].call["inputs"]["stdin"].get<std::string>(), testing::Not(HasSubstr("hunter2")));
}

TEST(AgentExtensionsTest, ABudgetStopsRequests) {
  AgentDriver agent(FileWith("  - {name: budget, phases: [before_request], builtin: budget, config: {requests: 1}}\n"));
  Converse(agent, [](const Json&) { return StepResult{}; });
  EXPECT_THAT(agent.calls, ElementsAre("turn-1/request", "turn-1/action[0]"));
  EXPECT_THAT(agent.Reason(), HasSubstr("the session has made its 1 requests"));
}

TEST(AgentExtensionsTest, PruningLeavesOutPastTurns) {
  AgentDriver agent(FileWith("  - {name: prune, phases: [before_plan], builtin: prune, config: {past_turns: 1}}\n"));
  agent.Claim();
  for (int n = 0; n < 4; ++n) {
    agent.Tell("again");
    agent.Run([](const StartStep&) { return Says({{"say", "yes"}}); });
  }
  const Json sent = AskedIn(agent.started.back());
  ASSERT_EQ(sent["context"]["past"].size(), 1U);
  EXPECT_EQ(sent["context"]["past"][0]["turn"], 3);
}

}  // namespace
}  // namespace acl::agent::test
