// Document 000, section 7: every pair of statuses, by the commands that people have.
#include <gtest/gtest.h>

#include "tests/unit/kinds/project/project_driver.h"

namespace acl::project {
namespace {

using test::ProjectDriver;

constexpr TaskStatus kAll[] = {TaskStatus::kTodo, TaskStatus::kDoing, TaskStatus::kBlocked, TaskStatus::kDone};

void Bring(ProjectDriver& project, TaskStatus status) {
  project.Do("create_goal", {{"text", "a goal"}});
  project.Do("add_task", {{"goal_id", "g1"}, {"title", "a task"}});
  if (status == TaskStatus::kTodo) return;
  project.Do("start_task", {{"task_id", "t1"}});
  if (status == TaskStatus::kBlocked) project.Do("block_task", {{"task_id", "t1"}, {"blocker", "no access"}});
  if (status == TaskStatus::kDone) project.Do("complete_task", {{"task_id", "t1"}});
}

// The command that would make it so.
Decided Move(ProjectDriver& project, TaskStatus from, TaskStatus to) {
  const Json task = {{"task_id", "t1"}};
  switch (to) {
    case TaskStatus::kDoing:
      if (from == TaskStatus::kBlocked) return project.Try("start_task", {{"task_id", "t1"}, {"resolved", "access was given"}});
      return project.Try(from == TaskStatus::kDone ? "reopen_task" : "start_task", task);
    case TaskStatus::kTodo: return project.Try(from == TaskStatus::kBlocked ? "unblock_task" : "pause_task", task);
    case TaskStatus::kBlocked: return project.Try("block_task", {{"task_id", "t1"}, {"blocker", "no answer"}});
    case TaskStatus::kDone: return project.Try("complete_task", task);
  }
  return {};
}

TEST(Transitions, ExactlyTheDocumentsPairByPair) {
  const std::set<std::pair<TaskStatus, TaskStatus>> allowed{
      {TaskStatus::kTodo, TaskStatus::kDoing}, {TaskStatus::kDoing, TaskStatus::kBlocked}, {TaskStatus::kDoing, TaskStatus::kDone},
      {TaskStatus::kDoing, TaskStatus::kTodo}, {TaskStatus::kBlocked, TaskStatus::kDoing}, {TaskStatus::kBlocked, TaskStatus::kTodo},
      {TaskStatus::kDone, TaskStatus::kDoing},
  };
  for (TaskStatus from : kAll) {
    for (TaskStatus to : kAll) {
      SCOPED_TRACE(std::string(NameOf(from)) + " -> " + std::string(NameOf(to)));
      EXPECT_EQ(IsAllowed(from, to), allowed.contains({from, to}));
      // A second blocker of a blocked task is no transition.
      if (from == to && to == TaskStatus::kBlocked) continue;
      ProjectDriver project;
      Bring(project, from);
      ASSERT_EQ(project.TaskOf("t1").status, from);
      const std::size_t before = project.events.size();
      const Decided decided = Move(project, from, to);
      if (allowed.contains({from, to})) {
        EXPECT_FALSE(decided.refused) << decided.refused->message;
        EXPECT_EQ(project.TaskOf("t1").status, to);
        ASSERT_EQ(project.events.size(), before + 1) << "one event each";
        EXPECT_EQ(project.events.back().facts.at("by"), "ann");
      } else {
        ASSERT_TRUE(decided.refused);
        EXPECT_EQ(decided.refused->code, Code::kConflict);
        EXPECT_NE(decided.refused->message.find(AllowedWords(from)), std::string::npos) << decided.refused->message;
        EXPECT_EQ(project.TaskOf("t1").status, from);
        EXPECT_EQ(project.events.back().type, "command.refused");
      }
    }
  }
}

// Whoever works on what depends on it must hear: only reopen_task says so.
TEST(Transitions, WhatIsDoneIsReopenedAndNotStarted) {
  ProjectDriver project;
  Bring(project, TaskStatus::kDone);
  const Decided decided = project.Try("start_task", {{"task_id", "t1"}});
  ASSERT_TRUE(decided.refused);
  EXPECT_EQ(decided.refused->reason, "INVALID_TRANSITION");
  EXPECT_NE(decided.refused->message.find("reopen_task"), std::string::npos);
}

TEST(Transitions, AGoalWithOpenTasksIsDoneOnlyByForceAndAReason) {
  ProjectDriver project;
  Bring(project, TaskStatus::kTodo);
  EXPECT_EQ(project.Refused("finish_goal", {{"goal_id", "g1"}}), "OPEN_TASKS");
  EXPECT_EQ(project.Refused("finish_goal", {{"goal_id", "g1"}, {"force", true}}), "OPEN_TASKS");
  EXPECT_EQ(project.Refused("finish_goal", {{"goal_id", "g1"}, {"force", true}, {"reason", "not needed any more"}}), "");
  EXPECT_EQ(project.GoalOf("g1").status, GoalStatus::kDone);
  EXPECT_EQ(project.Refused("add_task", {{"goal_id", "g1"}, {"title", "another"}}), "INVALID_TRANSITION");
}

TEST(Transitions, OpenTasksAreCountedThroughEveryChange) {
  ProjectDriver project;
  Bring(project, TaskStatus::kDone);
  project.Do("create_goal", {{"text", "another goal"}});
  EXPECT_EQ(project.GoalOf("g1").open_tasks, 0);
  project.Do("reopen_task", {{"task_id", "t1"}});
  EXPECT_EQ(project.GoalOf("g1").open_tasks, 1);
  project.Do("edit_task", {{"task_id", "t1"}, {"goal_id", "g2"}});
  EXPECT_EQ(project.GoalOf("g1").open_tasks, 0);
  EXPECT_EQ(project.GoalOf("g2").open_tasks, 1);
  project.Do("withdraw_task", {{"task_id", "t1"}, {"reason", "no need"}});
  EXPECT_EQ(project.GoalOf("g2").open_tasks, 0);
  EXPECT_EQ(project.Refused("start_task", {{"task_id", "t1"}}), "WITHDRAWN");
}

}  // namespace
}  // namespace acl::project
