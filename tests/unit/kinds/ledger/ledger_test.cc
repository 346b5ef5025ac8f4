// A project's ledger: facts are proposed, ratified and retracted; nobody asks for more than the account has.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "shared/kinds/ledger/evolve.h"
#include "shared/kinds/ledger/ledger_kind.h"

namespace acl::ledger {
namespace {

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() {
    Decided created;
    created.events.push_back(Created("ann", now_));
    Take(std::move(created));
  }

  // The reason of its refusal; empty: none.
  std::string Do(const Json& command) {
    now_ += std::chrono::seconds(1);
    return Take(Decide(state_, command, now_));
  }
  std::string Take(Decided decided) {
    for (const EventDraft& draft : decided.events) {
      Delta delta = Evolve(state_, draft);
      const Status applied = state_.Apply(delta);
      EXPECT_TRUE(applied.ok()) << draft.type << ": " << applied.message();
      types_.push_back(draft.type);
    }
    answer_ = decided.answer;
    details_ = decided.refused ? decided.refused->details : Json();
    return decided.refused ? decided.refused->reason : "";
  }
  std::string Propose(const std::string& claim) {
    EXPECT_EQ(Do({{"name", "propose_fact"}, {"claim", claim}, {"source", "turn:1"}, {"by", "ann"}}), "");
    return answer_.at("fact_id");
  }
  std::string Reserve(const std::string& id, std::int64_t micros) {
    return Do({{"name", "reserve"}, {"call_id", id}, {"micros", micros}, {"expires", FormatWallTime(now_ + std::chrono::minutes(5))}});
  }

  WallTime now_{std::chrono::seconds(1'800'000'000)};  // 2027-01-15T08:00:00Z
  Document state_;
  std::vector<std::string> types_;
  Json answer_, details_;
};

TEST_F(LedgerTest, AFactIsRatifiedOnceAndMayBeRetracted) {
  const std::string id = Propose("UNKNOWN domains are a risk");
  EXPECT_EQ(id, "ledger:000001");
  EXPECT_EQ(Do({{"name", "ratify_fact"}, {"fact_id", id}, {"by", "bob"}}), "");
  EXPECT_EQ(FindFact(state_, id)->status, FactStatus::kRatified);
  EXPECT_EQ(Do({{"name", "ratify_fact"}, {"fact_id", id}, {"by", "bob"}}), "NOT_PROPOSED");
  EXPECT_EQ(types_.back(), events::kRefused);
  EXPECT_EQ(Do({{"name", "retract_fact"}, {"fact_id", id}, {"by", "bob"}}), "FORM");  // why?
  EXPECT_EQ(Do({{"name", "retract_fact"}, {"fact_id", id}, {"reason", "it was wrong"}, {"by", "bob"}}), "");
  EXPECT_EQ(FindFact(state_, id)->status, FactStatus::kRetracted);
  EXPECT_EQ(Do({{"name", "ratify_fact"}, {"fact_id", "ledger:000009"}, {"by", "bob"}}), "NOT_FOUND");
}

TEST_F(LedgerTest, AContradictedFactMustBeThere) {
  const std::string id = Propose("the port is 80");
  Json command = {{"name", "propose_fact"}, {"claim", "the port is 81"}, {"source", "turn:2"}, {"by", "ann"}, {"contradicts", {id}}};
  EXPECT_EQ(Do(command), "");
  command["contradicts"] = {"ledger:000077"};
  EXPECT_EQ(Do(command), "NOT_FOUND");
  EXPECT_EQ(FindLedger(state_)->facts, 2);
}

TEST_F(LedgerTest, SaysWhichBudgetAndWhatIsLeft) {
  ASSERT_EQ(Do({{"name", "set_budget"}, {"limit_micros", 1'000}, {"period", "day"}, {"by", "ann"}}), "");
  ASSERT_EQ(Reserve("c1", 700), "");
  EXPECT_EQ(Reserve("c2", 301), "BUDGET");
  EXPECT_EQ(details_.at("budget"), "project");
  EXPECT_EQ(details_.at("reserved_micros"), 700);
  EXPECT_EQ(details_.at("resets_at"), "2027-01-16T00:00:00.000000Z");
  ASSERT_EQ(Reserve("c2", 300), "");
  ASSERT_EQ(Do({{"name", "settle"}, {"call_id", "c1"}, {"micros", 10}}), "");
  EXPECT_EQ(FindLedger(state_)->account.spent_micros, 10);
  EXPECT_EQ(Reserve("c3", 690), "");
  now_ += std::chrono::hours(24);
  ASSERT_EQ(Do({{"name", "settle"}, {"call_id", "c2"}, {"micros", 5}}), "");
  EXPECT_EQ(FindLedger(state_)->account.spent_micros, 5);  // of the new day
}

// What was spent since ever is not what was spent today.
TEST_F(LedgerTest, AShorterPeriodBeginsWithNothingSpent) {
  ASSERT_EQ(Reserve("c1", 700), "");
  ASSERT_EQ(Do({{"name", "settle"}, {"call_id", "c1"}, {"micros", 700}}), "");
  ASSERT_EQ(Reserve("c2", 50), "");
  now_ += std::chrono::hours(24 * 40);
  ASSERT_EQ(Do({{"name", "set_budget"}, {"limit_micros", 1'000}, {"period", "day"}, {"by", "ann"}}), "");
  EXPECT_EQ(FindLedger(state_)->account.spent_micros, 0);
  EXPECT_EQ(FindLedger(state_)->account.reserved_micros, 50) << "what is under way stays set aside";
  ASSERT_EQ(Reserve("c3", 900), "");
  ASSERT_EQ(Do({{"name", "settle"}, {"call_id", "c3"}, {"micros", 900}}), "");
  ASSERT_EQ(Do({{"name", "set_budget"}, {"limit_micros", 1'000}, {"period", "month"}, {"by", "ann"}}), "");
  EXPECT_EQ(FindLedger(state_)->account.spent_micros, 900) << "a longer one holds what the shorter one had";
}

TEST_F(LedgerTest, WhatIsNeverSettledCountsAsSpent) {
  ASSERT_EQ(Reserve("c1", 700), "");
  EXPECT_EQ(Take(DecideExpired(state_, "hold:c1", now_)), "");
  EXPECT_TRUE(FindHold(state_, "c1"));
  EXPECT_EQ(Take(DecideExpired(state_, "hold:c1", now_ + std::chrono::minutes(6))), "");
  EXPECT_FALSE(FindHold(state_, "c1"));
  EXPECT_EQ(FindLedger(state_)->account.spent_micros, 700);
  EXPECT_EQ(FindLedger(state_)->account.reserved_micros, 0);
}

// However many ask, and in whatever order calls end: never more than the limit is promised and spent together.
TEST_F(LedgerTest, NobodyOverspends) {
  ASSERT_EQ(Do({{"name", "set_budget"}, {"limit_micros", 10'000}, {"period", "total"}, {"by", "ann"}}), "");
  std::mt19937 random(7);
  std::vector<std::pair<std::string, std::int64_t>> held;
  int refused = 0;
  for (int n = 0; n < 2'000; ++n) {
    if (random() % 2 == 0) {
      const std::int64_t micros = 1 + std::int64_t(random() % 400);
      const std::string id = "c" + std::to_string(n);
      if (Reserve(id, micros).empty()) {
        held.emplace_back(id, micros);
      } else {
        ++refused;
      }
    } else if (!held.empty()) {
      const std::size_t at = random() % held.size();
      EXPECT_EQ(Do({{"name", "settle"}, {"call_id", held[at].first}, {"micros", held[at].second * std::int64_t(random() % 2)}}), "");
      held.erase(held.begin() + std::ptrdiff_t(at));
    }
    const Account account = FindLedger(state_)->account;
    ASSERT_LE(account.reserved_micros + account.spent_micros, 10'000);
    ASSERT_GE(account.reserved_micros, 0);
  }
  EXPECT_GT(refused, 100);
}

TEST(LedgerIds, AreMadeOfTheProject) {
  const ProjectId project = kDefaultProject;
  EXPECT_EQ(LedgerOf(project), LedgerOf(project));
  EXPECT_NE(LedgerOf(project).uuid, project.uuid);
}

}  // namespace
}  // namespace acl::ledger
