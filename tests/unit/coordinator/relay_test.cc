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
  Result<DueAnswer> DueReady(int, std::span<const ReadyKey> marks, int max) override {
    ++looks;
    DueAnswer answer;
    for (const ReadyKey& key : rows) {
      const auto behind = [&](const ReadyKey& mark) { return std::tie(key.ready_at, key.subject) > std::tie(mark.ready_at, mark.subject); };
      if (int(answer.rows.size()) == max || !std::all_of(marks.begin(), marks.end(), behind)) continue;
      DueRow row;
      row.key = key;
      answer.rows.push_back(row);
      answer.db_now = clock_.Wall();
    }
    return answer;
  }
  std::set<ReadyKey> rows;
  int looks = 0;

 private:
  const Clock& clock_;
};

class RelayTest : public ::testing::Test {
 protected:
  // The number of the subject, so many milliseconds before now.
  void Put(int subject, milliseconds ago = milliseconds(0)) {
    ReadyKey key;
    key.ready_at = clock_.Wall() - ago;
    key.subject.uuid.bytes[14] = std::uint8_t(subject / 256), key.subject.uuid.bytes[15] = std::uint8_t(subject % 256);
    rows_.rows.insert(key);
  }
  // What is sent until a turn wants to wait, and for how long.
  std::vector<int> Turn() {
    sent_.clear();
    for (int n = 0; n < 20; ++n) {
      const auto wait = relay_.turn();
      EXPECT_TRUE(wait) << wait.message();
      wait_ = wait ? *wait : milliseconds(-1);
      if (wait_ != milliseconds(0)) return sent_;
    }
    ADD_FAILURE() << "never at its end";
    return sent_;
  }

  test::ManualClock clock_;
  Rows rows_{clock_};
  MemoryQueries queries_{rows_, clock_};
  Metrics metrics_;
  std::vector<int> sent_;
  milliseconds wait_{0};
  RelayOptions Options() {
    RelayOptions options;
    options.send = [this](const StepMessage& message, int, const RelayOptions::Done& done) -> Status {
      const auto& bytes = message.key.subject.uuid.bytes;
      sent_.push_back(bytes[14] * 256 + bytes[15]);
      done({});
      return {};
    };
    return options;
  }
  Relay relay_ = MakeRelay({rows_, queries_, clock_, metrics_, {}, {}}, Options());
};

// A row has the time of its statement, and comes into sight when that has committed. Before, such a row waited for the sweep: up to two
// seconds.
TEST_F(RelayTest, WhatCommittedLateIsSentSoon) {
  Put(1);
  EXPECT_THAT(Turn(), ElementsAre(1));
  EXPECT_THAT(Turn(), IsEmpty()) << "once";
  EXPECT_GT(wait_, milliseconds(10)) << "what was sent already is nothing new";
  clock_.Advance(milliseconds(50));
  Put(2, milliseconds(60));
  EXPECT_THAT(Turn(), ElementsAre(2));
  EXPECT_EQ(wait_, milliseconds(10)) << "where something was, there may soon be more";
}

TEST_F(RelayTest, WhatCommittedVeryLateIsSentByTheSweep) {
  Put(1);
  EXPECT_THAT(Turn(), ElementsAre(1));
  clock_.Advance(milliseconds(1'000));
  Put(2);
  Put(3, milliseconds(1'500));
  EXPECT_THAT(Turn(), ElementsAre(2));
  clock_.Advance(milliseconds(1'100));
  EXPECT_THAT(Turn(), ElementsAre(3));
}

TEST_F(RelayTest, MoreRowsThanAPageInTheTimeThatIsReadAgain) {
  for (int n = 1; n <= 2'500; ++n) Put(n);
  const auto sent = Turn();
  EXPECT_EQ(sent.size(), 2'500u);
  EXPECT_EQ(std::set<int>(sent.begin(), sent.end()).size(), 2'500u) << "each once";
  clock_.Advance(milliseconds(40));
  Put(2'600, milliseconds(41));
  EXPECT_THAT(Turn(), ElementsAre(2'600)) << "before all that was sent";
  clock_.Advance(milliseconds(1'000));
  rows_.looks = 0;
  EXPECT_THAT(Turn(), IsEmpty());
  EXPECT_LE(rows_.looks, 1) << "what is old is not read again and again";
}

}  // namespace
}  // namespace acl::coordinator
