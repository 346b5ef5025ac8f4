// 10,000 random histories: whatever happens, what is replayed is what was, what is counted is what is there, and the next step says the
// same as readiness does.
#include <gtest/gtest.h>

#include "shared/base/random.h"
#include "shared/kinds/project/check.h"
#include "tests/unit/kinds/project/happenings.h"

namespace acl::project {
namespace {

using test::Happen;
using test::ProjectDriver;

constexpr int kHistories = 10'000, kCommands = 14;

// nullopt: all is well.
std::optional<std::string> Wrong(const ProjectDriver& project) {
  const Work work = ReadWork(project.state);
  const AllWork source(work);
  std::map<std::string, int> open;
  bool startable = false;
  for (const auto& [id, task] : work.tasks) {
    if (!task.withdrawn && task.status != TaskStatus::kDone) ++open[task.goal];
    if (task.claim && task.status != TaskStatus::kDoing) return id + " is held and not being done";
    if (task.status == TaskStatus::kDoing && !task.withdrawn && !task.claim) return id + " is being done by nobody";
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
