// What stops an agent that goes in circles, and what does not: forty recorded patterns, half of them harmless.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kinds/agent/agent_driver.h"

namespace acl::agent::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A letter is a call that succeeds; "!" behind it: it fails; "+": it changed a file. Lower case letters p and q are pollers. "?": the same
// plan and no call.
struct Pattern {
  const char* calls;
  bool circles;
};

constexpr Pattern kPatterns[] = {
    {"AAAAA", true},         {"ABABAB", true},        {"ABCABCABC", true},
    {"ABCDABCDABCD", true},  {"A!A!A!A!", true},      {"A!B!A!B!A!B!", true},
    {"AABABABAB", true},     {"BAAAAA", true},        {"ABAABABAB", true},
    {"A!A!A!", true},        {"CCABABABAB", true},    {"ABACABACABAC", true},
    {"A+BBBBB", true},       {"A+B!B!B!", true},      {"ABCDEABABABAB", true},
    {"AABBAABBAABB", true},  {"AAA!A!A!", true},      {"XYXYXYXY", true},
    {"ABC!C!C!", true},      {"A+A+BABABA", true},    {"A", false},
    {"ABC", false},          {"AAB", false},          {"ABCDEFGHIJ", false},
    {"A+A+A+A+A+A+", false}, {"A+BA+BA+BA+B", false}, {"A!BC", false},
    {"A!B!C!", false},       {"ABAB", false},         {"ABCABC", false},
    {"AABBCC", false},       {"pppppppppppp", false}, {"pqpqpqpqpq", false},
    {"pApBpCpD", false},     {"A!A!B+A!A!", false},   {"AAB+AAB+AA", false},
    {"A!A", false},          {"ABCDABCD", false},     {"A!A+A!A+A!A+", false},
    {"EDCBA", false},
};

bool GoesInCircles(const char* calls) {
  Guard guard;
  for (const char* at = calls; *at != 0; ++at) {
    if (!WhyRest(guard, 1'000).empty()) return true;
    const std::string key(1, *at);
    (void)CountCall(guard, key, *at == 'p' || *at == 'q');
    const char then = at[1];
    CountOutcome(guard, then == '!' ? "error:" + key : "");
    if (then == '+') Changed(guard);
    if (then == '!' || then == '+') ++at;
  }
  return !WhyRest(guard, 1'000).empty();
}

TEST(AgentGuardTest, TellsCirclesFromWork) {
  int circles = 0, harmless = 0;
  for (const Pattern& pattern : kPatterns) {
    EXPECT_EQ(GoesInCircles(pattern.calls), pattern.circles) << pattern.calls;
    ++(pattern.circles ? circles : harmless);
  }
  EXPECT_EQ(circles, 20);
  EXPECT_EQ(harmless, 20);
}

TEST(AgentGuardTest, CountsStandInTheStateAndComeBackFromIt) {
  Guard guard;
  for (int n = 0; n < 2; ++n) EXPECT_EQ(CountCall(guard, "a", false), Verdict::kGo);
  CountOutcome(guard, "error");
  CountPlan(guard, "plan");
  CountMove(guard);
  const Json json = ToJson(guard);
  Guard again = GuardFrom(&json);
  EXPECT_EQ(ToJson(again), json);
  EXPECT_EQ(CountCall(again, "a", false), Verdict::kRefuse);
}

TEST(AgentGuardTest, TheSameArgumentsInAnotherOrderAreTheSameCall) {
  EXPECT_EQ(CallKey("x", {{"a", 1}, {"b", 2}}), CallKey("x", {{"b", 2}, {"a", 1}}));
  EXPECT_NE(CallKey("x", {{"a", 1}}), CallKey("y", {{"a", 1}}));
}

constexpr const char* kGuardedFile = "agent: a\ncapabilities: ['*']\nplanner: {command: p}\n";

StepResult Repeats(const StartStep& step) {
  if (step.step_id.ends_with("/request")) return Says({{"actions", {{{"capability", "look.read"}}}}});
  return Gives();
}

TEST(AgentGuardTest, AnAgentThatAsksForTheSameAgainAndAgainIsRefusedAndThenRests) {
  AgentDriver agent(kGuardedFile);
  agent.Claim();
  agent.Tell("go");
  agent.Run(Repeats);
  EXPECT_EQ(agent.Status(), "RESTING");
  EXPECT_THAT(agent.Reason(), StartsWith("loop: "));
  EXPECT_EQ(agent.Events("action.ended")[2]["code"], "loop");
  EXPECT_LE(agent.calls.size(), 8U);
  const auto calls = agent.calls.size();
  // Being woken by anything but a person starts nothing anew.
  agent.Post("stimulus", {{"mode", "steer"}, {"kind", "file"}, {"text", "x"}});
  agent.Run(Repeats);
  EXPECT_THAT(agent.Reason(), StartsWith("loop: "));
  EXPECT_EQ(agent.calls.size(), calls);
  agent.Tell("try once more");
  agent.Run(Repeats);
  EXPECT_GT(agent.calls.size(), calls);
}

TEST(AgentGuardTest, ATakeoverForgetsNothing) {
  AgentDriver agent(kGuardedFile);
  agent.Claim();
  agent.Tell("go");
  agent.Run([&](const StartStep& step) { return Repeats(step); }, 1'000);
  AgentDriver other(kGuardedFile);
  other.Claim();
  other.Tell("go");
  for (int n = 0; n < 50 && other.Status() == "MOVING"; ++n) {
    other.Claim();
    for (const StartStep& step : other.Pump()) other.Finish(step.step_id, Repeats(step));
  }
  EXPECT_EQ(other.Reason(), agent.Reason());
}

TEST(AgentGuardTest, APollerHasAnAllowanceOfItsOwn) {
  AgentDriver agent(std::string(kGuardedFile) + "pollers: [look.read]\nlimits: {moves_without_change: 40}\n");
  agent.Claim();
  agent.Tell("wait for it");
  agent.Run(Repeats);
  EXPECT_THAT(agent.Reason(), HasSubstr("moves changed nothing"));
  EXPECT_GE(std::count_if(agent.calls.begin(), agent.calls.end(), [](const std::string& id) { return id.ends_with("[0]"); }), 9);
}

}  // namespace
}  // namespace acl::agent::test
