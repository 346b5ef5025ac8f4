// Every surface says the same of a task: what is next, what is listed, shown, in the tree and on the one screen, and what may be started.
#include <gmock/gmock.h>

#include "shared/base/random.h"
#include "shared/kinds/project/active_work.h"
#include "tests/unit/kinds/project/project_driver.h"

namespace acl::project {
namespace {

constexpr int kGraphs = 10'000;

// Some tasks that depend on those before them, and some commands, of which a part is refused.
test::ProjectDriver RandomProject(SeededRandom& random) {
  const auto below = [&](int bound) { return int(random.Below(std::uint64_t(bound))); };
  test::ProjectDriver driver;
  for (const char* text : {"first", "second"}) driver.Do("create_goal", {{"text", text}});
  const int tasks = 2 + below(5);
  for (int i = 0; i < tasks; ++i) {
    Json task = {{"goal_id", below(3) == 0 ? "g2" : "g1"}, {"title", "task"}, {"priority", below(5)}};
    if (i > 0 && below(2) == 0) task["depends_on"] = Json::array({"t" + std::to_string(1 + below(i))});
    driver.Do("add_task", std::move(task));
  }
  const int commands = below(10);
  for (int i = 0; i < commands; ++i) {
    const std::string task = "t" + std::to_string(1 + below(tasks)), by = below(2) == 0 ? "ann" : "bob";
    switch (below(8)) {
      case 0:
      case 1:
      case 2: driver.Try("start_task", {{"task_id", task}}, by); break;
      case 3: driver.Try("complete_task", {{"task_id", task}}, by); break;
      case 4: driver.Try("block_task", {{"task_id", task}, {"blocker", "b"}}, by); break;
      case 5: driver.Try("withdraw_task", {{"task_id", task}}, by); break;
      case 6: driver.Try("reopen_task", {{"task_id", task}}, by); break;
      default: driver.Try(below(2) == 0 ? "pause_goal" : "resume_goal", {{"goal_id", below(2) == 0 ? "g1" : "g2"}}, by);
    }
  }
  return driver;
}

bool MayStart(const Document& state, const Task& task, const std::string& actor) {
  return !Decide(state, {"start_task", {{"task_id", task.id}}, actor}, WallTime(std::chrono::seconds(1'900'000'000))).refused;
}

// What lists say of each task that they show: "ready" by its id.
std::map<std::string, bool> ReadyIn(const Json& tasks) {
  std::map<std::string, bool> ready;
  for (const Json& one : tasks) ready[one.at("task_id")] = one.at("ready");
  return ready;
}

TEST(ProjectSurfaces, AgreeOnWhatMayBeWorkedOn) {
  SeededRandom random(1);
  for (int graph = 0; graph < kGraphs; ++graph) {
    const test::ProjectDriver driver = RandomProject(random);
    const Work work = ReadWork(driver.state);
    const AllWork source(work);
    const std::string actor = graph % 2 == 0 ? "ann" : "bob";
    const NextStep next = ChooseNext(driver.state, actor);
    const Json screen = ActiveWork(work, next, actor, 100), tree = TaskTree(work, actor, "", 100);
    std::map<std::string, bool> on_screen, in_tree;
    for (const auto& [status, tasks] : screen["tasks"].items()) on_screen.merge(ReadyIn(tasks));
    for (const Json& goal : tree["goals"]) in_tree.merge(ReadyIn(goal["tasks"]));
    bool todo_is_ready = false;
    for (const auto& [id, task] : work.tasks) {
      const bool ready = ReasonsAgainst(source, task, actor).empty();
      ASSERT_EQ(TaskItem(source, task, actor)["ready"], ready) << graph << " " << id;
      ASSERT_EQ(TaskInFull(work, task, actor)["ready"], ready) << graph << " " << id;
      if (!task.withdrawn) {
        ASSERT_EQ(on_screen.at(id), ready) << graph << " " << id;
        ASSERT_EQ(in_tree.at(id), ready) << graph << " " << id;
      }
      if (task.status == TaskStatus::kTodo) {
        ASSERT_EQ(MayStart(driver.state, task, actor), ready) << graph << " " << id;
        todo_is_ready = todo_is_ready || ready;
      }
      ASSERT_TRUE(ready || next.rule != "todo" || next.task != id) << graph << " " << id;
    }
    ASSERT_FALSE(todo_is_ready && next.rule == "propose") << graph;
    ASSERT_EQ(screen["counts"]["open"], next.counts.open);
  }
}

}  // namespace
}  // namespace acl::project
