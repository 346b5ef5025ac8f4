#include "shared/kinds/project/check_tasks.h"

#include <gmock/gmock.h>

#include "tests/unit/kinds/project/project_driver.h"

namespace acl::project {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// "CODE subject: fix"
std::vector<std::string> Said(const Work& work) {
  std::vector<std::string> said;
  for (const TaskFinding& one : CheckTasks(work)) said.push_back(one.code + " " + one.subject + ": " + one.fix);
  return said;
}

Task& Add(Work& work, const std::string& id, TaskStatus status, std::vector<std::string> depends_on = {}) {
  Task task;
  task.id = id;
  task.goal = "g1";
  task.title = "title of " + id;
  task.status = status;
  task.depends_on = std::move(depends_on);
  task.created_order = std::int64_t(work.tasks.size() + 2);
  return work.tasks[id] = std::move(task);
}

Claim ClaimOf(const std::string& holder) { return {holder, 1, {}, WallTime(std::chrono::seconds(1'800'000'000))}; }

TEST(CheckTasks, FindsNothingInWhatIsInOrder) {
  test::ProjectDriver driver;
  driver.Do("create_goal", {{"text", "g"}});
  for (const char* title : {"one", "two", "three"}) driver.Do("add_task", {{"goal_id", "g1"}, {"title", title}});
  driver.Do("edit_task", {{"task_id", "t3"}, {"depends_on", {"t1", "t2"}}});
  driver.Do("start_task", {{"task_id", "t1"}});
  driver.Do("start_task", {{"task_id", "t2"}});
  driver.Do("block_task", {{"task_id", "t2"}, {"blocker", "b"}});
  EXPECT_THAT(Said(ReadWork(driver.state)), IsEmpty());
}

TEST(CheckTasks, SaysEachThingWithTheCommandThatMendsIt) {
  test::ProjectDriver driver;
  driver.Do("create_goal", {{"text", "g"}});
  for (const char* title : {"one", "two", "three"}) driver.Do("add_task", {{"goal_id", "g1"}, {"title", title}});
  driver.Do("edit_task", {{"task_id", "t2"}, {"depends_on", {"t1"}}});
  for (const char* task : {"t1", "t2"}) {
    driver.Do("start_task", {{"task_id", task}});
    driver.Do("complete_task", {{"task_id", task}});
  }
  driver.Do("reopen_task", {{"task_id", "t1"}});
  driver.Do("start_task", {{"task_id", "t3"}});
  driver.Do("block_task", {{"task_id", "t3"}, {"blocker", "b"}});
  driver.Do("resolve_blocker", {{"task_id", "t3"}, {"blocker_id", "b1"}});
  driver.Do("finish_goal", {{"goal_id", "g1"}, {"force", true}, {"reason", "enough"}});
  EXPECT_THAT(Said(ReadWork(driver.state)), ElementsAre("GOAL_DONE_WITH_OPEN_TASKS g1: airun goal resume g1",
                                                        "DEPENDENCY_REOPENED t2: airun task complete t1, or airun task reopen t2",
                                                        "BLOCKED_WITHOUT_BLOCKER t3: airun task unblock t3"));
}

TEST(CheckTasks, SaysWhatOnlyADamagedStateHolds) {
  Work work;
  Add(work, "t1", TaskStatus::kDoing);
  Add(work, "t2", TaskStatus::kDoing).claim = Claim{"ann", 1, {}, std::nullopt};
  Add(work, "t3", TaskStatus::kTodo, {"t9", "t2"});
  Add(work, "t4", TaskStatus::kDone).withdrawn = true;
  Add(work, "t5", TaskStatus::kTodo, {"t4"});
  Add(work, "t6", TaskStatus::kDone, {"t4"});
  EXPECT_THAT(Said(work), ElementsAre("DOING_WITHOUT_CLAIM t1: airun task pause t1", "CLAIM_WITHOUT_END t2: airun task claim t2 --as ann",
                                      "DEPENDENCY_MISSING t3: airun task edit t3 --depends-on t2",
                                      "DEPENDENCY_WITHDRAWN t5: airun task edit t5 --depends-on \"\""));
}

TEST(CheckTasks, ATaskThatIsBeingDoneAndWaitsAgain) {
  Work work;
  Add(work, "t1", TaskStatus::kTodo);
  Add(work, "t2", TaskStatus::kDoing, {"t1"}).claim = ClaimOf("ann");
  EXPECT_THAT(Said(work), ElementsAre("DEPENDENCY_REOPENED t2: airun task pause t2"));
}

TEST(CheckTasks, FindsEachCycleOnceWithItsWay) {
  Work work;
  Add(work, "t1", TaskStatus::kTodo, {"t2"});
  Add(work, "t2", TaskStatus::kTodo, {"t3", "t4"});
  Add(work, "t3", TaskStatus::kTodo, {"t2"});
  Add(work, "t4", TaskStatus::kTodo);
  Add(work, "t5", TaskStatus::kTodo, {"t5"});
  const auto found = CheckTasks(work);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].text, HasSubstr("t2 -> t3 -> t2"));
  EXPECT_EQ(found[0].fix, "airun task edit t3 --depends-on \"\"");
  EXPECT_THAT(found[1].text, HasSubstr("t5 -> t5"));
}

TEST(CheckTasks, ALongChainIsNoMatterOfTheStack) {
  Work work;
  constexpr int kLong = 20'000;
  for (int i = 0; i < kLong; ++i) Add(work, std::to_string(i), TaskStatus::kTodo, {std::to_string((i + 1) % kLong)});
  EXPECT_EQ(CheckTasks(work).size(), 1u);
}

}  // namespace
}  // namespace acl::project
