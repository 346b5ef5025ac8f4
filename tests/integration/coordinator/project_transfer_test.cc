// Projects out and in again, on both stores: the same events, the same work, the same digest; all of it or nothing that anybody sees.
#include "coordinator/projects/transfer.h"

#include <gmock/gmock.h>

#include <thread>

#include "coordinator/projects/store_desk.h"
#include "shared/base/random.h"
#include "shared/base/sha256.h"
#include "shared/kinds/project/project_kind.h"
#include "tests/support/faulty_store.h"
#include "tests/support/memory_project_names.h"
#include "tests/support/store_conformance.h"

namespace acl::coordinator {
namespace {

using test::StoreFactory;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TransferConformance : public test::StoreConformance {
 protected:
  void SetUp() override {
    StoreConformance::SetUp();
    names_ = test::NamesOf(store(), queries(), clock_);
    desk_ = std::make_unique<StoreDesk>(store(), queries(), *names_, *kind_, ids_);
  }

  ProjectTransfer Transfer(std::size_t batch_events = 3) {
    return {store(), queries(), *names_, *kind_, ids_, {.batch_events = batch_events, .batch_bytes = 1u << 20}};
  }
  void Must(const ProjectId& project, const std::string& name, Json arguments) {
    auto done = desk_->Execute(project, {{name, std::move(arguments), "ann"}, std::nullopt, std::nullopt});
    ASSERT_TRUE(done) << done.error();
    ASSERT_FALSE(done->refused) << name << ": " << done->refused->message;
  }
  // A goal, four tasks, a claim that may run out, a checkpoint, a withdrawal.
  ProjectId Book() {
    auto done = desk_->Create({{"create_project", {{"name", "book"}}, "ann"}, std::nullopt, std::nullopt});
    EXPECT_TRUE(done && !done->refused);
    const ProjectId project = done->project;
    Must(project, "create_goal", {{"text", "Write the book"}});
    for (int n = 1; n <= 4; ++n) Must(project, "add_task", {{"goal_id", "g1"}, {"title", "Chapter " + std::to_string(n)}});
    Must(project, "edit_task", {{"task_id", "t2"}, {"depends_on", {"t1"}}});
    Must(project, "start_task", {{"task_id", "t1"}, {"claim_seconds", 600}});
    Must(project, "update_checkpoint",
         {{"task_id", "t1"}, {"where_we_left_off", "The first page is written."}, {"next_step", "Write page two"}});
    Must(project, "withdraw_task", {{"task_id", "t4"}});
    return project;
  }
  std::string Exported(const std::string& name) {
    auto lines = Transfer().Export(name, [](std::size_t) { return Status(); });
    EXPECT_TRUE(lines) << lines.error();
    return lines ? *lines : "";
  }
  Result<ProjectTransfer::Imported> Import(const std::string& lines, const std::optional<std::string>& as = "copy") {
    return Transfer().Import(lines, {as, "ben"});
  }
  // So many batches of it, then the database is away.
  ProjectId CutOff(const std::string& lines, int batches) {
    test::FaultyStore faulty(store(), 1, {});
    int left = batches;
    faulty.SetHook([&](std::string_view function, bool done) {
      if (function == "Command" && done && --left == 0) faulty.SetDown(true);
    });
    ProjectTransfer transfer(faulty, queries(), *names_, *kind_, ids_, {.batch_events = 2, .batch_bytes = 1u << 20});
    auto cut = transfer.Import(lines, {"copy", "ben"});
    EXPECT_EQ(cut.code(), Code::kUnavailable);
    EXPECT_THAT(cut.message(), HasSubstr("the import is unfinished, " + std::to_string(2 * batches) + " of 10 events are there"));
    return names_->Reserve("copy", ids_.New<ProjectId>())->id;
  }
  std::vector<Event> EventsOf(const std::string& lines) { return project::ReadExport(lines)->events; }

  SystemClock clock_;
  SystemRandom random_;
  Uuid7Maker ids_{clock_, random_};
  std::shared_ptr<const CommandKind> kind_ = project::MakeProjectKind();
  std::unique_ptr<ProjectNames> names_;
  std::unique_ptr<StoreDesk> desk_;
};

TEST_P(TransferConformance, OutInAndOutAgainItIsTheSameHistory) {
  const ProjectId book = Book();
  const std::string lines = Exported("book");
  auto imported = Import(lines);
  ASSERT_TRUE(imported) << imported.error();
  ASSERT_FALSE(imported->refused) << imported->refused->message;
  EXPECT_NE(imported->project, book);
  auto origin = desk_->Read(book), copy = desk_->Read(imported->project);
  ASSERT_TRUE(origin && copy) << copy.error();
  EXPECT_EQ((*copy)->state.Root(), (*origin)->state.Root());
  EXPECT_EQ((*copy)->head_seq, (*origin)->head_seq + 1);
  EXPECT_EQ((*copy)->head_seq, imported->head_seq);
  EXPECT_EQ(desk_->Find("copy")->id, imported->project);

  const std::vector<Event> first = EventsOf(lines), again = EventsOf(Exported("copy"));
  ASSERT_EQ(again.size(), first.size() + 1);
  EXPECT_EQ(again.front().type, project::kImported);
  const Json said = ParseJson(*again.front().payload).value();
  EXPECT_EQ(said.at("origin").at("project_id"), book.ToString());
  EXPECT_EQ(said.at("origin").at("chain_head"), ToHex((*origin)->chain));
  EXPECT_EQ(said.at("export_digest"), ToHex(Sha256(lines)));
  for (std::size_t n = 0; n < first.size(); ++n) {
    EXPECT_EQ(again[n + 1].type, first[n].type);
    EXPECT_EQ(again[n + 1].payload, first[n].payload);
    EXPECT_EQ(again[n + 1].content_hash, first[n].content_hash);
  }
  // And a copy of the copy.
  auto third = Import(Exported("copy"), "third");
  ASSERT_TRUE(third && !third->refused) << third.error();
  EXPECT_EQ((*desk_->Read(third->project))->state.Root(), (*origin)->state.Root());
}

TEST_P(TransferConformance, TheCopyIsWorkedOnAndItsClaimsRunOut) {
  Book();
  auto imported = Import(Exported("book"));
  ASSERT_TRUE(imported && !imported->refused);
  Must(imported->project, "add_task", {{"goal_id", "g1"}, {"title", "Five"}});
  auto timers = queries().Timers(SubjectId{imported->project.uuid});
  ASSERT_TRUE(timers);
  ASSERT_EQ(timers->size(), 1u);
  EXPECT_EQ(timers->front().timer_id, "claim:t1");
  Advance(milliseconds(601'000));
  ASSERT_GE(store().FireTimers(10)->fired, 1);
  Must(imported->project, "start_task", {{"task_id", "t1"}});
  EXPECT_EQ((*desk_->Read(imported->project))->work().tasks.at("t1").claim->token, 2);
}

TEST_P(TransferConformance, IntoANameThatIsTakenItIsRefusedAndNothingIsWritten) {
  const ProjectId book = Book();
  const std::string lines = Exported("book");
  auto refused = Import(lines, std::nullopt);
  ASSERT_TRUE(refused) << refused.error();
  ASSERT_TRUE(refused->refused);
  EXPECT_EQ(refused->refused->reason, "EXISTS");
  EXPECT_THAT(refused->refused->message, HasSubstr("another name"));
  EXPECT_EQ(Exported("book"), lines);
  ASSERT_FALSE(Import(lines)->refused);
  EXPECT_EQ(Import(lines)->refused->reason, "EXISTS") << "the same lines twice are two projects, not one";
  EXPECT_EQ(Import(lines, "")->refused->reason, "FORM");
  EXPECT_EQ(desk_->List("", 10)->size(), 2u);
  EXPECT_EQ((*desk_->Read(book))->head_seq, 10);
}

TEST_P(TransferConformance, SaidAgainUnderItsKeyItIsTheSame) {
  Book();
  const std::string lines = Exported("book");
  const auto asked = [](const std::string& key) { return ProjectTransfer::Asked{"copy", "ben", key}; };
  auto first = Transfer().Import(lines, asked("k1")), again = Transfer().Import(lines, asked("k1"));
  ASSERT_TRUE(first && again && !again->refused) << again.error();
  EXPECT_FALSE(first->replayed);
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(again->project, first->project);
  EXPECT_EQ(again->head_seq, first->head_seq);
  EXPECT_EQ(Transfer().Import(lines, asked("k2"))->refused->reason, "EXISTS");
  EXPECT_THAT(Transfer().Import(Exported("copy"), asked("k1")).message(), HasSubstr("the request key was used"));
}

TEST_P(TransferConformance, AChangedByteIsRefusedWithItsLineBeforeANameIsTaken) {
  Book();
  std::string lines = Exported("book");
  const std::size_t third = lines.find('\n', lines.find('\n') + 1) + 1;
  lines[lines.find("Write", third)] = 'w';
  const auto refused = Import(lines);
  EXPECT_EQ(refused.code(), Code::kInvalid);
  EXPECT_THAT(refused.message(), StartsWith("line 3: "));
  EXPECT_EQ(desk_->Find("copy").code(), Code::kNotFound);
  auto taken = desk_->Create({{"create_project", {{"name", "copy"}}, "ann"}, std::nullopt, std::nullopt});
  ASSERT_TRUE(taken);
  EXPECT_FALSE(taken->refused);
}

// Cut off between two batches: nobody sees it, nobody gets its name, and the same lines finish it.
TEST_P(TransferConformance, WhatIsCutOffIsNotThereUntilTheSameLinesFinishIt) {
  Book();
  const std::string lines = Exported("book");
  Must(desk_->Find("book")->id, "pause_task", {{"task_id", "t1"}});
  const std::string others = Exported("book");
  const ProjectId half = CutOff(lines, 2);
  EXPECT_EQ(desk_->Find("copy").code(), Code::kNotFound);
  EXPECT_EQ(desk_->Find(half.ToString()).code(), Code::kNotFound);
  EXPECT_EQ(desk_->List("", 10)->size(), 1u);
  auto other = Import(others);
  ASSERT_TRUE(other && other->refused) << other.error();
  EXPECT_EQ(other->refused->reason, "UNFINISHED");
  auto made = desk_->Create({{"create_project", {{"name", "copy"}}, "ann"}, std::nullopt, std::nullopt});
  ASSERT_TRUE(made && made->refused);
  EXPECT_EQ(made->refused->reason, "EXISTS");

  auto finished = Import(lines);
  ASSERT_TRUE(finished && !finished->refused) << finished.error();
  EXPECT_EQ(finished->project, half);
  EXPECT_EQ((*desk_->Read(half))->state.Root(), finished->state_root);
  EXPECT_EQ(Journal(SubjectId{half.uuid}).size(), std::size_t(finished->head_seq));
  EXPECT_EQ(desk_->Find("copy")->id, half);
}

// Answers that are lost, requests that are: asked again, each event is there once.
TEST_P(TransferConformance, ThroughFaultsEachEventIsThereOnce) {
  Book();
  const std::string lines = Exported("book");
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    test::FaultyStore faulty(store(), seed, {.unavailable = 0.15, .lost_request = 0.15, .lost_answer = 0.15});
    ProjectTransfer transfer(faulty, queries(), *names_, *kind_, ids_, {.batch_events = 2, .batch_bytes = 1u << 20});
    const std::string name = "copy " + std::to_string(seed);
    Result<ProjectTransfer::Imported> imported = Error{};
    for (int tries = 0; tries < 50 && !imported; ++tries) imported = transfer.Import(lines, {name, "ben"});
    ASSERT_TRUE(imported) << imported.error();
    const auto there = desk_->Find(name);
    ASSERT_TRUE(there) << there.error();
    EXPECT_EQ(Journal(SubjectId{there->id.uuid}).size(), 11u);
    EXPECT_EQ((*desk_->Read(there->id))->state.Root(), project::ReadExport(lines)->state.Root());
  }
}

TEST_P(TransferConformance, SeveralAtOnceMakeOne) {
  Book();
  const std::string lines = Exported("book");
  std::vector<std::thread> threads;
  std::vector<Result<ProjectTransfer::Imported>> results(3, Error{});
  for (auto& result : results) {
    threads.emplace_back([&] {
      for (int tries = 0; tries < 20; ++tries) {
        result = Transfer(1).Import(lines, {"copy", "ben"});
        if (result || result.code() != Code::kUnavailable) return;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const ProjectId copy = desk_->Find("copy")->id;
  for (const auto& result : results) {
    ASSERT_TRUE(result) << result.error();
    EXPECT_EQ(result->project, copy);
  }
  EXPECT_EQ(Journal(SubjectId{copy.uuid}).size(), project::ReadExport(lines)->events.size() + 1);
  EXPECT_EQ((*desk_->Read(copy))->state.Root(), (*desk_->Read(desk_->Find("book")->id))->state.Root());
}

INSTANTIATE_TEST_SUITE_P(, TransferConformance, testing::ValuesIn(test::AllStores()), test::FactoryName);

}  // namespace
}  // namespace acl::coordinator
