// An agenda says what ChooseNext says, whatever happened, and whichever state it is asked of next.
#include "shared/kinds/project/agenda.h"

#include <gtest/gtest.h>

#include "shared/base/random.h"
#include "shared/journal/difference.h"
#include "tests/unit/kinds/project/happenings.h"

namespace acl::project {
namespace {

using test::ProjectDriver;

constexpr int kAgendaHistories = 500, kAgendaCommands = 60;

void Same(Agenda& agenda, const Document& state, const std::string& where) {
  for (const char* actor : {"ann", "bo", ""}) {
    ASSERT_EQ(ToJson(agenda.Choose(state, actor)), ToJson(ChooseNext(state, actor))) << where << ", asked by \"" << actor << "\"";
  }
}

TEST(Agenda, SaysWhatReadingEveryTaskSays) {
  for (int seed = 1; seed <= kAgendaHistories; ++seed) {
    SeededRandom random(std::uint64_t(seed) * 6151);
    ProjectDriver project;
    Agenda agenda;
    std::vector<Document> states;
    for (int i = 0; i < kAgendaCommands; ++i) {
      test::Happen(random, project);
      states.push_back(project.state);
      // Sometimes of a state of before, as after a commit that was lost.
      if (random.Below(8) == 0) Same(agenda, states[random.Below(states.size())], "an earlier state, seed " + std::to_string(seed));
      if (random.Below(3) != 0) Same(agenda, project.state, "seed " + std::to_string(seed) + ", command " + std::to_string(i));
      if (HasFatalFailure()) return;
    }
    Same(agenda, project.Replayed(), "a state of no common origin, seed " + std::to_string(seed));
    Same(agenda, Document(), "nothing, seed " + std::to_string(seed));
    if (HasFatalFailure()) return;
  }
}

TEST(Agenda, OnlyTheFirstAreListed) {
  ProjectDriver project;
  project.Do("create_goal", {{"text", "goal"}});
  for (int i = 0; i < 5; ++i) project.Do("add_task", {{"goal_id", "g1"}, {"title", "task"}});
  Agenda agenda;
  EXPECT_EQ(agenda.Choose(project.state, "ann", 2).open_tasks, (std::vector<std::string>{"t1", "t2"}));
  EXPECT_EQ(agenda.Choose(project.state, "ann").open_tasks.size(), 5u);
}

}  // namespace
}  // namespace acl::project
