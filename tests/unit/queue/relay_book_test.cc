#include "shared/queue/relay_book.h"

#include <gtest/gtest.h>

namespace acl {
namespace {

using std::chrono::seconds;

ReadyKey Row(int at, std::uint8_t id = 1, int priority = 1) {
  ReadyKey key;
  key.priority = priority;
  key.ready_at = WallTimeFromMicros(1'000'000 + at);
  key.subject.uuid.bytes.back() = id;
  return key;
}

class RelayBookTest : public ::testing::Test {
 protected:
  // As the relay does with a row it looked up.
  bool Look(RelayBook& book, const ReadyKey& key) {
    if (book.Wanted(now, key) == 0) return false;
    book.Sent(now, key);
    book.Moved(key);
    return true;
  }
  // A whole sweep that finds these rows; those that are to be sent.
  std::vector<ReadyKey> Sweep(RelayBook& book, const std::vector<ReadyKey>& rows) {
    book.BeginSweep(now);
    std::vector<ReadyKey> sent;
    for (const ReadyKey& row : rows) {
      if (!book.Seen(row) || book.Wanted(now, row) == 0) continue;
      book.Sent(now, row);
      sent.push_back(row);
    }
    book.EndSweep(now);
    return sent;
  }
  SteadyTime now{seconds(100)};
};

TEST_F(RelayBookTest, SendsOnceAndMovesItsMark) {
  RelayBook book;
  EXPECT_TRUE(book.Marks(now).empty());
  EXPECT_TRUE(Look(book, Row(1)));
  EXPECT_TRUE(Look(book, Row(5, 2)));
  EXPECT_TRUE(Look(book, Row(3, 3, 0)));
  EXPECT_FALSE(Look(book, Row(5, 2))) << "sent already";
  auto marks = book.Marks(now);
  ASSERT_EQ(marks.size(), 2u) << "a mark for each queue and priority";
  EXPECT_EQ(marks[0].priority, 0);
  EXPECT_EQ(marks[1].ready_at, Row(5).ready_at);
  EXPECT_EQ(marks[1].subject, Row(5, 2).subject);
}

TEST_F(RelayBookTest, BelievesSoManyThatNobodySaw) {
  RelayBook book({.max_hinted = 2});
  const auto tell = [&](const ReadyKey& key) {
    if (book.Wanted(now, key) == 0 || !book.WithinTrustLimit(key)) return false;
    book.Sent(now, key);
    book.Hinted(key);
    return true;
  };
  EXPECT_FALSE(tell(Row(1))) << "of a queue and priority that was not seen";
  EXPECT_TRUE(Look(book, Row(1)));
  EXPECT_TRUE(tell(Row(2)) && tell(Row(3)));
  EXPECT_FALSE(tell(Row(4)));
  EXPECT_FALSE(tell(Row(2))) << "twice";
  EXPECT_FALSE(Look(book, Row(2))) << "sent already";
  book.Moved(Row(2));
  EXPECT_TRUE(tell(Row(4))) << "a look has found one of them";
  EXPECT_FALSE(tell(Row(5)));
  book.Moved(Row(4));
  EXPECT_TRUE(tell(Row(6)));
  EXPECT_FALSE(tell(Row(7)));
  now += seconds(3);
  Sweep(book, {Row(3)});
  EXPECT_TRUE(tell(Row(8))) << "one was seen";
  EXPECT_FALSE(tell(Row(9)));
  now += seconds(3);
  Sweep(book, {Row(3)});
  EXPECT_TRUE(tell(Row(9))) << "nobody found the other one";
  EXPECT_FALSE(tell(Row(10)));
}

TEST_F(RelayBookTest, NowAndThenALookBeginsWhereSomethingMayHaveCommittedLate) {
  RelayBook book({.late_every = milliseconds(40), .late_within = milliseconds(200)});
  const WallTime db_now = Row(1'000'000).ready_at;
  Look(book, Row(990'000));
  Look(book, Row(500'000, 1, 2));
  EXPECT_EQ(book.Marks(now)[0].ready_at, Row(990'000).ready_at) << "the database's time is not known yet";
  book.Heard(now, db_now);
  auto marks = book.Marks(now);
  EXPECT_EQ(marks[0].ready_at, db_now - milliseconds(200));
  EXPECT_TRUE(marks[0].subject.is_nil()) << "whatever is of that very time";
  EXPECT_EQ(marks[1].ready_at, Row(500'000).ready_at) << "what lies longer back than that is the sweep's";
  now += milliseconds(39);
  EXPECT_EQ(book.Marks(now)[0].ready_at, Row(990'000).ready_at);
  now += milliseconds(61);
  EXPECT_EQ(book.Marks(now)[0].ready_at, db_now - milliseconds(100)) << "counted from when it was heard";
  now += milliseconds(5'000);
  marks = book.Marks(now);
  EXPECT_EQ(marks[0].ready_at, Row(990'000).ready_at) << "nothing can be late there any more";
  EXPECT_EQ(marks[0].subject, Row(990'000).subject);
}

// However slow they are: whatever was not there when the last one was answered is looked for by the next.
TEST_F(RelayBookTest, LooksForWhatCommittedLateLeaveNoGap) {
  RelayBook book({.late_every = milliseconds(40), .late_within = milliseconds(200), .sweep_every = milliseconds(2'000)});
  const WallTime db_now = Row(1'000'000).ready_at;
  Look(book, Row(1'000'000));
  book.Heard(now, db_now);
  EXPECT_EQ(book.Marks(now)[0].ready_at, db_now - milliseconds(200));
  book.Looked(now, now + milliseconds(30));
  now += milliseconds(329);
  Look(book, Row(1'300'000));
  EXPECT_EQ(book.Marks(now)[0].ready_at, Row(1'300'000).ready_at) << "a tenth of the time at most";
  now += milliseconds(1);
  EXPECT_EQ(book.Marks(now)[0].ready_at, db_now - milliseconds(200)) << "from where the last began, and it was 330 ms ago";
  now += milliseconds(40);
  EXPECT_EQ(book.Marks(now)[0].ready_at, db_now - milliseconds(200)) << "that one was not answered";
  book.Looked(now, now);
  now += milliseconds(40);
  EXPECT_EQ(book.Marks(now)[0].ready_at, db_now + milliseconds(370 - 200));
  book.Looked(now, now);
  now += milliseconds(60'000);
  Look(book, Row(61'000'000));
  EXPECT_EQ(book.Marks(now)[0].ready_at, db_now + milliseconds(60'410 - 2'000 - 200)) << "what is older is the sweep's";
}

TEST_F(RelayBookTest, WhatWasToldIsNotForgottenBeforeALookCouldFindIt) {
  RelayBook book;
  Look(book, Row(1));
  now += seconds(3);
  Sweep(book, {});
  book.Sent(now, Row(5)), book.Hinted(Row(5));  // behind the mark
  book.Sent(now, Row(6)), book.Hinted(Row(6));
  now += milliseconds(1);
  Sweep(book, {Row(6)});
  EXPECT_EQ(book.out(), 2u);
  EXPECT_FALSE(Look(book, Row(5))) << "sent already";
  now += seconds(3);
  Sweep(book, {});
  EXPECT_EQ(book.out(), 0u) << "looks have long been there";
}

TEST_F(RelayBookTest, AFullPageGoesOnBehindItsLast) {
  RelayBook book;
  Look(book, Row(1'000));
  Look(book, Row(2'000));
  book.Heard(now, Row(2'000).ready_at);
  book.GoOnBehind(Row(1'500, 4));
  EXPECT_EQ(book.Marks(now)[0].ready_at, Row(1'500).ready_at);
  EXPECT_EQ(book.Marks(now)[0].subject, Row(1'500, 4).subject);
  book.BeginPage();
  EXPECT_LT(book.Marks(now)[0].ready_at, Row(1'500).ready_at) << "the next look begins anew";
}

TEST_F(RelayBookTest, ASweepFindsWhatCommittedLate) {
  RelayBook book;
  Look(book, Row(10));
  EXPECT_EQ(Sweep(book, {Row(4, 7), Row(10)}), std::vector<ReadyKey>{Row(4, 7)});
}

TEST_F(RelayBookTest, ASweepLeavesWhatIsBehindTheMarkToTheLook) {
  RelayBook book;
  Look(book, Row(10));
  EXPECT_TRUE(Sweep(book, {Row(10), Row(11, 9), Row(12, 8, 0)}).empty());
  EXPECT_TRUE(Look(book, Row(11, 9)));
}

TEST_F(RelayBookTest, WhatIsClaimedIsForgottenAndMayComeAgain) {
  RelayBook book;
  Look(book, Row(1));
  Look(book, Row(2));
  now += seconds(3);
  Sweep(book, {Row(2)});
  EXPECT_EQ(book.out(), 1u);
  EXPECT_EQ(book.Wanted(now, Row(1)), 1) << "the same key anew, for the first time";
}

TEST_F(RelayBookTest, SentAgainLessAndLessOften) {
  RelayBook book;
  Look(book, Row(1));
  std::vector<int> times;
  std::vector<std::int64_t> at;
  const SteadyTime began = now;
  for (int second = 1; second <= 1000; ++second) {
    now = began + seconds(second);
    const int wanted = book.Wanted(now, Row(1));
    if (wanted == 0) continue;
    times.push_back(wanted);
    at.push_back(second);
    Sweep(book, {Row(1)});
  }
  EXPECT_EQ(times, (std::vector<int>{2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(at, (std::vector<std::int64_t>{5, 15, 35, 75, 155, 315, 615, 915})) << "doubling, at most five minutes apart";
}

TEST_F(RelayBookTest, AFailedSendIsTriedAgainSoon) {
  RelayBook book;
  Look(book, Row(1));
  Sweep(book, {Row(1)});
  book.Failed(now, Row(1));
  EXPECT_EQ(book.Wanted(now, Row(1)), 0);
  now += milliseconds(500);
  EXPECT_TRUE(book.SweepDue(now)) << "no need to wait for the next one in its turn";
  EXPECT_EQ(Sweep(book, {Row(1)}).size(), 1u);
}

TEST_F(RelayBookTest, ItsMemoryIsBounded) {
  RelayBook book({.max_out = 3});
  for (int n = 1; n <= 3; ++n) EXPECT_TRUE(Look(book, Row(n)));
  EXPECT_FALSE(book.room());
  EXPECT_FALSE(Look(book, Row(4))) << "waits in the table";
  EXPECT_EQ(book.Marks(now).front().ready_at, Row(3).ready_at) << "and the mark before it";
  now += seconds(3);
  Sweep(book, {Row(3)});
  EXPECT_TRUE(Look(book, Row(4)));
}

TEST_F(RelayBookTest, ARowSentDuringASweepIsNotForgottenByIt) {
  RelayBook book;
  Look(book, Row(1));
  now += seconds(3);
  book.BeginSweep(now);
  Look(book, Row(2));
  book.EndSweep(now);
  EXPECT_EQ(book.out(), 1u);
  EXPECT_EQ(book.Wanted(now, Row(2)), 0);
}

}  // namespace
}  // namespace acl
