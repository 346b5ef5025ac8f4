#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "shared/base/random.h"
#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"

namespace acl {
namespace {

// FIPS 180-4's examples.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(ToHex(Sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(ToHex(Sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(ToHex(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(ToHex(Sha256(std::string(1'000'000, 'a'))), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Short texts go another way than long ones, and a stream a third.
TEST(Sha256, EveryLengthHashesLikeAStream) {
  std::string text;
  Sha256Stream stream;
  for (int length = 0; length <= 400; ++length, text += char(length * 37)) {
    stream.Add(text);
    const Hash256 wanted = stream.Finish();
    ASSERT_EQ(Sha256(text), wanted) << length;
    const auto cut = std::string_view(text).substr(text.size() / 3);
    ASSERT_EQ(Sha256({std::string_view(text).substr(0, text.size() / 3), std::string_view(), cut}), wanted) << length;
  }
}

TEST(Sha256, PartsHashLikeTheWhole) {
  EXPECT_EQ(Sha256({"ab", "", "c"}), Sha256("abc"));
  EXPECT_EQ(Sha256({}), Sha256(""));
}

class SetClock final : public Clock {
 public:
  WallTime Wall() const override { return wall; }
  SteadyTime Steady() const override { return SteadyTime{}; }
  WallTime wall = WallTimeFromMicros(1'763'771'760'123'456);
};

std::int64_t MillisOf(const Uuid& uuid) {
  std::int64_t ms = 0;
  for (size_t i = 0; i < 6; ++i) ms = ms << 8 | uuid.bytes[i];
  return ms;
}

TEST(Uuid7, CarriesTimeVersionAndVariant) {
  SetClock clock;
  SeededRandom random(1);
  Uuid uuid = Uuid7Maker(clock, random).Make();
  EXPECT_EQ(MillisOf(uuid), 1'763'771'760'123);
  EXPECT_EQ(uuid.bytes[6] >> 4, 7);
  EXPECT_EQ(uuid.bytes[8] >> 6, 2);
}

TEST(Uuid7, OnlyGrowsWithinAMillisecondAndWhenTheClockIsSetBack) {
  SetClock clock;
  SeededRandom random(7);
  Uuid7Maker maker(clock, random);
  Uuid last = maker.Make();
  for (int i = 0; i < 20'000; ++i) {
    if (i == 10'000) clock.wall -= std::chrono::hours(1);
    Uuid next = maker.Make();
    ASSERT_LT(last, next) << "at " << i;
    last = next;
  }
  EXPECT_LT(MillisOf(last), 1'763'771'760'123 + 20);
}

TEST(Uuid7, DistinctAcrossThreads) {
  std::vector<std::vector<Uuid>> made(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : made)
      threads.emplace_back([&mine] {
        for (int i = 0; i < 2'000; ++i) mine.push_back(NewUuid7());
      });
  }
  std::set<Uuid> all;
  for (auto& mine : made) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 8'000u);
}

TEST(Random, SystemDiffersSeededRepeats) {
  SystemRandom system;
  EXPECT_NE(system.Next(), system.Next());
  SeededRandom a(42), b(42);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(a.Next(), b.Next());
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_LT(a.Below(7), 7u);
    double unit = a.Unit();
    EXPECT_TRUE(unit >= 0 && unit < 1);
  }
}

TEST(Sha256Stream, PiecesAreTheWholeAndItBeginsAnew) {
  Sha256Stream stream;
  for (int round = 0; round < 2; ++round) {
    stream.Add("ab");
    stream.Add("");
    stream.Add("c");
    EXPECT_EQ(ToHex(stream.Finish()), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  }
  EXPECT_EQ(stream.Finish(), Sha256(""));
}

}  // namespace
}  // namespace acl
