// What an export says is taken whole or not at all: read back it is the same history, and a byte that changes is found in its line.
#include "shared/kinds/project/export.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "shared/base/random.h"
#include "shared/kernel/fold.h"
#include "shared/kinds/project/project_kind.h"
#include "tests/unit/kinds/project/project_driver.h"

namespace acl::project {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A history as a journal has it.
class Journal {
 public:
  Journal() {
    test::ProjectDriver driver;
    driver.Do("create_goal", {{"text", "Write the book \xF0\x9F\x93\x96"}});
    driver.Do("add_task", {{"goal_id", "g1"}, {"title", "One \"quoted\" line"}});
    driver.Do("add_task", {{"goal_id", "g1"}, {"title", "Two"}, {"depends_on", {"t1"}}});
    driver.Do("start_task", {{"task_id", "t1"}, {"claim_seconds", 600}});
    driver.Do("update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "It is begun."}, {"next_step", "Write page two"}});
    const auto kind = MakeProjectKind();
    Hash256 chain = ChainStart(SubjectId{header.project.uuid});
    for (const EventDraft& draft : driver.events) {
      auto event = FoldDraft(*kind, state, draft);
      EXPECT_TRUE(event) << event.message();
      event->subject = SubjectId{header.project.uuid};
      event->seq = std::int64_t(events.size()) + 1;
      event->token = Token{100 + event->seq};
      event->timestamp = draft.at;
      Seal(*event, chain);
      chain = event->chain;
      events.push_back(std::move(*event));
    }
    Reseal();
  }

  // Header and lines of the events as they are.
  void Reseal() {
    Hash256 chain = ChainStart(SubjectId{header.project.uuid});
    for (Event& event : events) {
      Seal(event, chain);
      chain = event.chain;
    }
    header.head_seq = std::int64_t(events.size());
    header.chain_head = chain;
    header.state_root = state.Root();
  }
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines{ExportLine(header)};
    for (const Event& event : events) lines.push_back(ExportLine(event));
    return lines;
  }

  ExportHeader header{*ProjectId::Parse("0190f5fe-7c00-7a00-8000-0123456789ab"), "book", 0, {}, {}};
  std::vector<Event> events;
  Document state;
};

std::string Joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line;
  return all;
}

TEST(Export, ReadBackItIsTheSameHistory) {
  const Journal journal;
  auto read = ReadExport(Joined(journal.Lines()));
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->events, journal.events);
  EXPECT_EQ(read->state.Root(), journal.state.Root());
  EXPECT_EQ(read->header.name, "book");
  ASSERT_EQ(ClaimTimers(read->state).size(), 1u);
  EXPECT_EQ(ClaimTimers(read->state).front().timer_id, "claim:t1");
}

// Every line, every place, what a flipped bit and what another byte makes of it.
TEST(Export, AByteThatChangesIsFoundInItsLine) {
  const std::vector<std::string> lines = Journal().Lines();
  SeededRandom random(7);
  for (std::size_t number = 0; number < lines.size(); ++number) {
    for (std::size_t at = 0; at < lines[number].size(); ++at) {
      std::vector<std::string> changed = lines;
      char& byte = changed[number][at];
      const char before = byte;
      byte = char(byte ^ (1 << random.Below(8)));
      if (at % 3 == 0) byte = " \"0a}\n\\\x80"[random.Below(8)];
      if (byte == before) continue;
      auto read = ReadExport(Joined(changed));
      ASSERT_FALSE(read) << "line " << number + 1 << ", byte " << at;
      ASSERT_EQ(read.code(), Code::kInvalid);
      ASSERT_THAT(read.message(), StartsWith("line " + std::to_string(number + 1) + ": ")) << "byte " << at << ": " << changed[number];
    }
  }
}

TEST(Export, LinesThatAreMissingMovedOrTooManyAreRefused) {
  const std::vector<std::string> lines = Journal().Lines();
  const auto refused = [](const std::vector<std::string>& some) { return ReadExport(Joined(some)).message(); };
  EXPECT_THAT(refused({}), StartsWith("line 1: "));
  for (std::size_t number = 0; number < lines.size(); ++number) {
    std::vector<std::string> without = lines, twice = lines;
    without.erase(without.begin() + std::ptrdiff_t(number));
    twice.insert(twice.begin() + std::ptrdiff_t(number), lines[number]);
    EXPECT_THAT(refused(without), StartsWith("line " + std::to_string(number + 1) + ": "));
    EXPECT_THAT(refused(twice), StartsWith("line " + std::to_string(number + 2) + ": "));
  }
  EXPECT_THAT(refused({lines.begin(), lines.end() - 1}), HasSubstr("cut off"));
  std::string cut = Joined(lines);
  cut.pop_back();
  EXPECT_THAT(ReadExport(cut).message(), HasSubstr("it has no end"));
}

// Sealed as it should be, by somebody who made it: it must still be what the header says, and a project.
TEST(Export, ASoundChainOfWhatIsNoProjectIsRefused) {
  Journal journal;
  journal.header.state_root = Document().Root();
  EXPECT_THAT(ReadExport(Joined(journal.Lines())).message(), HasSubstr("\"state_root\""));
  journal = Journal();
  journal.header.chain_head = Hash256{};
  EXPECT_THAT(ReadExport(Joined(journal.Lines())).message(), HasSubstr("\"chain_head\""));
  journal = Journal();
  journal.events.resize(1);
  journal.events[0].payload = DumpJson({{"name", "book"}});
  journal.state = Document();
  journal.Reseal();
  EXPECT_THAT(ReadExport(Joined(journal.Lines())).message(), HasSubstr("no project"));
  journal = Journal();
  journal.header.schema = EventSchemaVersion() + 1;
  EXPECT_THAT(ReadExport(Joined(journal.Lines())).message(), HasSubstr("import it with a newer one"));
}

TEST(Export, AnotherFormOfTheSameIsRefused) {
  std::vector<std::string> lines = Journal().Lines();
  lines[2].insert(1, " ");
  EXPECT_THAT(ReadExport(Joined(lines)).message(), StartsWith("line 3: not in the form that exports are written in"));
}

}  // namespace
}  // namespace acl::project
