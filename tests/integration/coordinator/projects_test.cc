// The desk of projects on both stores: commands, what is remembered, what is shown, what two coordinators at once may do.
#include "coordinator/projects/store_desk.h"

#include <gmock/gmock.h>

#include <thread>

#include "coordinator/commands/inbox_job.h"
#include "shared/base/random.h"
#include "shared/kernel/fold.h"
#include "shared/kinds/project/next_step.h"
#include "shared/kinds/project/project_kind.h"
#include "shared/telemetry/metrics.h"
#include "tests/support/memory_project_names.h"
#include "tests/support/store_conformance.h"
#include "tests/unit/kinds/project/golden.h"

namespace acl::coordinator {
namespace {

using test::StoreFactory;

class ProjectsConformance : public test::StoreConformance {
 protected:
  void SetUp() override {
    StoreConformance::SetUp();
    names_ = test::NamesOf(store(), queries(), clock_);
    desk_ = NewDesk();
  }

  // Another coordinator.
  std::unique_ptr<StoreDesk> NewDesk() { return std::make_unique<StoreDesk>(store(), queries(), *names_, *kind_, ids_); }

  ProjectId NewProject(const std::string& name = "book") {
    auto done = desk_->Create({{"create_project", {{"name", name}}, "ann"}, std::nullopt, std::nullopt});
    EXPECT_TRUE(done) << done.error();
    EXPECT_FALSE(done->refused) << done->refused->message;
    return done ? done->project : ProjectId{};
  }
  static ProjectDesk::Asked Ask(const std::string& name, Json arguments, const std::string& by = "ann") {
    return {{name, std::move(arguments), by}, std::nullopt, std::nullopt};
  }
  ProjectDesk::Done Do(StoreDesk& desk, const ProjectId& project, const ProjectDesk::Asked& asked) {
    auto done = desk.Execute(project, asked);
    EXPECT_TRUE(done) << done.error();
    return done ? *done : ProjectDesk::Done{};
  }
  ProjectDesk::Done Must(const ProjectId& project, const std::string& name, Json arguments, const std::string& by = "ann") {
    auto done = Do(*desk_, project, Ask(name, std::move(arguments), by));
    EXPECT_FALSE(done.refused) << name << ": " << done.refused->message;
    return done;
  }
  // One goal, and so many tasks.
  void Fill(const ProjectId& project, int tasks) {
    Must(project, "create_goal", {{"text", "Write the book"}});
    for (int n = 1; n <= tasks; ++n) Must(project, "add_task", {{"goal_id", "g1"}, {"title", "Chapter " + std::to_string(n)}});
  }
  static SubjectId SubjectOf(const ProjectId& project) { return SubjectId{project.uuid}; }
  Tick Settling() {
    return InboxJob({store(), queries(), clock_, metrics_, {}, {}}, {{&desk_->commands(), "project", project::kProjectQueue}},
                    milliseconds(1'000));
  }

  SystemClock clock_;
  SystemRandom random_;
  Uuid7Maker ids_{clock_, random_};
  Metrics metrics_;
  std::shared_ptr<const CommandKind> kind_ = project::MakeProjectKind();
  std::unique_ptr<ProjectNames> names_;
  std::unique_ptr<StoreDesk> desk_;
};

TEST_P(ProjectsConformance, AProjectIsMadeOnceUnderItsName) {
  EXPECT_EQ(desk_->Find("book").code(), Code::kNotFound);
  const ProjectId project = NewProject();
  EXPECT_EQ(desk_->Find("book")->id, project);
  EXPECT_EQ(desk_->Find(project.ToString())->name, "book");
  auto again = desk_->Create(Ask("create_project", {{"name", "book"}}));
  ASSERT_TRUE(again) << again.error();
  ASSERT_TRUE(again->refused);
  EXPECT_EQ(again->refused->reason, "EXISTS");
  NewProject("atlas");
  auto listed = desk_->List("", 10);
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ(listed->at(0).name, "atlas");
  EXPECT_EQ(desk_->List("atlas", 10)->size(), 1u);
}

TEST_P(ProjectsConformance, MadeAgainUnderTheSameKeyItIsTheSame) {
  const ProjectDesk::Asked asked{{"create_project", {{"name", "book"}}, "ann"}, "key-1", std::nullopt};
  auto first = desk_->Create(asked), second = NewDesk()->Create(asked);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->project, second->project);
  EXPECT_FALSE(first->replayed);
  EXPECT_TRUE(second->replayed);
  auto bad = desk_->Create(Ask("create_project", {{"name", ""}}));
  ASSERT_TRUE(bad && bad->refused);
  EXPECT_EQ(bad->refused->reason, "FORM");
}

TEST_P(ProjectsConformance, CommandsMoveTheProjectAndAnotherDeskSeesIt) {
  const ProjectId project = NewProject();
  Fill(project, 2);
  Must(project, "start_task", {{"task_id", "t1"}});
  Must(project, "update_checkpoint",
       {{"task_id", "t1"}, {"where_we_left_off", "The first page is written."}, {"next_step", "Write page two"}});
  auto other = NewDesk();
  auto view = other->Read(project);
  ASSERT_TRUE(view) << view.error();
  EXPECT_EQ((*view)->head_seq, 6);
  EXPECT_EQ((*view)->work().tasks.size(), 2u);
  EXPECT_EQ((*view)->work().checkpoints.at("t1").next_step, "Write page two");
  auto mine = desk_->Read(project);
  ASSERT_TRUE(mine);
  EXPECT_EQ((*mine)->state.Root(), (*view)->state.Root());
  // What the other does is met by the next command here, whatever was remembered.
  Do(*other, project, Ask("block_task", {{"task_id", "t1"}, {"blocker", "The printer is broken"}}));
  auto refused = Do(*desk_, project, Ask("complete_task", {{"task_id", "t1"}}));
  ASSERT_TRUE(refused.refused);
  EXPECT_EQ(refused.refused->reason, "INVALID_TRANSITION");
  EXPECT_EQ(refused.head_seq, 8) << "the refusal is an event";
  auto after = desk_->Read(project);
  ASSERT_TRUE(after);
  EXPECT_EQ((*after)->work().tasks.at("t1").status, project::TaskStatus::kBlocked);
  EXPECT_EQ(project::ChooseNext((*after)->state, "").rule, "blocked");
}

TEST_P(ProjectsConformance, ARepeatGetsTheFirstAnswer) {
  const ProjectId project = NewProject();
  Fill(project, 0);
  ProjectDesk::Asked asked = Ask("add_task", {{"goal_id", "g1"}, {"title", "One"}});
  asked.request_key = "k1";
  const auto first = Do(*desk_, project, asked);
  const auto again = Do(*NewDesk(), project, asked);
  EXPECT_EQ(first.answer.at("task_id"), "t1");
  EXPECT_EQ(again.answer, first.answer);
  EXPECT_EQ(again.head_seq, first.head_seq);
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ((*desk_->Read(project))->work().tasks.size(), 1u);
  asked.command.arguments["title"] = "Another";
  EXPECT_EQ(desk_->Execute(project, asked).code(), Code::kInvalid);
  // So does a refusal.
  ProjectDesk::Asked refused = Ask("complete_task", {{"task_id", "t1"}});
  refused.request_key = "k2";
  const auto no = Do(*desk_, project, refused);
  ASSERT_TRUE(no.refused);
  Must(project, "start_task", {{"task_id", "t1"}});
  const auto still_no = Do(*desk_, project, refused);
  ASSERT_TRUE(still_no.refused);
  EXPECT_EQ(still_no.refused->message, no.refused->message);
}

TEST_P(ProjectsConformance, WhoLookedBeforeIsToldThatItChanged) {
  const ProjectId project = NewProject();
  Fill(project, 1);
  ProjectDesk::Asked asked = Ask("start_task", {{"task_id", "t1"}});
  asked.expected_seq = 2;
  const auto late = Do(*desk_, project, asked);
  ASSERT_TRUE(late.refused);
  EXPECT_EQ(late.refused->reason, "CHANGED");
  EXPECT_EQ(late.refused->details.at("head_seq"), 3);
  asked.expected_seq = 3;
  EXPECT_FALSE(Do(*desk_, project, asked).refused);
}

TEST_P(ProjectsConformance, ManyAtOnceLoseNothingAndTakeEachTaskOnce) {
  constexpr int kTasks = 24, kDesks = 3, kThreads = 4;
  const ProjectId project = NewProject();
  Fill(project, kTasks);
  std::vector<std::unique_ptr<StoreDesk>> desks;
  for (int n = 0; n < kDesks; ++n) desks.push_back(NewDesk());
  std::mutex mutex;
  std::multiset<std::string> taken;
  std::vector<std::thread> threads;
  for (int n = 0; n < kDesks * kThreads; ++n) {
    threads.emplace_back([&, n] {
      for (int round = 0; round < kTasks; ++round) {
        const std::string actor = "agent-" + std::to_string(n) + "-" + std::to_string(round);
        auto done = desks[std::size_t(n % kDesks)]->Execute(project, Ask("take_next", Json::object(), actor));
        if (!done && done.code() == Code::kUnavailable) continue;  // it says: ask again
        ASSERT_TRUE(done) << done.error();
        if (done->answer.value("rule", "") == "propose") return;
        std::lock_guard lock(mutex);
        taken.insert(done->answer.at("task_id"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken.size(), std::size_t(kTasks));
  EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), std::size_t(kTasks)) << "a task was given to two";
  const auto events = Journal(SubjectOf(project));
  EXPECT_EQ(events.size(), std::size_t(2 + 2 * kTasks));
  const auto view = NewDesk()->Read(project);
  ASSERT_TRUE(view);
  for (const auto& [id, task] : (*view)->work().tasks) EXPECT_EQ(task.status, project::TaskStatus::kDoing) << id;
}

TEST_P(ProjectsConformance, AClaimThatRanOutIsAnEventWithoutAnybodyAsking) {
  const ProjectId project = NewProject();
  Fill(project, 1);
  Must(project, "start_task", {{"task_id", "t1"}, {"claim_seconds", 60}});
  Tick settle = Settling();
  ASSERT_TRUE(settle());
  Advance(milliseconds(61'000));
  ASSERT_EQ(store().FireTimers(10)->fired, 1);
  ASSERT_TRUE(settle());
  EXPECT_EQ(Journal(SubjectOf(project)).back().type, "task.claim_expired");
  EXPECT_EQ(harness().UnreadInbox(SubjectOf(project)), 0);
  const auto view = desk_->Read(project);
  ASSERT_TRUE(view);
  EXPECT_EQ((*view)->work().tasks.at("t1").status, project::TaskStatus::kTodo);
  auto queues = queries().ReadyQueues();
  ASSERT_TRUE(queues);
  EXPECT_THAT(*queues, testing::Not(testing::Contains(project::kProjectQueue))) << "what was read is not ready any more";
}

TEST_P(ProjectsConformance, WhatWasPostedIsDecidedBeforeACommand) {
  const ProjectId project = NewProject();
  Fill(project, 1);
  Must(project, "start_task", {{"task_id", "t1"}, {"claim_seconds", 60}});
  Advance(milliseconds(61'000));
  ASSERT_EQ(store().FireTimers(10)->fired, 1);
  const auto done = Must(project, "start_task", {{"task_id", "t1"}}, "ben");
  EXPECT_EQ(done.answer.at("claim").at("token"), 2);
  const auto events = Journal(SubjectOf(project));
  EXPECT_EQ(events[events.size() - 2].type, "task.claim_expired");
  EXPECT_EQ(harness().UnreadInbox(SubjectOf(project)), 0);
}

TEST_P(ProjectsConformance, ARunsEndIsAnEventAndTheJournalStillVerifies) {
  const ProjectId project = NewProject();
  Fill(project, 1);
  Must(project, "start_task", {{"task_id", "t1"}});
  const std::string run = NewUuid7().ToString();
  Must(project, "link_run", {{"task_id", "t1"}, {"run_id", run}});
  InboxPost post = NewPost(SubjectOf(project), "run_ended");
  post.payload = DumpJson({{"from", run},
                           {"head_seq", 12},
                           {"state_root", std::string(64, '1')},
                           {"said", {{"run_id", run}, {"task_id", "t1"}, {"status", "COMPLETED"}}}});
  MustPost(post);
  Tick settle = Settling();
  ASSERT_TRUE(settle());
  const auto view = NewDesk()->Read(project);
  ASSERT_TRUE(view) << view.error();
  const auto& runs = (*view)->work().tasks.at("t1").runs;
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].status, "COMPLETED");
  EXPECT_EQ(runs[0].head_seq, 12);
  EXPECT_EQ(runs[0].state_root, std::string(64, '1'));
  EXPECT_FALSE(Must(project, "complete_task", {{"task_id", "t1"}, {"evidence", {{{"kind", "run"}, {"run_id", run}}}}}).refused);
  // No kind may say a word of the journal's own.
  Document state = (*view)->state;
  EventDraft draft;
  draft.type = "task.run_ended";
  draft.facts = {{"task_id", "t1"}, {"state_root", "x"}};
  EXPECT_EQ(FoldDraft(*kind_, state, std::move(draft)).code(), Code::kInternal);
}

TEST_P(ProjectsConformance, ARenewedClaimDoesNotRunOutByItsOldTimer) {
  const ProjectId project = NewProject();
  Fill(project, 1);
  Must(project, "start_task", {{"task_id", "t1"}, {"claim_seconds", 60}});
  Must(project, "renew_claim", {{"task_id", "t1"}, {"claim_seconds", 600}});
  Advance(milliseconds(61'000));
  EXPECT_EQ(store().FireTimers(10)->fired, 0);
  Must(project, "pause_task", {{"task_id", "t1"}});
  EXPECT_TRUE(queries().Timers(SubjectOf(project))->empty());
}

TEST_P(ProjectsConformance, LongHistoriesHaveSnapshotsAndAreReadAsTheyWere) {
  const ProjectId project = NewProject();
  Fill(project, 40);
  for (int round = 0; round < 30; ++round) {
    Must(project, "start_task", {{"task_id", "t1"}});
    Must(project, "pause_task", {{"task_id", "t1"}});
  }
  EXPECT_TRUE(queries().NewestSnapshot(SubjectOf(project))->has_value());
  const auto now = desk_->Read(project), anew = NewDesk()->Read(project);
  ASSERT_TRUE(now && anew) << anew.error();
  EXPECT_EQ((*now)->state.Root(), (*anew)->state.Root());
  EXPECT_EQ((*now)->chain, (*anew)->chain);
  // The work that was brought up to date is what is read anew.
  EXPECT_EQ(project::ToJson((*now)->work().tasks.at("t1")), project::ToJson((*anew)->work().tasks.at("t1")));
  const auto before = desk_->ReadAt(project, 12, std::nullopt);
  ASSERT_TRUE(before) << before.error();
  EXPECT_EQ((*before)->work().tasks.size(), 10u);
  const auto at_time = desk_->ReadAt(project, std::nullopt, (*before)->head_at);
  ASSERT_TRUE(at_time) << at_time.error();
  EXPECT_GE((*at_time)->head_seq, 12);
  EXPECT_EQ(desk_->ReadAt(project, 10'000, std::nullopt).code(), Code::kInvalid);
}

// Every history of the corpus (tests/unit/kinds/project/golden.h), as a coordinator writes it and as another one reads it.
TEST_P(ProjectsConformance, GoldenHistoriesGiveTheSameNextStep) {
  int number = 0;
  for (const auto& history : project::test::ReadGolden(ACL_SOURCE_DIR)) {
    const ProjectId project = NewProject("history " + std::to_string(++number));
    for (const auto& said : history.said) Do(*desk_, project, Ask(said.name, said.arguments, said.by));
    auto view = NewDesk()->Read(project);
    ASSERT_TRUE(view) << "line " << number << ": " << view.error();
    for (const char* actor : project::test::kGoldenActors) {
      EXPECT_EQ(project::test::Essence((*view)->Next(actor)), history.next[actor]) << "line " << number << ", for '" << actor << "'";
      EXPECT_EQ(project::test::Essence(project::ChooseNext((*view)->state, actor)), history.next[actor]) << "line " << number;
    }
  }
  EXPECT_GE(number, 200);
}

TEST_P(ProjectsConformance, NoIdOfOneProjectAnswersInAnother) {
  const ProjectId one = NewProject("one"), two = NewProject("two");
  Fill(one, 1);
  const auto done = Do(*desk_, two, Ask("start_task", {{"task_id", "t1"}}));
  ASSERT_TRUE(done.refused);
  EXPECT_EQ(done.refused->code, Code::kNotFound);
  const SubjectId run = Create();
  EXPECT_EQ(desk_->Execute(ProjectId{run.uuid}, Ask("create_goal", {{"text", "x"}})).code(), Code::kNotFound) << "no project";
  EXPECT_EQ(desk_->Read(ProjectId{NewUuid7()}).code(), Code::kNotFound);
}

INSTANTIATE_TEST_SUITE_P(, ProjectsConformance, testing::ValuesIn(test::AllStores()), test::FactoryName);

}  // namespace
}  // namespace acl::coordinator
