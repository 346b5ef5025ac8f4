// Projects whose journals roll and whose old journals are dropped, on both stores: commands go on, what is remembered goes on, states of
// before are there as far as the journals are, and what is gone is said with its place.
#include <gmock/gmock.h>

#include "coordinator/projects/references.h"
#include "coordinator/projects/store_desk.h"
#include "coordinator/projects/transfer.h"
#include "shared/journal/segment.h"
#include "shared/kinds/project/project_kind.h"
#include "tests/support/memory_project_names.h"
#include "tests/support/store_conformance.h"

namespace acl::coordinator {
namespace {

using ::testing::HasSubstr;

class ProjectJournals : public test::StoreConformance {
 protected:
  static constexpr milliseconds kAnHour{3'600'000};

  void SetUp() override {
    StoreConformance::SetUp();
    names_ = test::NamesOf(store(), queries(), clock_);
    desk_ = NewDesk();
    auto done = desk_->Create({{"create_project", {{"name", "book"}}, "ann"}, std::nullopt, std::nullopt});
    ASSERT_TRUE(done && !done->refused);
    project_ = done->project;
    Must("create_goal", {{"text", "Write the book"}});
  }
  // Another coordinator: a journal ends after ten events.
  std::unique_ptr<StoreDesk> NewDesk() {
    CommandService::Options options;
    options.segment_events = 10;
    return std::make_unique<StoreDesk>(store(), queries(), *names_, *kind_, ids_, options);
  }
  void Must(const std::string& name, Json arguments) {
    auto done = desk_->Execute(project_, {{name, std::move(arguments), "ann"}, std::nullopt, std::nullopt});
    ASSERT_TRUE(done) << done.error();
    ASSERT_FALSE(done->refused) << name << ": " << done->refused->message;
  }
  void AddTasks(int count) {
    for (int n = 0; n < count; ++n) Must("add_task", {{"goal_id", "g1"}, {"title", "Chapter " + std::to_string(++tasks_)}});
  }
  SubjectId subject() const { return SubjectId{project_.uuid}; }
  std::vector<std::int64_t> Starts() {
    std::vector<std::int64_t> starts;
    for (const Event& event : Journal(subject())) {
      if (event.type == kJournalRolled) starts.push_back(event.seq);
    }
    return starts;
  }
  std::string Drop() {
    Advance(2 * kAnHour);
    auto dropped = store().DropSegments(kAnHour, 100);
    return dropped ? std::to_string(dropped->events) : dropped.message();
  }
  std::size_t TasksAt(std::int64_t seq) {
    auto view = desk_->ReadAt(project_, seq, std::nullopt);
    EXPECT_TRUE(view) << view.error();
    return view ? (*view)->work().tasks.size() : 0;
  }

  SystemClock clock_;
  SystemRandom random_;
  Uuid7Maker ids_{clock_, random_};
  std::shared_ptr<const CommandKind> kind_ = project::MakeProjectKind();
  std::unique_ptr<ProjectNames> names_;
  std::unique_ptr<StoreDesk> desk_;
  ProjectId project_;
  int tasks_ = 0;
};

TEST_P(ProjectJournals, CommandsRollThemAndGoOn) {
  AddTasks(28);
  EXPECT_EQ(Starts(), (std::vector<std::int64_t>{11, 21, 31}));
  EXPECT_EQ(View(subject()).head.journal, JournalIdAt(subject(), 31));
  auto other = NewDesk();  // remembers nothing
  auto read = other->Read(project_);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ((*read)->head_seq, 33);
  EXPECT_EQ(TasksAt(10), 8u);
  EXPECT_EQ(TasksAt(11), 8u) << "the event that begins a journal changes nothing";
  EXPECT_EQ(TasksAt(33), 28u);
}

TEST_P(ProjectJournals, TwoCoordinatorsRollOneJournalOnce) {
  auto other = NewDesk();
  for (int n = 0; n < 30; ++n) {
    auto& desk = n % 2 == 0 ? *desk_ : *other;
    auto done =
        desk.Execute(project_, {{"add_task", {{"goal_id", "g1"}, {"title", std::to_string(n)}}, "ann"}, std::nullopt, std::nullopt});
    ASSERT_TRUE(done) << done.error();
  }
  const std::vector<Event> events = Journal(subject());
  std::set<JournalId> journals;
  for (const Event& event : events) journals.insert(event.journal);
  EXPECT_EQ(journals.size(), Starts().size() + 1);
  EXPECT_GE(Starts().size(), 2u);
}

TEST_P(ProjectJournals, WhatWasDroppedIsSaidWithItsPlace) {
  AddTasks(28);
  EXPECT_EQ(Drop(), "30");
  EXPECT_EQ(Starts(), (std::vector<std::int64_t>{31}));
  AddTasks(1);
  auto read = NewDesk()->Read(project_);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ((*read)->work().tasks.size(), 29u);
  EXPECT_EQ(TasksAt(30), 26u) << "the snapshot that the journal begins with";
  EXPECT_EQ(TasksAt(32), 27u);
  const auto before = desk_->ReadAt(project_, 29, std::nullopt);
  EXPECT_EQ(before.code(), Code::kInvalid);
  EXPECT_THAT(before.message(), HasSubstr("events 1 to 30 of " + subject().ToString() + " were dropped"));
  const auto long_ago = desk_->ReadAt(project_, std::nullopt, WallTimeFromMicros(0));
  EXPECT_EQ(long_ago.code(), Code::kInvalid);
  EXPECT_THAT(long_ago.message(), HasSubstr("events 1 to 30"));
  const auto now = desk_->ReadAt(project_, std::nullopt, WallTimeFromMicros(9'000'000'000'000'000));
  EXPECT_TRUE(now) << now.error();
  ProjectTransfer transfer(store(), queries(), *names_, *kind_, ids_);
  const auto lines = transfer.Export("book", [](std::size_t) { return Status(); });
  EXPECT_EQ(lines.code(), Code::kInvalid);
  EXPECT_THAT(lines.message(), HasSubstr("events 1 to 30"));
}

// The origin's journals are not those of the copy: what began one there is another event here, and the copy rolls in its own time.
TEST_P(ProjectJournals, AreExportedAndImported) {
  AddTasks(28);
  ProjectTransfer transfer(store(), queries(), *names_, *kind_, ids_);
  const auto lines = transfer.Export("book", [](std::size_t) { return Status(); });
  ASSERT_TRUE(lines) << lines.error();
  const auto imported = transfer.Import(*lines, {"copy", "ben"});
  ASSERT_TRUE(imported) << imported.error();
  ASSERT_FALSE(imported->refused);
  const SubjectId copy{imported->project.uuid};
  std::set<JournalId> journals;
  int at_origin = 0;
  for (const Event& event : Journal(copy)) {
    journals.insert(event.journal);
    EXPECT_NE(event.type, kJournalRolled);
    at_origin += event.type == project::kOriginRolled ? 1 : 0;
  }
  EXPECT_EQ(journals.size(), 1u);
  EXPECT_EQ(at_origin, 3);
  project_ = imported->project;
  desk_ = NewDesk();
  Must("add_task", {{"goal_id", "g1"}, {"title", "One more"}});
  EXPECT_EQ(Starts().size(), 1u);
  EXPECT_EQ((*NewDesk()->Read(project_))->work().tasks.size(), 29u);
  const auto again = transfer.Export("copy", [](std::size_t) { return Status(); });
  ASSERT_TRUE(again) << again.error();
  EXPECT_TRUE(transfer.Import(*again, {"copy of the copy", "ben"}));
}

INSTANTIATE_TEST_SUITE_P(Stores, ProjectJournals, ::testing::ValuesIn(test::AllStores()), test::FactoryName);

}  // namespace
}  // namespace acl::coordinator
