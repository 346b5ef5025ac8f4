// The last command taken back by a compensating one.
#include "shared/kinds/project/undo.h"

#include <gmock/gmock.h>

#include "shared/kinds/project/check.h"
#include "tests/unit/kinds/project/happenings.h"

namespace acl::project {
namespace {

using test::Happen;
using test::ProjectDriver;
using testing::HasSubstr;

Event EventOf(const EventDraft& draft, std::size_t seq) {
  Event event;
  event.seq = std::int64_t(seq);
  event.type = draft.type;
  event.payload = draft.facts.dump();
  return event;
}

std::vector<Event> EventsOf(const ProjectDriver& project) {
  std::vector<Event> events;
  for (const EventDraft& draft : project.events) events.push_back(EventOf(draft, events.size() + 1));
  return events;
}

// Undoes the last command of `project`, whose state before it was `before`.
Inverse Undone(ProjectDriver& project, const Document& before, const std::string& by = "ann") {
  const std::vector<Event> events = EventsOf(project);
  const Event* last = LastCommand(events);
  if (last == nullptr) return {};
  Inverse inverse = InverseOf(*last, ReadWork(before), by, "a slip");
  if (inverse.command) {
    EXPECT_EQ(project.Refused(inverse.command->name, inverse.command->arguments, by), "") << last->type;
  }
  return inverse;
}

// What people see of the work: without counters, claims, orders and times, which go on.
Json Seen(const Document& state) {
  const Work work = ReadWork(state);
  Json seen = Json::object();
  for (const auto& [id, goal] : work.goals)
    if (!goal.withdrawn) seen[id] = {goal.text, goal.priority, NameOf(goal.status), goal.open_tasks};
  for (const auto& [id, task] : work.tasks) {
    if (task.withdrawn) continue;
    Json blockers = Json::array();
    for (const Blocker& one : task.blockers) blockers.push_back(one.text);
    seen[id] = {task.title,    task.goal, NameOf(task.status), task.priority, task.depends_on, task.acceptance_criteria,
                task.evidence, blockers};
  }
  for (const auto& [id, point] : work.checkpoints)
    seen["checkpoint " + id] = {point.where_we_left_off, point.next_step, point.context_refs, point.tried, point.pending};
  return seen;
}

class UndoTest : public ::testing::Test {
 protected:
  UndoTest() {
    project.Do("create_goal", {{"text", "Write"}});
    for (const char* title : {"one", "two"}) project.Do("add_task", {{"goal_id", "g1"}, {"title", title}});
  }
  // Does it and undoes it: what people see is as before.
  void ThereAndBack(const std::string& name, Json arguments) {
    const Document before = project.state;
    project.Do(name, std::move(arguments));
    EXPECT_NE(Seen(project.state), Seen(before)) << name;
    const Inverse inverse = Undone(project, before);
    EXPECT_TRUE(inverse.command) << name << ": " << (inverse.refused ? inverse.refused->message : "");
    EXPECT_EQ(Seen(project.state), Seen(before)) << name;
  }
  std::string WhyNot(const std::string& name, Json arguments) {
    const Document before = project.state;
    project.Do(name, std::move(arguments));
    const Inverse inverse = Undone(project, before);
    return inverse.refused ? inverse.refused->message : "";
  }
  ProjectDriver project;
};

TEST_F(UndoTest, EachCommandThatCanBeTakenBack) {
  ThereAndBack("create_goal", {{"text", "Print"}});
  ThereAndBack("edit_goal", {{"goal_id", "g1"}, {"text", "Write well"}, {"priority", 0}});
  ThereAndBack("pause_goal", {{"goal_id", "g1"}});
  ThereAndBack("finish_goal", {{"goal_id", "g1"}, {"force", true}, {"reason", "enough"}});
  ThereAndBack("add_task", {{"goal_id", "g1"}, {"title", "three"}});
  ThereAndBack("edit_task", {{"task_id", "t2"},
                             {"title", "second"},
                             {"priority", 0},
                             {"depends_on", {"t1"}},
                             {"acceptance_criteria", {"it is read"}},
                             {"evidence", {"person"}}});
  ThereAndBack("start_task", {{"task_id", "t1"}});
  project.Do("start_task", {{"task_id", "t1"}});
  ThereAndBack("pause_task", {{"task_id", "t1"}});
  ThereAndBack("block_task", {{"task_id", "t1"}, {"blocker", "no ink"}});
  ThereAndBack("complete_task", {{"task_id", "t1"}});
  project.Do("update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "Page 1."}, {"next_step", "Write page 2"}});
  ThereAndBack("update_checkpoint",
               {{"task_id", "t1"}, {"where_we_left_off", "Page 9."}, {"next_step", "Write page 10"}, {"tried", {"a pencil"}}});
  project.Do("block_task", {{"task_id", "t1"}, {"blocker", "no ink"}});
  ThereAndBack("block_task", {{"task_id", "t1"}, {"blocker", "no paper"}});
  ThereAndBack("start_task", {{"task_id", "t1"}, {"resolved", "there is some"}});
  ThereAndBack("resolve_blocker", {{"task_id", "t1"}, {"blocker_id", project.TaskOf("t1").blockers.front().id}});
}

TEST_F(UndoTest, WhatCannotBeTakenBackSaysWhatToDoInstead) {
  EXPECT_THAT(WhyNot("withdraw_task", {{"task_id", "t2"}}), HasSubstr("add the task again"));
  project.Do("start_task", {{"task_id", "t1"}});
  EXPECT_THAT(WhyNot("renew_claim", {{"task_id", "t1"}}), HasSubstr("pausing the task"));
  EXPECT_THAT(WhyNot("update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "Page 1."}, {"next_step", "Write page 2"}}),
              HasSubstr("first checkpoint"));
  project.Do("complete_task", {{"task_id", "t1"}});
  EXPECT_THAT(WhyNot("reopen_task", {{"task_id", "t1"}}), HasSubstr("complete the task"));
}

TEST_F(UndoTest, OnlyWhoSaidItTakesItBackAndRefusalsStandBehindIt) {
  const Document before = project.state;
  project.Do("add_task", {{"goal_id", "g1"}, {"title", "three"}}, "bo");
  EXPECT_EQ(project.Refused("start_task", {{"task_id", "t3"}, {"resolved", "x"}}), "FORM");
  EXPECT_EQ(project.Refused("complete_task", {{"task_id", "t2"}}), "INVALID_TRANSITION") << "on record, and no command";
  const Inverse anns = Undone(project, before);
  ASSERT_TRUE(anns.refused);
  EXPECT_EQ(anns.refused->reason, "NOT_YOURS");
  EXPECT_THAT(anns.refused->message, HasSubstr("bo said it"));
  EXPECT_TRUE(Undone(project, before, "bo").command);
  EXPECT_TRUE(project.TaskOf("t3").withdrawn);
}

// Whatever happened: an undo is decided like any command, and what it leaves is sound.
TEST(UndoHistories, LeaveWhatWasBefore) {
  int undone = 0;
  for (int seed = 1; seed <= 1'500; ++seed) {
    SeededRandom random(std::uint64_t(seed) * 6'151);
    ProjectDriver project;
    for (int i = 0; i < 14; ++i) {
      const Document before = project.state;
      const std::size_t events = project.events.size();
      Happen(random, project);
      const std::vector<Event> all = EventsOf(project);
      const Event* last = LastCommand(std::span(all).subspan(events));
      if (last == nullptr) continue;
      const std::string by = CommandSaid(*last)["by"];
      const Inverse inverse = InverseOf(*last, ReadWork(before), by, "");
      ASSERT_NE(inverse.command.has_value(), inverse.refused.has_value());
      if (!inverse.command) continue;
      // It may be refused by the state (a task that others need meanwhile): then nothing has changed.
      if (!project.Refused(inverse.command->name, inverse.command->arguments, by).empty()) continue;
      ++undone;
      ASSERT_EQ(Seen(project.state), Seen(before)) << "seed " << seed << ": " << last->type << " by " << inverse.command->name;
      const Status sound = CheckState(project.state);
      ASSERT_TRUE(sound) << "seed " << seed << ": " << sound.message();
    }
  }
  EXPECT_GT(undone, 1'000);
}

}  // namespace
}  // namespace acl::project
