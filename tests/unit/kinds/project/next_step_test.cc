// Document 000, section 8.2, and every tie: the rule, what was blocked last, priorities, who was first.
#include "shared/kinds/project/next_step.h"

#include <gtest/gtest.h>

#include "tests/unit/kinds/project/project_driver.h"

namespace acl::project {
namespace {

using test::ProjectDriver;

class NextStepTest : public ::testing::Test {
 protected:
  NextStepTest() { project_.Do("create_goal", {{"text", "a goal"}}); }

  std::string Add(const std::string& title, Json more = Json::object()) {
    Json arguments = {{"goal_id", "g1"}, {"title", title}};
    arguments.update(more);
    return project_.Do("add_task", arguments).at("task_id");
  }
  static std::string DecidedBy(const NextStep& next, const std::string& task) {
    for (const NextStep::Loser& one : next.runners_up) {
      if (one.task == task) return one.decided_by;
    }
    return "not there";
  }

  ProjectDriver project_;
};

TEST_F(NextStepTest, NothingOpenAsksForProposalsAndCommitsToNone) {
  const std::size_t before = project_.events.size();
  const NextStep next = project_.Next();
  EXPECT_EQ(next.rule, "propose");
  EXPECT_EQ(next.task, "");
  EXPECT_EQ(project_.events.size(), before);
  EXPECT_EQ(next.state_digest, project_.state.Root());
}

TEST_F(NextStepTest, WhatIsBeingDoneThenWhatWasBlockedLastThenTheMostUrgent) {
  const std::string urgent = Add("urgent", {{"priority", 0}}), first = Add("first"), second = Add("second"), doing = Add("doing");
  for (const std::string& task : {first, second}) {
    project_.Do("start_task", {{"task_id", task}});
    project_.Do("block_task", {{"task_id", task}, {"blocker", "waits for " + task}});
  }
  project_.Do("start_task", {{"task_id", doing}});
  NextStep next = project_.Next();
  EXPECT_EQ(next.rule, "doing");
  EXPECT_EQ(next.task, doing);
  EXPECT_EQ(DecidedBy(next, second), "rule");
  project_.Do("complete_task", {{"task_id", doing}});
  next = project_.Next();
  EXPECT_EQ(next.rule, "blocked");
  EXPECT_EQ(next.task, second) << "blocked last, by the order of events";
  EXPECT_EQ(next.step_from, "blocker");
  EXPECT_NE(next.next_step.find("waits for " + second), std::string::npos) << "its blocker is the work, not its own next step";
  EXPECT_EQ(DecidedBy(next, first), "blocked_order");
  EXPECT_EQ(DecidedBy(next, urgent), "rule");
  for (const std::string& task : {first, second}) project_.Do("withdraw_task", {{"task_id", task}});
  EXPECT_EQ(project_.Next().task, urgent);
}

TEST_F(NextStepTest, TiesGoByPriorityThenTheGoalsThenWhoWasFirst) {
  project_.Do("create_goal", {{"text", "a more urgent goal"}, {"priority", 1}});
  const std::string late_id = Add("first made"), other = Add("made later");
  const std::string of_urgent_goal = project_.Do("add_task", {{"goal_id", "g2"}, {"title", "of the urgent goal"}}).at("task_id");
  const std::string urgent = Add("urgent", {{"priority", 1}});
  const NextStep next = project_.Next();
  EXPECT_EQ(next.task, urgent);
  EXPECT_EQ(DecidedBy(next, of_urgent_goal), "priority");
  project_.Do("withdraw_task", {{"task_id", urgent}});
  EXPECT_EQ(DecidedBy(project_.Next(), late_id), "goal_priority");
  project_.Do("withdraw_task", {{"task_id", of_urgent_goal}});
  EXPECT_EQ(project_.Next().task, late_id);
  EXPECT_EQ(DecidedBy(project_.Next(), other), "created_order");
}

TEST_F(NextStepTest, TheTenthTaskComesAfterTheSecond) {
  for (int i = 0; i < 12; ++i) Add("task");
  project_.Do("withdraw_task", {{"task_id", "t1"}});
  EXPECT_EQ(project_.Next().task, "t2") << "by the order they were made in, not by the text of an id";
}

TEST_F(NextStepTest, APausedGoalTakesItsTasksOutOfTheChoiceAndSaysSo) {
  const std::string task = Add("a task");
  project_.Do("start_task", {{"task_id", task}});
  project_.Do("pause_goal", {{"goal_id", "g1"}, {"reason", "after the holidays"}});
  const NextStep next = project_.Next();
  EXPECT_EQ(next.rule, "propose");
  ASSERT_EQ(next.waiting.size(), 1u);
  EXPECT_EQ(next.waiting[0].reasons.at(0).code, "GOAL_PAUSED");
  project_.Do("resume_goal", {{"goal_id", "g1"}});
  EXPECT_EQ(project_.Next().task, task);
}

TEST_F(NextStepTest, OpenDependenciesAreNamedWithWhatKeepsThem) {
  const std::string base = Add("base"), middle = Add("middle", {{"depends_on", {base}}}),
                    top = Add("top", {{"depends_on", {middle}}, {"priority", 0}});
  EXPECT_EQ(project_.Next().task, base);
  const Decided refused = project_.Try("start_task", {{"task_id", top}});
  ASSERT_TRUE(refused.refused);
  EXPECT_EQ(refused.refused->reason, "NOT_READY");
  const Json& reason = refused.refused->details.at("reasons").at(0);
  EXPECT_EQ(reason.at("code"), "DEPENDENCY_OPEN");
  EXPECT_EQ(reason.at("subject"), middle);
  EXPECT_EQ(reason.at("because").at(0).at("subject"), base);
  project_.Do("start_task", {{"task_id", base}});
  project_.Do("complete_task", {{"task_id", base}});
  EXPECT_EQ(project_.Next().task, middle);
}

TEST_F(NextStepTest, ADependencyThatIsOpenedAgainIsSaidToWhoWorks) {
  const std::string base = Add("base"), top = Add("top", {{"depends_on", {base}}}), later = Add("later", {{"depends_on", {base}}});
  project_.Do("start_task", {{"task_id", base}});
  project_.Do("complete_task", {{"task_id", base}});
  project_.Do("start_task", {{"task_id", top}});
  project_.Do("reopen_task", {{"task_id", base}, {"reason", "it was wrong"}}, "bo");
  EXPECT_EQ(project_.events.back().type, "dependency.reopened");
  EXPECT_EQ(project_.events.back().facts.at("task_id"), top);
  EXPECT_EQ(project_.TaskOf(top).status, TaskStatus::kDoing) << "nothing flips silently";
  EXPECT_EQ(project_.Refused("start_task", {{"task_id", later}}), "NOT_READY");
}

TEST_F(NextStepTest, CyclesAreRefusedWithTheirPath) {
  const std::string one = Add("one"), two = Add("two", {{"depends_on", {one}}}), three = Add("three", {{"depends_on", {two}}});
  const Decided decided = project_.Try("edit_task", {{"task_id", one}, {"depends_on", {three}}});
  ASSERT_TRUE(decided.refused);
  EXPECT_EQ(decided.refused->reason, "CYCLE");
  EXPECT_EQ(decided.refused->details.at("path"), (Json{three, two, one}));
  EXPECT_EQ(project_.Refused("edit_task", {{"task_id", one}, {"depends_on", {one}}}), "CYCLE");
  EXPECT_EQ(project_.Refused("edit_task", {{"task_id", one}, {"depends_on", {"t99"}}}), "NOT_FOUND");
}

TEST_F(NextStepTest, ACheckpointIsAHandleNotTheListOfWork) {
  for (int i = 0; i < 41; ++i) Add("task");
  project_.Do("start_task", {{"task_id", "t7"}});
  project_.Do("update_checkpoint", {{"task_id", "t7"},
                                    {"where_we_left_off", "The parser reads headers."},
                                    {"next_step", "Write the test of bodies"},
                                    {"needed_context_refs", {"url:https://example.com/spec"}}});
  const NextStep next = project_.Next();
  EXPECT_EQ(next.task, "t7");
  EXPECT_EQ(next.next_step, "Write the test of bodies");
  EXPECT_EQ(next.step_from, "checkpoint");
  EXPECT_EQ(next.context_refs, std::vector<std::string>{"url:https://example.com/spec"});
  EXPECT_EQ(next.counts.open, 41);
  EXPECT_EQ(next.open_tasks.size(), 41u);
}

}  // namespace
}  // namespace acl::project
