// Actions that a person is asked about: nothing runs meanwhile, one answer wins, and what was approved is what is sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/approval/decision_json.h"
#include "tests/unit/kinds/agent/agent_driver.h"

namespace acl::agent::test {
namespace {

using testing::HasSubstr;

constexpr const char* kAsks =
    "agent: clerk\nowner: boss\ncapabilities: ['*']\nask_before: ['risk:HIGH', do.effect]\nplanner: {command: plan.py}\n";

// Up to the question.
void AskFor(AgentDriver& agent, const std::string& capability) {
  agent.Claim();
  agent.Tell("go");
  agent.Pump();
  agent.Finish("turn-1/request", Says({{"actions", {{{"capability", capability}, {"inputs", {{"path", "a"}}}}}}}));
}

Json Pending(const AgentDriver& agent) { return *agent.state.Find("course:approval"); }

Json Decision(const AgentDriver& agent, const std::string& word, const std::string& by = "carol") {
  return {{"approval_id", Pending(agent)["approval_id"]},
          {"digest", Pending(agent)["digest"]},
          {"decision", word},
          {"by", by},
          {"assurance", "key"},
          {"channel", "api"}};
}

TEST(AgentApprovalsTest, WhatNeedsAYesWaitsForItWithoutAWorker) {
  for (const char* capability : {"files.write", "do.effect"}) {
    AgentDriver agent(kAsks);
    AskFor(agent, capability);
    EXPECT_TRUE(agent.Pump().empty());
    ASSERT_TRUE(agent.Ask().waiting);
    EXPECT_EQ(agent.Ask().waiting->reason, "approval");
    EXPECT_EQ(agent.listing->status, "WAITING");
    ASSERT_EQ(agent.outbox.size(), 1U);
    EXPECT_EQ(agent.outbox[0].topic, approval::kShownTopic);
    EXPECT_EQ((*ParseJson(agent.outbox[0].payload))["arguments"]["inputs"]["path"], "a");
    agent.Post("decide", Decision(agent, "approve"));
    agent.Run([](const StartStep& step) { return step.step_id.ends_with("/request") ? Says(Json::object()) : Gives(); });
    EXPECT_EQ(agent.Events("action.ended")[0]["outcome"], "result");
    EXPECT_EQ((*ParseJson(agent.outbox.back().payload))["state"], "APPROVED");
    if (std::string(capability) == "do.effect") {
      EXPECT_EQ(agent.Events("step.started")[1]["approved_digest"], agent.Events("approval.requested")[0]["digest"]);
    }
  }
}

TEST(AgentApprovalsTest, ANoIsAnOutcomeThatTheAgentSees) {
  AgentDriver agent(kAsks);
  AskFor(agent, "do.effect");
  Json no = Decision(agent, "reject");
  no["comment"] = "not on a Friday";
  agent.Post("decide", no);
  agent.Run([](const StartStep& step) {
    EXPECT_THAT(step.call["inputs"]["stdin"].get<std::string>(), HasSubstr("carol said no: not on a Friday"));
    return Says(Json::object());
  });
  EXPECT_EQ(agent.Events("action.ended")[0]["code"], "rejected");
  agent.Post("decide", no);
  EXPECT_EQ(agent.Last("input.refused")["code"], "not-pending");
}

TEST(AgentApprovalsTest, WhoAskedMayBeKeptFromSayingYes) {
  AgentDriver agent(std::string(kAsks) + "approval: {allow_requester: false, role: ops}\n");
  AskFor(agent, "do.effect");
  agent.Post("decide", Decision(agent, "approve", "boss"));
  EXPECT_EQ(agent.Last("input.refused")["code"], "not-allowed");
  Json by_role = Decision(agent, "approve");
  agent.Post("decide", by_role);
  EXPECT_EQ(agent.Last("input.refused")["code"], "not-allowed");
  by_role["roles"] = {"ops"};
  agent.Post("decide", by_role);
  EXPECT_EQ(agent.Pump().size(), 1U);
}

TEST(AgentApprovalsTest, AnotherDigestIsNoYes) {
  AgentDriver agent(kAsks);
  AskFor(agent, "do.effect");
  Json wrong = Decision(agent, "approve");
  wrong["digest"] = std::string(64, '0');
  agent.Post("decide", wrong);
  EXPECT_EQ(agent.Last("input.refused")["code"], "digest-mismatch");
  EXPECT_TRUE(agent.Pump().empty());
}

TEST(AgentApprovalsTest, NobodysAnswerInTimeIsANo) {
  AgentDriver agent(std::string(kAsks) + "approval: {timeout: 2h}\n");
  AskFor(agent, "do.effect");
  const WallTime asked = agent.now;
  ASSERT_TRUE(agent.FireNextTimer());
  EXPECT_EQ(agent.now - asked, std::chrono::hours(2));
  EXPECT_EQ(agent.Events("action.ended")[0]["code"], "approval-timeout");
  EXPECT_EQ((*ParseJson(agent.outbox.back().payload))["state"], "TIMEOUT");
}

TEST(AgentApprovalsTest, AStopTakesTheQuestionBack) {
  AgentDriver agent(kAsks);
  AskFor(agent, "do.effect");
  const Json yes = Decision(agent, "approve");
  agent.Post("agent.stop");
  EXPECT_EQ(agent.Status(), "STOPPED");
  EXPECT_EQ((*ParseJson(agent.outbox.back().payload))["state"], "CANCELLED");
  agent.Post("decide", yes);
  EXPECT_EQ(agent.Last("input.refused")["code"], "not-pending");
  EXPECT_TRUE(agent.Pump().empty());
}

TEST(AgentApprovalsTest, AnExtensionMayAskThatAPersonIsAsked) {
  AgentDriver agent(
      "agent: a\ncapabilities: ['*']\nplanner: {command: p}\nextensions:\n"
      "  - {name: ask, phases: [before_action], builtin: ask_first, config: {capabilities: ['look.*']}}\n");
  AskFor(agent, "look.read");
  EXPECT_EQ(agent.Ask().waiting->reason, "approval");
  agent.Post("decide", Decision(agent, "approve"));
  EXPECT_EQ(agent.Pump().size(), 1U);
}

}  // namespace
}  // namespace acl::agent::test
