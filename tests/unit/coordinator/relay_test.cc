#include "coordinator/relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "shared/kernel/memory_queries.h"
#include "tests/support/manual_clock.h"

namespace acl::coordinator {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;

// Ready rows as the test puts them, each with its time, whenever it likes: as transactions that take their time.
class Rows final : public MemoryStore {
 public:
  explicit Rows(const Clock& clock) : MemoryStore(clock), clock_(clock) {}
  Result<DueAnswer> DueReady(std::span<const DueLook> looks, int max) override {
    ++questions;
    if (fails) return Error{Code::kUnavailable, "away"};
    DueAnswer answer;
    for (const DueLook& look : looks) {
      asked.insert(look.shard);
      int of_shard = 0;
      for (const ReadyKey& key : rows) {
        const auto behind = [&](const ReadyKey& mark) {
          return std::tie(key.ready_at, key.subject) > std::tie(mark.ready_at, mark.subject);
        };
        if (key.shard != look.shard || of_shard == max || !std::all_of(look.marks.begin(), look.marks.end(), behind)) continue;
        ++of_shard;
        DueRow row;
        row.key = key;
        answer.rows.push_back(row);
        answer.db_now = clock_.Wall();
      }
    }
    return answer;
  }
  std::set<ReadyKey> rows;
  std::set<int> asked;  // shards
  int questions = 0;
  bool fails = false;

 private:
  const Clock& clock_;
};

class RelayTest : public ::testing::Test {
 protected:
  // The number of the subject, so many milliseconds before now.
  void Put(int subject, milliseconds ago = milliseconds(0), int shard = 0) {
    ReadyKey key;
    key.shard = shard;
    key.ready_at = clock_.Wall() - ago;
    key.subject.uuid.bytes[14] = std::uint8_t(subject / 256), key.subject.uuid.bytes[15] = std::uint8_t(subject % 256);
    rows_.rows.insert(key);
  }
  // What is sent until a tick wants to wait, and for how long.
  std::vector<int> Tick(std::size_t shard = 0) {
    sent_.clear();
    for (int n = 0; n < 20; ++n) {
      const auto wait = relays_[shard].tick();
      EXPECT_TRUE(wait) << wait.message();
      wait_ = wait ? *wait : milliseconds(-1);
      if (wait_ != milliseconds(0)) return sent_;
    }
    ADD_FAILURE() << "never at its end";
    return sent_;
  }

  // Shards 0 and 1 are held, and a row of each was found.
  void SeeTheQueue() {
    Put(1'000, {}, 0), Put(1'001, {}, 1);
    for (const std::size_t shard : {0, 1}) Tick(shard);
    rows_.rows.clear(), rows_.questions = 0;
    sent_.clear(), sent_alone_ = 0;
    clock_.Advance(milliseconds(1));
  }
  // All rows that are there, as who made them ready tells of them.
  std::vector<StepMessage> Hinted() const {
    std::vector<StepMessage> told;
    for (const ReadyKey& key : rows_.rows) told.emplace_back().key = key;
    return told;
  }

  test::ManualClock clock_;
  Rows rows_{clock_};
  MemoryQueries queries_{rows_, clock_};
  Metrics metrics_;
  std::vector<int> sent_;
  int sent_alone_ = 0;
  bool full_ = false;
  milliseconds wait_{0};
  RelayOptions Options() {
    RelayOptions options;
    options.send = [this](const StepMessage& message, int, bool alone, const RelayOptions::Done& done) -> Status {
      sent_alone_ += alone ? 1 : 0;
      if (full_) return Error{Code::kUnavailable, "full"};
      const auto& bytes = message.key.subject.uuid.bytes;
      sent_.push_back(bytes[14] * 256 + bytes[15]);
      done({});
      return {};
    };
    return options;
  }
  Relays made_ = MakeRelays({rows_, queries_, clock_, metrics_, {}, {}}, Options());
  std::vector<Relay>& relays_ = made_.each;
};

// A row has the time of its statement, and comes into sight when that has committed. Before, such a row waited for the sweep: up to two
// seconds.
TEST_F(RelayTest, WhatCommittedLateIsSentSoon) {
  Put(1);
  EXPECT_THAT(Tick(), ElementsAre(1));
  EXPECT_THAT(Tick(), IsEmpty()) << "once";
  EXPECT_GT(wait_, milliseconds(10)) << "what was sent already is nothing new";
  clock_.Advance(milliseconds(50));
  Put(2, milliseconds(60));
  EXPECT_THAT(Tick(), ElementsAre(2));
  EXPECT_EQ(wait_, milliseconds(10)) << "where something was, there may soon be more";
}

TEST_F(RelayTest, WhatCommittedVeryLateIsSentByTheSweep) {
  Put(1);
  EXPECT_THAT(Tick(), ElementsAre(1));
  clock_.Advance(milliseconds(1'000));
  Put(2);
  Put(3, milliseconds(1'500));
  EXPECT_THAT(Tick(), ElementsAre(2));
  clock_.Advance(milliseconds(1'100));
  EXPECT_THAT(Tick(), ElementsAre(3));
}

TEST_F(RelayTest, MoreRowsThanAPageInTheTimeThatIsReadAgain) {
  for (int n = 1; n <= 2'500; ++n) Put(n);
  const auto sent = Tick();
  EXPECT_EQ(sent.size(), 2'500u);
  EXPECT_EQ(std::set<int>(sent.begin(), sent.end()).size(), 2'500u) << "each once";
  clock_.Advance(milliseconds(40));
  Put(2'600, milliseconds(41));
  EXPECT_THAT(Tick(), ElementsAre(2'600)) << "before all that was sent";
  for (int n = 0; n < 3; ++n) {
    clock_.Advance(milliseconds(100));
    EXPECT_THAT(Tick(), IsEmpty()) << "something might have been late";
  }
  clock_.Advance(milliseconds(1'000));
  rows_.questions = 0;
  EXPECT_THAT(Tick(), IsEmpty());
  EXPECT_LE(rows_.questions, 1) << "what is old is not read again and again";
}

TEST_F(RelayTest, TheFirstThatIsHeldLooksForAllThatAre) {
  for (const std::size_t shard : {1, 2, 3}) Tick(shard);
  rows_.asked.clear(), rows_.questions = 0;
  Put(1, {}, 1), Put(2, {}, 2), Put(3, {}, 3), Put(4, {}, 0);
  EXPECT_THAT(Tick(3), IsEmpty()) << "the first does it";
  EXPECT_EQ(rows_.questions, 0);
  EXPECT_THAT(Tick(1), ElementsAre(1, 2, 3));
  EXPECT_EQ(rows_.questions, 1);
  EXPECT_THAT(rows_.asked, ElementsAre(1, 2, 3)) << "shard 0 is somebody else's";
}

TEST_F(RelayTest, WhoHasJustTakenItsJobLooks) {
  Tick(0);
  Put(1, {}, 2);
  EXPECT_THAT(Tick(2), ElementsAre(1));
}

TEST_F(RelayTest, WhoHasLostItsJobIsNotTheFirst) {
  for (const std::size_t shard : {0, 1}) Tick(shard);
  Put(1, {}, 0), Put(2, {}, 1);
  relays_[0].forget();
  EXPECT_THAT(Tick(1), ElementsAre(2));
}

TEST_F(RelayTest, AnotherLooksIfTheFirstIsSilent) {
  for (const std::size_t shard : {0, 1}) Tick(shard);
  Put(1, {}, 0), Put(2, {}, 1);
  clock_.Advance(milliseconds(900));
  EXPECT_THAT(Tick(1), IsEmpty());
  clock_.Advance(milliseconds(101));
  EXPECT_THAT(Tick(1), ElementsAre(1, 2));
  EXPECT_THAT(Tick(1), IsEmpty());
}

TEST_F(RelayTest, APageOfOneShardIsGoneOnWith) {
  for (const std::size_t shard : {0, 2}) Tick(shard);
  for (int n = 1; n <= 1'500; ++n) Put(n, {}, 2);
  Put(1'501);
  EXPECT_EQ(Tick().size(), 1'501u);
}

TEST_F(RelayTest, WhoHasJustTakenItsJobGoesOnBehindAPage) {
  Tick(0);
  for (int n = 1; n <= 2'500; ++n) Put(n, {}, 2);
  EXPECT_EQ(Tick(2).size(), 2'500u);
}

TEST_F(RelayTest, WhatIsToldIsSentWithoutALook) {
  SeeTheQueue();
  Put(1, {}, 0), Put(2, {}, 1), Put(3, {}, 2);
  rows_.questions = 0;
  sent_.clear();
  const auto told = made_.hinted(Hinted());
  EXPECT_TRUE(told.all);
  EXPECT_THAT(sent_, ElementsAre(1, 2));
  ASSERT_EQ(told.others.size(), 1u) << "shard 2 is somebody else's";
  EXPECT_EQ(told.others.front().key.shard, 2);
  EXPECT_TRUE(made_.hinted(Hinted()).all);
  EXPECT_EQ(sent_.size(), 2u) << "told twice, sent once";
  EXPECT_EQ(rows_.questions, 0);
  EXPECT_THAT(Tick(), IsEmpty()) << "a look finds nothing new in them";
  clock_.Advance(milliseconds(10'000));
  EXPECT_TRUE(made_.hinted(Hinted()).all);
  EXPECT_THAT(sent_, IsEmpty()) << "what is sent again is sent as it stands in the table";
  EXPECT_THAT(Tick(), ElementsAre(1)) << "not claimed: the sweep sends it again";
}

// Whatever held up its transaction: a look that begins 200 ms back does not find it, and the sweep comes every two seconds.
TEST_F(RelayTest, WhatCommittedVeryLateIsSentAtOnceIfItIsTold) {
  SeeTheQueue();
  Put(1, milliseconds(1'500));
  EXPECT_THAT(Tick(), IsEmpty());
  EXPECT_TRUE(made_.hinted(Hinted()).all);
  EXPECT_THAT(sent_, ElementsAre(1));
}

TEST_F(RelayTest, WhatIsToldAndCannotBeSentIsLeftForALook) {
  SeeTheQueue();
  Put(1);
  full_ = true;
  EXPECT_FALSE(made_.hinted(Hinted()).all);
  full_ = false;
  EXPECT_THAT(Tick(), ElementsAre(1));
}

// Whoever reaches the doorbell may say anything: no topic comes to be because of it.
TEST_F(RelayTest, WhatIsToldOfAQueueThatNobodySawIsLeftForALook) {
  SeeTheQueue();
  Put(1);
  auto told = Hinted();
  told.front().key.queue = "never-seen";
  EXPECT_FALSE(made_.hinted(told).all);
  EXPECT_THAT(sent_, IsEmpty());
}

TEST_F(RelayTest, WhatIsToldToWhoHasLostItsJobIsNotSent) {
  Tick();
  relays_[0].forget();
  Put(1);
  EXPECT_TRUE(made_.hinted(Hinted()).all);
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_THAT(Tick(), ElementsAre(1)) << "whoever has it next finds it";
}

TEST_F(RelayTest, OneIsSentAlone) {
  SeeTheQueue();
  Put(1);
  EXPECT_TRUE(made_.hinted(Hinted()).all);
  EXPECT_EQ(std::exchange(sent_alone_, 0), 1);
  clock_.Advance(milliseconds(1));
  Put(2), Put(3);
  EXPECT_TRUE(made_.hinted(Hinted()).all);
  EXPECT_EQ(sent_alone_, 0) << "they go together";
  rows_.rows.clear();
  clock_.Advance(milliseconds(1'000));
  Put(4);
  Tick();
  EXPECT_EQ(sent_alone_, 1) << "all that a look found";
}

TEST_F(RelayTest, ALookThatFailedIsMadeAgain) {
  Tick();
  Put(1);
  rows_.fails = true;
  EXPECT_FALSE(relays_[0].tick());
  rows_.fails = false;
  EXPECT_THAT(Tick(), ElementsAre(1));
}

}  // namespace
}  // namespace acl::coordinator
