// An agent that plans on the next step of its project (document 000): it takes a task, says where it was left, and reaches no other
// project.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/kinds/agent/agent_driver.h"

namespace acl::agent::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kTasked = "agent: writer\ntasks: next\ncapabilities: [look.read, do.effect]\nplanner: {command: p}\n";

StepResult Task(const std::string& id) { return Gives({{"task_id", id}, {"next_step", "write " + id}, {"success", true}}); }

TEST(AgentTasksTest, TheStepThatIsNextIsWhatATurnIsFor) {
  AgentDriver agent(kTasked);
  agent.Claim();
  int taken = 0;
  agent.Run([&](const StartStep& step) {
    if (step.step_id.ends_with("/look")) return ++taken == 1 ? Task("t1") : Gives({{"rule", "propose"}});
    if (step.step_id.ends_with("/request"))
      return Says({{"actions", {{{"capability", "look.read"}}}},
                   {"checkpoint", {{"where", "It is written."}, {"next", "Read it"}}},
                   {"complete", Json::object()}});
    return Gives();
  });
  EXPECT_THAT(agent.calls,
              ElementsAre("turn-1/look", "turn-1/request", "turn-1/action[0]", "turn-1/action[1]", "turn-1/action[2]", "turn-2/look"));
  EXPECT_EQ(agent.Events("move.plan")[0]["intention"], "write t1");
  EXPECT_EQ(agent.started[3].call["inputs"]["where_we_left_off"], "It is written.");
  EXPECT_EQ(agent.started[4].call["capability"], "project.complete");
  EXPECT_THAT(agent.Reason(), StartsWith("no plan"));
}

TEST(AgentTasksTest, ATaskIsNotSaidToBeDoneWhenAnActionFailedAndNoOtherProjectIsReached) {
  AgentDriver agent(kTasked);
  agent.Claim();
  int taken = 0;
  agent.Run([&](const StartStep& step) {
    if (step.step_id.ends_with("/look")) return ++taken == 1 ? Task("t1") : Gives({{"rule", "propose"}});
    const Json stranger = {{"task_id", "t2"}, {"project", "victim"}, {"where_we_left_off", "Overwritten."}, {"next_step", "nothing"}};
    return Says({{"actions", {{{"capability", "project.checkpoint"}, {"inputs", stranger}}}}, {"complete", Json::object()}});
  });
  const Json outcomes = agent.Events("move.process")[0]["outcomes"];
  EXPECT_EQ(outcomes[0]["code"], "not-allowed");
  EXPECT_EQ(outcomes[1]["code"], "not-done");
  EXPECT_THAT(agent.calls, ElementsAre("turn-1/look", "turn-1/request", "turn-2/look"));
}

TEST(AgentTasksTest, WithoutItsProjectItRestsAndComesBackByItself) {
  AgentDriver agent(kTasked);
  agent.Claim();
  agent.Tell("and this");
  agent.Run([](const StartStep&) { return FailsWith("no coordinator", false); });
  EXPECT_THAT(agent.Reason(), HasSubstr("no task: its project could not be asked: no coordinator"));
  EXPECT_TRUE(agent.Events("move.plan").empty());
  ASSERT_TRUE(agent.FireNextTimer());
  agent.Run([](const StartStep& step) { return step.step_id.ends_with("/look") ? Gives({{"rule", "propose"}}) : Says(Json::object()); });
  EXPECT_EQ(agent.Last("move.plan")["stimuli"], Json::array({1}));
}

TEST(AgentTasksTest, AnAnswerThatIsTooLongIsNoCircle) {
  AgentDriver agent("agent: a\ncapabilities: ['*']\nplanner: {command: p}\n");
  agent.Claim();
  agent.Tell("go");
  bool first = true;
  agent.Run([&](const StartStep& step) {
    if (!step.step_id.ends_with("/request")) return Gives();
    Json answer = {{"actions", Json::array()}};
    for (int n = 0; first && n < 12; ++n)
      answer["actions"].push_back({{"capability", "look.pure"}, {"inputs", {{"path", std::to_string(n)}}}});
    first = false;
    return Says(answer);
  });
  EXPECT_EQ(agent.Reason(), "nothing to do");
  EXPECT_EQ(agent.Events("move.process")[0]["outcomes"][11]["code"], "too-many");
}

TEST(AgentTasksTest, InputsThatWereMeantForARunChangeNothing) {
  AgentDriver agent(kTasked);
  agent.Claim();
  for (const char* kind : {"cancel", "pause", "resume", "stop", "resolve", "signal"}) agent.Post(kind);
  EXPECT_EQ(agent.Events("input.refused").size(), 6U);
  EXPECT_NE(agent.Status(), "STOPPED");
}

}  // namespace
}  // namespace acl::agent::test
