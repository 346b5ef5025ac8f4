// Money: what calls cost, and that nobody spends what is not there.
#include "shared/aegis/provider/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <random>
#include <thread>

namespace acl::aegis {
namespace {

using testing::HasSubstr;

const WallTime kNow = *ParseWallTime("2026-11-27T10:00:00Z");

Budgets With(Micros limit, BudgetPeriod period = BudgetPeriod::kForever) {
  Budgets budgets;
  budgets.lines["project/p"] = {.limit = limit, .period = period};
  return budgets;
}
bool Granted(const Result<std::optional<BudgetRefusal>>& answer) { return answer && !*answer; }

TEST(Prices, MoneyIsReadAndWrittenExactly) {
  for (const auto& [text, micros] : std::vector<std::pair<std::string, Micros>>{
           {"0", 0}, {"2.5", 2'500'000}, {"0.000001", 1}, {"15", 15'000'000}, {"999999999.999999", 999'999'999'999'999}}) {
    const auto parsed = ParseMoney(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, micros);
    EXPECT_EQ(FormatMoney(micros), text);
  }
  EXPECT_EQ(FormatMoney(-1), "-0.000001");
  for (const char* bad : {"", ".", "1.", ".5", "-1", "1e3", "1.0000001", "1234567890", " 1", "1,5"}) EXPECT_FALSE(ParseMoney(bad)) << bad;
}

TEST(Prices, TheRowThatBindsAtThatTimeCounts) {
  const auto table = ParsePrices(*ParseJson(R"([
      {"model":"m-1","from":"2026-01-01T00:00:00Z","prompt":"1","completion":"2"},
      {"model":"m-1","from":"2026-06-01T00:00:00Z","prompt":"3","cached":"0.3","completion":"4"},
      {"model":"m-*","from":"2026-02-01T00:00:00Z","prompt":"9","completion":"9"}])"),
                                 "EUR");
  ASSERT_TRUE(table) << table.message();
  const auto prompt = [&](const char* model, const char* when) {
    const auto price = table->At(model, *ParseWallTime(when));
    return price ? price->prompt : -1;
  };
  EXPECT_EQ(prompt("m-1", "2025-12-31T23:59:59Z"), -1);
  EXPECT_EQ(prompt("m-1", "2026-05-31T23:59:59Z"), 1'000'000);
  EXPECT_EQ(prompt("m-1", "2026-06-01T00:00:00Z"), 3'000'000);
  EXPECT_EQ(prompt("m-2", "2026-06-01T00:00:00Z"), 9'000'000);
  EXPECT_EQ(prompt("other", "2026-06-01T00:00:00Z"), -1) << "no price is no price, not zero";
  EXPECT_EQ(table->version.size(), 64u);
  EXPECT_EQ(table->At("m-1", kNow)->cached, 300'000);
}

TEST(Prices, AWrongRowIsRefusedWithItsPlace) {
  const auto wrong = [](const char* rows) {
    const auto table = ParsePrices(*ParseJson(rows), "USD");
    return table ? "" : table.message();
  };
  EXPECT_THAT(wrong(R"([{"model":"m","from":"2026-01-01T00:00:00Z","prompt":2,"completion":"2"}])"),
              HasSubstr("prices[0]: prompt must be a string"));
  EXPECT_THAT(wrong(R"([{"model":"m","from":"soon","prompt":"2","completion":"2"}])"), HasSubstr("from: write a time"));
  EXPECT_THAT(wrong(R"([{"model":"m","from":"2026-01-01T00:00:00Z","prompt":"2"}])"), HasSubstr("completion is missing"));
  EXPECT_THAT(wrong(R"([{"modle":"m"}])"), HasSubstr("'modle' is unknown"));
  EXPECT_THAT(wrong(R"([{"model":"m","from":"2026-01-01T00:00:00Z","prompt":"2","completion":"2"},
                        {"model":"m","from":"2026-01-01T00:00:00Z","prompt":"3","completion":"2"}])"),
              HasSubstr("prices[1]: a row of this model and this time"));
}

TEST(Prices, CostsAreRoundedUpOnceAndNeverLeave64Bits) {
  const TokenPrice price{.prompt = 3'000'000, .cached = 300'000, .cache_written = 3'750'000, .completion = 15'000'000};
  EXPECT_EQ(CostOf({.prompt = 1'000, .completion = 100}, price), 3'000 + 1'500);
  EXPECT_EQ(CostOf({.prompt = 1'000, .completion = 0, .cached = 900, .cache_written = 50}, price), 150 + 270 + 188) << "187.5 and a half";
  EXPECT_EQ(CostOf({.prompt = 1}, {.prompt = 1}), 1) << "a part of a millionth is one";
  EXPECT_EQ(CostOf({}, price), 0);
  EXPECT_GT(CostOf({.prompt = 1'000'000'000'000, .completion = 1'000'000'000'000}, {.prompt = INT64_MAX, .completion = INT64_MAX}), 0);
}

TEST(Budget, TheWorstCaseIsNeverLessThanWhatIsBilled) {
  ModelRequest request{.messages = {{Role::kUser, "The capital of France?"}}, .max_tokens = 12};
  const TokenPrice price{.prompt = 1'000'000, .cached = 100'000, .cache_written = 1'250'000, .completion = 2'000'000};
  const auto estimate = WorstCase(request, price);
  EXPECT_GE(estimate.prompt_tokens, 35) << "what llama.cpp counts, its template included";
  EXPECT_GE(estimate.cost, CostOf({.prompt = 35, .completion = 12, .cache_written = 35}, price));
  const auto before = estimate.prompt_tokens;
  request.tools = {{"a", "b", Json{{"type", "object"}}}};
  EXPECT_GT(WorstCase(request, price).prompt_tokens, before);
  EXPECT_EQ(AmountToReserve(estimate, {.most_attempts = 3}), estimate.cost);
  EXPECT_EQ(AmountToReserve(estimate, {.most_attempts = 3, .when_unknown = true}), 3 * estimate.cost);
}

TEST(Budget, SettlementIsByUsageAndByTheWorstCaseWhereNobodyKnows) {
  const TokenPrice price{.prompt = 1'000'000, .cached = 1'000'000, .cache_written = 1'000'000, .completion = 1'000'000};
  const SpendEstimate estimate{.cost = 500};
  ModelAnswer answer;
  answer.usage = {.prompt = 20, .completion = 10};
  EXPECT_EQ(SettlementOf(answer, estimate, price).cost, 30);
  EXPECT_FALSE(SettlementOf(answer, estimate, price).estimated);
  EXPECT_FALSE(SettlementOf(answer, estimate, price).over);
  EXPECT_TRUE(SettlementOf(answer, {.cost = 29}, price).over);
  answer.unknown_attempts = 1;
  EXPECT_EQ(SettlementOf(answer, estimate, price).cost, 530);
  EXPECT_TRUE(SettlementOf(answer, estimate, price).estimated);
  answer = {.usage_missing = true};
  EXPECT_EQ(SettlementOf(answer, estimate, price).cost, 500);
  EXPECT_TRUE(SettlementOf(answer, estimate, price).estimated);
  const auto failed = [&](Ran ran) { return SettlementOf(ModelFailure{.code = Failure::kTimedOut, .ran = ran}, estimate, price); };
  EXPECT_EQ(failed(Ran::kNo).cost, 0);
  EXPECT_EQ(failed(Ran::kMaybe).cost, 500);
  EXPECT_EQ(failed(Ran::kYes).cost, 500);
  EXPECT_TRUE(failed(Ran::kMaybe).estimated);
}

TEST(Budget, ARefusalSaysEverything) {
  Budgets budgets = With(1'000'000, BudgetPeriod::kMonth);
  budgets.lines["session/s"] = {.limit = 200'000};
  ASSERT_TRUE(Granted(Reserve(budgets, "x1", {"project/p"}, 600'000, kNow)));
  ASSERT_TRUE(Settle(budgets, "x1", 550'000, kNow));
  ASSERT_TRUE(Granted(Reserve(budgets, "x2", {"project/p"}, 400'000, kNow)));
  const auto refused = Reserve(budgets, "x3", {"session/s", "project/p"}, 60'000, kNow);
  ASSERT_TRUE(refused && *refused);
  const BudgetRefusal& why = **refused;
  EXPECT_EQ(why.budget, "project/p");
  EXPECT_EQ(why.limit, 1'000'000);
  EXPECT_EQ(why.spent, 550'000);
  EXPECT_EQ(why.reserved, 400'000);
  EXPECT_EQ(why.resets_at, ParseWallTime("2026-12-01T00:00:00Z"));
  EXPECT_EQ(
      why.Text("USD"),
      "budget project/p: 0.06 USD are asked for, 0.05 of 1 are left (0.55 spent, 0.4 reserved by calls on their way); it begins anew at "
      "2026-12-01T00:00:00.000000Z");
  EXPECT_EQ(budgets.lines["session/s"].reserved, 0) << "all or none";
}

TEST(Budget, TheSameExchangeReservesAndSettlesOnce) {
  Budgets budgets = With(100);
  ASSERT_TRUE(Granted(Reserve(budgets, "x", {"project/p", "project/p"}, 60, kNow)));
  ASSERT_TRUE(Granted(Reserve(budgets, "x", {"project/p"}, 60, kNow))) << "a replay";
  EXPECT_EQ(budgets.lines["project/p"].reserved, 60);
  EXPECT_TRUE(Settle(budgets, "x", 50, kNow));
  EXPECT_FALSE(Settle(budgets, "x", 50, kNow));
  EXPECT_FALSE(Release(budgets, "x", kNow));
  EXPECT_EQ(budgets.lines["project/p"].spent, 50);
  EXPECT_EQ(budgets.lines["project/p"].reserved, 0);
}

TEST(Budget, APeriodBeginsAnewAndAClockSetBackBringsNoOldOne) {
  Budgets budgets = With(100, BudgetPeriod::kDay);
  ASSERT_TRUE(Granted(Reserve(budgets, "x", {"project/p"}, 100, kNow)));
  ASSERT_TRUE(Settle(budgets, "x", 100, kNow));
  EXPECT_FALSE(Granted(Reserve(budgets, "y", {"project/p"}, 1, kNow)));
  const WallTime tomorrow = kNow + std::chrono::hours(24);
  ASSERT_TRUE(Granted(Reserve(budgets, "y", {"project/p"}, 100, tomorrow)));
  EXPECT_FALSE(Granted(Reserve(budgets, "z", {"project/p"}, 1, kNow))) << "the clock went back";
  ASSERT_TRUE(Settle(budgets, "y", 40, tomorrow));
  EXPECT_EQ(budgets.lines["project/p"].spent, 40);
}

TEST(Budget, AReservationThatOutlivesItsPeriodStaysReserved) {
  Budgets budgets = With(100, BudgetPeriod::kDay);
  ASSERT_TRUE(Granted(Reserve(budgets, "x", {"project/p"}, 80, kNow)));
  const WallTime tomorrow = kNow + std::chrono::hours(24);
  EXPECT_FALSE(Granted(Reserve(budgets, "y", {"project/p"}, 30, tomorrow)));
  ASSERT_TRUE(Settle(budgets, "x", 70, tomorrow));
  EXPECT_EQ(budgets.lines["project/p"].spent, 70) << "it counts where it is settled";
}

TEST(Budget, CorrectionsCompensate) {
  Budgets budgets = With(100);
  ASSERT_TRUE(Correct(budgets, "project/p", 90, kNow));
  ASSERT_TRUE(Correct(budgets, "project/p", -40, kNow));
  EXPECT_EQ(budgets.lines["project/p"].spent, 50);
  ASSERT_TRUE(Correct(budgets, "project/p", -80, kNow));
  EXPECT_EQ(budgets.lines["project/p"].spent, 0);
  EXPECT_EQ(Correct(budgets, "project/none", 1, kNow).code(), Code::kNotFound);
  EXPECT_EQ(Correct(budgets, "project/p", INT64_MIN, kNow).code(), Code::kInvalid);
}

TEST(Budget, WhatCannotBeIsAnError) {
  Budgets budgets = With(100);
  EXPECT_EQ(Reserve(budgets, "x", {"project/none"}, 1, kNow).code(), Code::kNotFound);
  EXPECT_EQ(Reserve(budgets, "x", {"project/p"}, -1, kNow).code(), Code::kInvalid);
  EXPECT_FALSE(Granted(Reserve(budgets, "x", {"project/p"}, INT64_MAX, kNow)));
  for (std::size_t i = 0; i < kMostReservations; ++i) ASSERT_TRUE(Granted(Reserve(budgets, std::to_string(i), {"project/p"}, 0, kNow)));
  EXPECT_EQ(Reserve(budgets, "x", {"project/p"}, 0, kNow).code(), Code::kExhausted);
  ASSERT_TRUE(Settle(budgets, "0", INT64_MAX, kNow)) << "billed beyond everything";
  EXPECT_FALSE(Granted(Reserve(budgets, "0", {"project/p"}, 1, kNow)));
}

// 64 askers at once over two budgets, each reserving, then settling below its estimate or releasing, in every order that the seeds give.
TEST(Budget, SixtyFourAskersNeverSpendMoreThanThereIs) {
  constexpr Micros kLimit = 10'000;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Budgets budgets = With(kLimit);
    budgets.lines["session/s"] = {.limit = kLimit / 2};
    Micros spent = 0;
    std::vector<std::pair<std::string, Micros>> open;
    int next = 0, refused = 0;
    while (next < 64 || !open.empty()) {
      if (next < 64 && (open.empty() || random() % 2 == 0)) {
        const std::string id = std::to_string(next++);
        const Micros amount = 1 + Micros(random() % 1'000);
        const bool both = random() % 2 == 0;
        const auto names = both ? std::vector<std::string>{"project/p", "session/s"} : std::vector<std::string>{"project/p"};
        const auto answer = Reserve(budgets, id, names, amount, kNow);
        ASSERT_TRUE(answer);
        if (*answer) {
          ++refused;
        } else {
          open.emplace_back(id, amount);
        }
      } else {
        const std::size_t which = random() % open.size();
        const auto [id, amount] = open[which];
        open.erase(open.begin() + std::ptrdiff_t(which));
        if (random() % 4 == 0) {
          ASSERT_TRUE(Release(budgets, id, kNow));
        } else {
          const Micros cost = Micros(random() % std::uint64_t(amount + 1));
          spent += cost;
          ASSERT_TRUE(Settle(budgets, id, cost, kNow));
        }
      }
      for (const auto& [name, line] : budgets.lines) ASSERT_LE(line.spent + line.reserved, line.limit) << name << ", seed " << seed;
    }
    EXPECT_EQ(budgets.lines["project/p"].spent, spent);
    EXPECT_EQ(budgets.lines["project/p"].reserved + budgets.lines["session/s"].reserved, 0);
    EXPECT_TRUE(budgets.reservations.empty());
  }
}

// The same with threads, as a store would do it: each change of the state under its lock, the calls themselves outside of it.
TEST(Budget, SixtyFourThreadsNeverSpendMoreThanThereIs) {
  Budgets budgets = With(10'000);
  std::mutex mutex;
  std::atomic<Micros> spent{0};
  std::vector<std::thread> askers;
  for (int asker = 0; asker < 64; ++asker) {
    askers.emplace_back([&, asker] {
      for (int i = 0; i < 20; ++i) {
        const std::string id = std::to_string(asker) + "." + std::to_string(i);
        {
          std::lock_guard lock(mutex);
          if (!Granted(Reserve(budgets, id, {"project/p"}, 100, kNow))) continue;
        }
        std::this_thread::yield();
        spent += 90;
        std::lock_guard lock(mutex);
        Settle(budgets, id, 90, kNow);
      }
    });
  }
  for (auto& asker : askers) asker.join();
  EXPECT_EQ(budgets.lines["project/p"].spent, spent);
  EXPECT_LE(spent, 10'000);
  EXPECT_EQ(budgets.lines["project/p"].reserved, 0);
}

}  // namespace
}  // namespace acl::aegis
