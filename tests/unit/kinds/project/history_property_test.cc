// 10,000 random histories: whatever happens, what is replayed is what was, what is counted is what is there, and the next step says the
// same as readiness does.
#include <gtest/gtest.h>

#include "shared/base/random.h"
#include "shared/kinds/project/check.h"
#include "tests/unit/kinds/project/project_driver.h"

namespace acl::project {
namespace {

using test::ProjectDriver;

constexpr int kHistories = 10'000, kCommands = 14;

std::string Any(Random& random, char letter, int made) { return letter + std::to_string(1 + random.Below(std::uint64_t(made) + 1)); }

void Happen(Random& random, ProjectDriver& project) {
  const Project made = *FindProject(project.state);
  const std::string task = Any(random, 't', made.tasks), goal = Any(random, 'g', made.goals), actor = random.Below(2) == 0 ? "ann" : "bo";
  switch (random.Below(14)) {
    case 0: project.Try("create_goal", {{"text", "goal"}, {"priority", random.Below(5)}}, actor); return;
    case 1:
    case 2:
    case 3: {
      Json depends_on = Json::array();
      if (made.tasks > 0 && random.Below(2) == 0) depends_on.push_back(Any(random, 't', made.tasks - 1));
      project.Try("add_task", {{"goal_id", goal}, {"title", "task"}, {"priority", random.Below(5)}, {"depends_on", depends_on}}, actor);
      return;
    }
    case 4: project.Try("start_task", {{"task_id", task}, {"claim_seconds", 2}}, actor); return;
    case 5: project.Try("take_next", Json::object(), actor); return;
    case 6: project.Try("pause_task", {{"task_id", task}}, actor); return;
    case 7: project.Try("block_task", {{"task_id", task}, {"blocker", "something"}}, actor); return;
    case 8: project.Try("unblock_task", {{"task_id", task}}, actor); return;
    case 9: project.Try("complete_task", {{"task_id", task}}, actor); return;
    case 10: project.Try("reopen_task", {{"task_id", task}}, actor); return;
    case 11: project.Try(random.Below(2) == 0 ? "pause_goal" : "resume_goal", {{"goal_id", goal}}, actor); return;
    case 12: project.Try("edit_task", {{"task_id", task}, {"depends_on", {Any(random, 't', made.tasks)}}}, actor); return;
    default: project.Try("expire_claim", {{"task_id", task}, {"token", random.Below(4)}}, "clock"); return;
  }
}

// nullopt: all is well.
std::optional<std::string> Wrong(const ProjectDriver& project) {
  const Work work = ReadWork(project.state);
  const AllWork source(work);
  std::map<std::string, int> open;
  bool startable = false;
  for (const auto& [id, task] : work.tasks) {
    if (!task.withdrawn && task.status != TaskStatus::kDone) ++open[task.goal];
    if (task.claim && task.status != TaskStatus::kDoing) return id + " is held and not being done";
    if (task.status == TaskStatus::kDoing && !task.claim) return id + " is being done by nobody";
    if (task.status != TaskStatus::kBlocked && !task.blockers.empty()) return id + " has blockers and is not blocked";
    for (const std::string& on : task.depends_on) {
      const auto& needed_by = work.tasks.at(on).needed_by;
      if (std::count(needed_by.begin(), needed_by.end(), id) != 1) return on + " does not know that " + id + " needs it";
      if (!DependencyPath(source, on, id).empty()) return id + " depends on itself";
    }
    if (task.status == TaskStatus::kTodo && ReasonsAgainst(source, task, "ann").empty()) startable = true;
  }
  for (const auto& [id, goal] : work.goals) {
    if (goal.open_tasks != open[id]) return "the open tasks of " + id;
  }
  const NextStep next = project.Next("ann");
  if (ToJson(next) != ToJson(ChooseNext(project.Replayed(), "ann"))) return std::string("another next step after a replay");
  if (next.rule == "propose" && startable) return std::string("something may be started and is not offered");
  if (next.rule == "todo" && !ReasonsAgainst(source, work.tasks.at(next.task), "ann").empty())
    return next.task + " is offered and not ready";
  if (next.rule == "doing" && work.tasks.at(next.task).claim->holder != "ann") return next.task + " is another's";
  return std::nullopt;
}

TEST(ProjectHistories, RandomOnesHold) {
  for (int seed = 1; seed <= kHistories; ++seed) {
    SeededRandom random(std::uint64_t(seed) * 7919);
    ProjectDriver project;
    for (int i = 0; i < kCommands; ++i) Happen(random, project);
    ASSERT_EQ(project.Replayed().Root(), project.state.Root()) << "seed " << seed;
    const Status sound = CheckState(project.state);
    ASSERT_TRUE(sound) << "seed " << seed << ": " << sound.message();
    const auto wrong = Wrong(project);
    ASSERT_FALSE(wrong) << "seed " << seed << ": " << *wrong;
  }
}

}  // namespace
}  // namespace acl::project
