// Money: what calls may cost, and what they did cost.
#include "shared/aegis/provider/spending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace acl::aegis {
namespace {

using testing::HasSubstr;

const WallTime kNow = *ParseWallTime("2026-11-27T10:00:00Z");

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

TEST(Spending, TheWorstCaseIsNeverLessThanWhatIsBilled) {
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

TEST(Spending, SettlementIsByUsageAndByTheWorstCaseWhereNobodyKnows) {
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

}  // namespace
}  // namespace acl::aegis
