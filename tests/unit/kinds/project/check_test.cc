// A state is taken apart entry by entry: whatever histories make is sound, and each thing that no command could have left is named.
#include "shared/kinds/project/check.h"

#include <gmock/gmock.h>

#include "tests/unit/kinds/project/project_driver.h"

namespace acl::project {
namespace {

using ::testing::HasSubstr;

Document Sound() {
  test::ProjectDriver driver;
  driver.Do("create_goal", {{"text", "Write the book"}});
  driver.Do("create_goal", {{"text", "Sell it"}});
  driver.Do("add_task", {{"goal_id", "g1"}, {"title", "One"}});
  driver.Do("add_task", {{"goal_id", "g1"}, {"title", "Two"}, {"depends_on", {"t1"}}});
  driver.Do("add_task", {{"goal_id", "g1"}, {"title", "Three"}, {"depends_on", {"t2"}}});
  driver.Do("start_task", {{"task_id", "t1"}});
  driver.Do("update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "It is begun."}, {"next_step", "Write page two"}});
  return driver.state;
}

struct Case {
  const char *name, *entry, *pointer;
  Json value;  // null: the entry goes
  const char* said;
};

TEST(CheckState, WhatCommandsMakeIsSound) { EXPECT_TRUE(CheckState(Sound())) << CheckState(Sound()).message(); }

TEST(CheckState, EachThingThatNoCommandLeavesIsNamed) {
  const Case cases[] = {
      {"NoProject", "project", "", nullptr, "no entry \"project\""},
      {"ForeignEntry", "note:n1", "", {{"text", "x"}}, "no project has an entry \"note:n1\""},
      {"GoalOfAnotherId", "goal:g1", "/goal_id", "g2", "the entry of g1 says that it is g2"},
      {"NoSuchStatus", "task:t1", "/status", "asleep", "t1 has status \"asleep\""},
      {"GoalCounter", "project", "/goals", 3, "the project made 3 of g1, g2 ..., and 2 are there"},
      {"TaskCounter", "project", "/tasks", 2, "the project made 2 of t1, t2 ..., and 3 are there"},
      {"SameOrderTwice", "task:t1", "/created_order", 2, "t1 stands at 2"},
      {"OrderAhead", "checkpoint:t1", "/order", 100, "the checkpoint of t1 stands at 100"},
      {"GoalThatIsNot", "task:t1", "/goal_id", "g7", "t1 belongs to g7, which is not there"},
      {"OneSideOnly", "task:t1", "/needed_by", Json::array(), "t2 depends on t1, and t1 does not say so"},
      {"OtherSideOnly", "task:t3", "/depends_on", Json::array(), "t2 is needed by t3, and t3 does not say so"},
      {"DependencyThatIsNot", "task:t1", "/depends_on", {"t9"}, "t1 depends on t9, which is not there"},
      {"DependencyTwice", "task:t2", "/depends_on", {"t1", "t1"}, "once"},
      {"OpenTasks", "goal:g1", "/open_tasks", 2, "g1 says 2 open tasks, and has 3"},
      {"HeldAndNotDoing", "task:t1", "/status", "todo", "t1 is held by ann and todo"},
      {"TokenAhead", "task:t1", "/claims", 7, "t1 is held under token 1, and the last one given is 7"},
      {"CheckpointOfAnother", "checkpoint:t1", "/task_id", "t2", "the checkpoint of t1 says that it is of t2"},
      {"NotInForm", "task:t1", "/title", 7, "not in a form that was ever written"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    Document state = Sound();
    if (one.value.is_null()) {
      state.Remove(one.entry);
    } else {
      Json entry = state.Has(one.entry) ? *state.Find(one.entry) : Json();
      entry[Json::json_pointer(one.pointer)] = one.value;
      state.Set(one.entry, std::move(entry));
    }
    const Status checked = CheckState(state);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.code(), Code::kCorrupt);
    EXPECT_THAT(checked.message(), HasSubstr(one.said));
  }
}

TEST(CheckState, ACircleIsToldTaskByTask) {
  Document state = Sound();
  Json first = *state.Find("task:t1"), third = *state.Find("task:t3");
  first["depends_on"] = {"t3"};
  third["needed_by"] = {"t1"};
  state.Set("task:t1", std::move(first));
  state.Set("task:t3", std::move(third));
  const Status checked = CheckState(state);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.message(), HasSubstr("in a circle: t1 -> t3 -> t2 -> t1"));
}

}  // namespace
}  // namespace acl::project
