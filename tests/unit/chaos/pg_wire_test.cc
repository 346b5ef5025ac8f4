#include "chaos/proxy/pg_wire.h"

#include <gtest/gtest.h>

#include <vector>

namespace acl::chaos {
namespace {

using namespace std::string_literals;

std::string Length(std::size_t n) { return {char(n >> 24), char(n >> 16), char(n >> 8), char(n)}; }
std::string Message(char type, const std::string& payload) { return std::string(1, type) + Length(payload.size() + 4) + payload; }
std::string Startup() { return Length(13) + "\0\3\0\0user\0"s; }
std::string Ssl() { return Length(8) + "\x04\xd2\x16\x2f"s; }
std::string Bind(const std::string& statement) { return Message('B', "\0"s + statement + "\0rest"s); }
std::string Sync() { return Message('S', ""); }

std::vector<PgFrontend::Unit> Units(PgFrontend& front) {
  std::vector<PgFrontend::Unit> all;
  for (PgFrontend::Unit unit; front.Next(&unit);) all.push_back(unit);
  return all;
}

TEST(PgFrontend, ACommitRequestIsOneUnitHoweverItsBytesCome) {
  const std::string commit = Bind("commit.keep") + Message('D', "P\0"s) + Message('E', "\0\0\0\0\0"s) + Sync();
  const std::string all = Startup() + Bind("claim") + Sync() + commit + Message('X', "");
  for (std::size_t piece : {std::size_t(1), std::size_t(3), std::size_t(7), all.size()}) {
    PgFrontend front;
    std::vector<PgFrontend::Unit> units;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      front.Feed(std::string_view(all).substr(at, piece));
      for (auto& unit : Units(front)) units.push_back(std::move(unit));
    }
    ASSERT_EQ(units.size(), 5u);
    EXPECT_FALSE(units[1].commit);
    EXPECT_TRUE(units[3].commit);
    EXPECT_EQ(units[3].bytes, commit);
    std::string joined;
    for (const auto& unit : units) joined += unit.bytes;
    EXPECT_EQ(joined, all) << "not a byte is lost";
  }
}

TEST(PgFrontend, ReadingBackIsNoCommitAndCOMMITIsOne) {
  PgFrontend front;
  front.Feed(Startup() + Bind("commit.read_back") + Sync() + Message('Q', "commit\0"s) + Message('Q', "SELECT 1\0"s));
  const auto units = Units(front);
  ASSERT_EQ(units.size(), 5u);
  EXPECT_FALSE(units[1].commit);
  EXPECT_TRUE(units[3].commit);
  EXPECT_FALSE(units[4].commit);
}

TEST(PgFrontend, KnowsWhenEncryptionIsAskedForBeforeTheStart) {
  PgFrontend front;
  front.Feed(Ssl());
  auto units = Units(front);
  ASSERT_EQ(units.size(), 1u);
  EXPECT_TRUE(units[0].asks_for_encryption);
  front.Feed(Startup() + Bind("commit.run") + Sync());
  units = Units(front);
  ASSERT_EQ(units.size(), 2u);
  EXPECT_TRUE(units[1].commit);
}

TEST(PgBackend, CountsAnswersAndSaysWhetherTheLastFailed) {
  PgBackend back;
  back.ExpectOneByte();
  EXPECT_EQ(back.Feed("N"), 0);
  const std::string good = Message('2', "") + Message('C', "SELECT 1\0"s) + Message('Z', "I"),
                    bad = Message('E', "no\0"s) + Message('Z', "I");
  EXPECT_EQ(back.Feed(good.substr(0, 9)), 0);
  EXPECT_EQ(back.Feed(good.substr(9)), 1);
  EXPECT_FALSE(back.failed());
  EXPECT_EQ(back.Feed(bad), 1);
  EXPECT_TRUE(back.failed());
  EXPECT_EQ(back.Feed(good + good), 2);
  EXPECT_FALSE(back.failed());
}

}  // namespace
}  // namespace acl::chaos
