#include "tests/unit/kinds/project/happenings.h"

namespace acl::project::test {
namespace {

std::string Any(Random& random, char letter, int made) { return letter + std::to_string(1 + random.Below(std::uint64_t(made) + 1)); }

}  // namespace

void Happen(Random& random, ProjectDriver& project) {
  const Project made = *FindProject(project.state);
  const std::string task = Any(random, 't', made.tasks), goal = Any(random, 'g', made.goals), actor = random.Below(2) == 0 ? "ann" : "bo";
  switch (random.Below(16)) {
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
    case 13: project.Try("edit_goal", {{"goal_id", goal}, {"priority", random.Below(5)}}, actor); return;
    case 14: {
      const bool task_goes = random.Below(2) == 0;
      project.Try(task_goes ? "withdraw_task" : "edit_task",
                  task_goes ? Json{{"task_id", task}} : Json{{"task_id", task}, {"goal_id", goal}, {"priority", random.Below(5)}}, actor);
      return;
    }
    default: project.Try("expire_claim", {{"task_id", task}, {"token", random.Below(4)}}, "clock"); return;
  }
}

}  // namespace acl::project::test
