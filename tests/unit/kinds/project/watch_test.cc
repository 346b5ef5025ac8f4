// Sessions of agents that found nothing to take hear of the next change that may have put something there, once.
#include <gtest/gtest.h>

#include "shared/kernel/post.h"
#include "shared/kinds/project/evolve.h"
#include "tests/unit/kinds/project/project_driver.h"

namespace acl::project::test {
namespace {

constexpr const char *kSession = "01890000-0000-7000-8000-000000000001", *kBySession = "run:01890000-0000-7000-8000-000000000001";
constexpr const char *kOther = "01890000-0000-7000-8000-000000000002", *kByOther = "run:01890000-0000-7000-8000-000000000002";

std::vector<std::string> Woken(const Decided& decided) {
  std::vector<std::string> woken;
  for (const OutboxRow& row : decided.outbox) {
    EXPECT_EQ(row.topic, "post/project_changed");
    woken.push_back(row.key);
  }
  return woken;
}

TEST(ProjectWatchTest, WhoFoundNothingIsWokenByTheNextChangeOnce) {
  ProjectDriver project;
  project.Do("create_goal", {{"text", "Write"}});
  project.Do("take_next", {{"watch", true}}, kBySession);
  project.Do("take_next", {{"watch", true}}, kBySession);
  project.Do("take_next", {{"watch", true}}, kByOther);
  EXPECT_EQ(Watchers(project.state), (std::vector<std::string>{kSession, kOther})) << "each once";
  const Decided added = project.Try("add_task", {{"goal_id", "g1"}, {"title", "One"}});
  EXPECT_EQ(Woken(added), (std::vector<std::string>{kSession, kOther}));
  const Json said = *ParseJson(added.outbox[0].payload);
  EXPECT_EQ(said, (Json{{"event", "task.added"}, {"by", "ann"}, {"of", "t1"}}));
  EXPECT_TRUE(Watchers(project.state).empty());
  EXPECT_TRUE(Woken(project.Try("add_task", {{"goal_id", "g1"}, {"title", "Two"}})).empty());
  EXPECT_EQ(project.Replayed().Root(), project.state.Root());
}

TEST(ProjectWatchTest, WhatAddsNothingWakesNobody) {
  ProjectDriver project;
  project.Do("create_goal", {{"text", "Write"}});
  project.Do("add_task", {{"goal_id", "g1"}, {"title", "One"}});
  project.Do("start_task", {{"task_id", "t1"}});
  project.Do("take_next", {{"watch", true}}, kBySession);
  for (const auto& [name, arguments] :
       {std::pair<const char*, Json>("update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "Here."}, {"next_step", "Go on"}}),
        std::pair<const char*, Json>("renew_claim", {{"task_id", "t1"}}),
        std::pair<const char*, Json>("block_task", {{"task_id", "t1"}, {"blocker", "rain"}})}) {
    EXPECT_TRUE(Woken(project.Try(name, arguments)).empty()) << name;
    EXPECT_EQ(Watchers(project.state).size(), 1U) << name;
  }
  EXPECT_EQ(Woken(project.Try("unblock_task", {{"task_id", "t1"}, {"reason", "sun"}})), std::vector<std::string>{kSession});
}

TEST(ProjectWatchTest, OnlyWhoTakesByItselfMayWatchAndWhoGetsATaskDoesNot) {
  ProjectDriver project;
  EXPECT_EQ(project.Refused("take_next", {{"watch", true}}, "ann"), "FORM");
  project.Do("create_goal", {{"text", "Write"}});
  project.Do("add_task", {{"goal_id", "g1"}, {"title", "One"}});
  project.Do("take_next", {{"watch", true}}, kBySession);
  EXPECT_TRUE(Watchers(project.state).empty());
}

}  // namespace
}  // namespace acl::project::test
