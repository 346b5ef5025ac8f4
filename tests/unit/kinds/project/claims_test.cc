// Several agents on one project: who has a task, until when, and what a late one is told.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/kinds/project/project_driver.h"

namespace acl::project {
namespace {

using test::ProjectDriver;

class ClaimsTest : public ::testing::Test {
 protected:
  ClaimsTest() {
    project_.Do("create_goal", {{"text", "a goal"}});
    for (int i = 0; i < 3; ++i) project_.Do("add_task", {{"goal_id", "g1"}, {"title", "a task"}});
  }
  ProjectDriver project_;
};

TEST_F(ClaimsTest, ASecondActorIsToldWhoHasItAndSinceWhen) {
  project_.Do("start_task", {{"task_id", "t1"}}, "ann");
  for (const char* command : {"start_task", "pause_task", "complete_task", "renew_claim"}) {
    const Decided decided = project_.Try(command, {{"task_id", "t1"}}, "bo");
    ASSERT_TRUE(decided.refused) << command;
    EXPECT_EQ(decided.refused->reason, "CLAIMED") << command;
    EXPECT_NE(decided.refused->message.find("ann has task t1 since 20"), std::string::npos) << decided.refused->message;
  }
  EXPECT_EQ(project_.TaskOf("t1").claim->holder, "ann");
}

TEST_F(ClaimsTest, ChoosingAndClaimingIsOneAndNobodyGetsTheSame) {
  std::set<std::string> given;
  for (const char* actor : {"ann", "bo", "cy"})
    EXPECT_TRUE(given.insert(project_.Do("take_next", Json::object(), actor).at("task_id")).second) << actor;
  const Json none = project_.Do("take_next", Json::object(), "di");
  EXPECT_EQ(none.at("rule"), "propose");
  EXPECT_EQ(none.at("counts").at("doing"), 3);
  EXPECT_EQ(project_.Do("take_next", Json::object(), "ann").at("task_id"), "t1") << "one's own is gone on with";
}

TEST_F(ClaimsTest, WhatRunsOutIsAnEventAndALateHolderIsRefused) {
  const Json claim = project_.Do("start_task", {{"task_id", "t1"}, {"claim_seconds", 60}}).at("claim");
  project_.Do("update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "Half of it."}, {"next_step", "Do the other half"}});
  const Json expire = {{"task_id", "t1"}, {"token", claim.at("token")}};
  project_.Wait(std::chrono::seconds(60));
  project_.Do("expire_claim", expire, "clock");
  EXPECT_EQ(project_.TaskOf("t1").status, TaskStatus::kTodo);
  EXPECT_EQ(project_.Next("bo").next_step, "Do the other half") << "the checkpoint is kept";
  EXPECT_EQ(project_.Refused("complete_task", {{"task_id", "t1"}, {"token", claim.at("token")}}), "LATE_HOLDER");
  const Json second = project_.Do("start_task", {{"task_id", "t1"}}, "bo").at("claim");
  EXPECT_GT(second.at("token"), claim.at("token"));
  EXPECT_EQ(project_.Refused("complete_task", {{"task_id", "t1"}, {"token", claim.at("token")}}, "ann"), "LATE_HOLDER");
  project_.Wait(std::chrono::seconds(10'000));
  project_.Do("expire_claim", expire, "clock");
  EXPECT_EQ(project_.TaskOf("t1").claim->holder, "bo") << "an old claim's time says nothing of a new one";
}

TEST_F(ClaimsTest, TheThirdAbandonmentBlocksInsteadOfFeedingItAgain) {
  for (int i = 1; i <= 3; ++i) {
    const Json claim = project_.Do("start_task", {{"task_id", "t1"}, {"claim_seconds", 1}}).at("claim");
    project_.Wait(std::chrono::seconds(2));
    project_.Do("expire_claim", {{"task_id", "t1"}, {"token", claim.at("token")}}, "clock");
    EXPECT_EQ(project_.TaskOf("t1").status, i < 3 ? TaskStatus::kTodo : TaskStatus::kBlocked) << i;
  }
  EXPECT_NE(project_.TaskOf("t1").blockers.at(0).text.find("abandoned 3 times"), std::string::npos);
  project_.Do("unblock_task", {{"task_id", "t1"}, {"reason", "it is smaller now"}}, "bo");
  EXPECT_EQ(project_.TaskOf("t1").abandoned, 0);
}

TEST_F(ClaimsTest, WhoLookedBeforeItChangedIsToldWhatChanged) {
  const std::int64_t looked = FindProject(project_.state)->order;
  project_.Do("start_task", {{"task_id", "t1"}});
  project_.Do("pause_task", {{"task_id", "t1"}});
  const Decided decided = project_.Try("start_task", {{"task_id", "t1"}, {"as_of", looked}}, "bo");
  ASSERT_TRUE(decided.refused);
  EXPECT_EQ(decided.refused->reason, "CHANGED");
  EXPECT_EQ(decided.refused->details.at("task").at("status"), "todo");
  EXPECT_EQ(project_.Refused("start_task", {{"task_id", "t2"}, {"as_of", looked}}, "bo"), "") << "another task's change is no matter";
}

TEST_F(ClaimsTest, DoneNeedsTheEvidenceThatTheTaskAsksFor) {
  project_.Do("edit_task", {{"task_id", "t1"}, {"evidence", {"check", "person"}}});
  project_.Do("start_task", {{"task_id", "t1"}});
  const Json check = {{"kind", "check"}, {"command", "./dev test"}, {"exit_code", 0}},
             said = {{"kind", "person"}, {"by", "bo"}, {"said", "fine"}};
  const Decided decided = project_.Try("complete_task", {{"task_id", "t1"}, {"evidence", {check}}});
  ASSERT_TRUE(decided.refused);
  EXPECT_EQ(decided.refused->reason, "EVIDENCE_MISSING");
  EXPECT_EQ(decided.refused->details.at("missing"), Json{"person"});
  Json old = said;
  old["at"] = "2020-01-01T00:00:00Z";
  EXPECT_EQ(project_.Refused("complete_task", {{"task_id", "t1"}, {"evidence", {check, old}}}), "STALE_EVIDENCE");
  EXPECT_EQ(project_.Refused("complete_task", {{"task_id", "t1"}, {"evidence", {check, said}}}), "");
}

TEST(IndependentProject, TheHolderAloneCannotSayThatItIsDone) {
  ProjectDriver project(true, "independent");
  project.Do("create_goal", {{"text", "a goal"}});
  project.Do("add_task", {{"goal_id", "g1"}, {"title", "a task"}});
  project.Do("start_task", {{"task_id", "t1"}});
  const Json own = {{"kind", "person"}, {"by", "ann"}, {"said", "it is done"}},
             others = {{"kind", "person"}, {"by", "bo"}, {"said", "it is"}};
  EXPECT_EQ(project.Refused("complete_task", {{"task_id", "t1"}}), "NOT_INDEPENDENT");
  EXPECT_EQ(project.Refused("complete_task", {{"task_id", "t1"}, {"evidence", {own}}}), "NOT_INDEPENDENT");
  EXPECT_EQ(project.Refused("complete_task", {{"task_id", "t1"}, {"evidence", {own, others}}}), "");
}

}  // namespace
}  // namespace acl::project
