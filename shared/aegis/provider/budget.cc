#include "shared/aegis/provider/budget.h"

#include <fmt/format.h>

#include <algorithm>

namespace acl::aegis {
namespace {

// What a chat template adds, at most: to the whole, and to each message, tool or schema.
constexpr std::int64_t kTemplateTokens = 256, kPartTokens = 64;
constexpr Micros kMostCorrection = 1'000'000'000'000'000;

using std::chrono::days;
using std::chrono::floor;

WallTime StartOf(BudgetPeriod period, WallTime now) {
  const auto day = floor<days>(now);
  if (period == BudgetPeriod::kDay) return day;
  if (period == BudgetPeriod::kForever) return WallTime{};
  const std::chrono::year_month_day date(day);
  return std::chrono::sys_days(date.year() / date.month() / std::chrono::day(1));
}

std::optional<WallTime> EndOf(BudgetPeriod period, WallTime start) {
  if (period == BudgetPeriod::kForever) return std::nullopt;
  if (period == BudgetPeriod::kDay) return start + days(1);
  const std::chrono::year_month_day date(floor<days>(start));
  return WallTime(std::chrono::sys_days((date.year() / date.month() + std::chrono::months(1)) / std::chrono::day(1)));
}

// A new period begins with nothing spent. A clock that is set back does not bring an old one again.
void RollOn(BudgetLine& line, WallTime now) {
  const WallTime start = StartOf(line.period, now);
  if (start <= line.period_start) return;
  line.period_start = start;
  line.spent = 0;
}

// Sums stop well within 64 bits, so that what is left of a limit can always be reckoned.
constexpr Micros kMostSpent = INT64_MAX / 4;
Micros AddWithin(Micros a, Micros b) { return a > kMostSpent - std::min(b, kMostSpent) ? kMostSpent : a + b; }

// Ends a reservation, with what its call cost.
bool EndReservation(Budgets& state, const std::string& exchange, Micros cost, WallTime now) {
  const auto found = state.reservations.find(exchange);
  if (found == state.reservations.end()) return false;
  for (const std::string& name : found->second.budgets) {
    const auto line = state.lines.find(name);
    if (line == state.lines.end()) continue;  // was taken away meanwhile
    RollOn(line->second, now);
    line->second.reserved -= found->second.amount;
    line->second.spent = AddWithin(line->second.spent, cost);
  }
  state.reservations.erase(found);
  return true;
}

}  // namespace

SpendEstimate WorstCase(const ModelRequest& request, const TokenPrice& price) {
  SpendEstimate estimate{.prompt_tokens = kTemplateTokens};
  const auto add = [&](std::size_t bytes) { estimate.prompt_tokens += std::int64_t(bytes) + kPartTokens; };
  for (const Message& message : request.messages) {
    add(message.content.size() + message.tool_call_id.size());
    for (const ToolCall& call : message.tool_calls) add(call.id.size() + call.name.size() + call.arguments.size());
  }
  for (const Tool& tool : request.tools) add(tool.name.size() + tool.description.size() + DumpedBytes(tool.parameters));
  if (request.response_schema) add(DumpedBytes(*request.response_schema));
  estimate.completion_tokens = std::max<std::int64_t>(0, request.max_tokens);
  const Micros dearest = std::max({price.prompt, price.cached, price.cache_written});
  estimate.cost = CostOf({.prompt = estimate.prompt_tokens, .completion = estimate.completion_tokens},
                         {.prompt = dearest, .cached = dearest, .cache_written = dearest, .completion = price.completion});
  return estimate;
}

Micros AmountToReserve(const SpendEstimate& estimate, const RetryRules& rules) {
  Micros amount = 0;
  const int runs = rules.when_unknown ? std::max(1, rules.most_attempts) : 1;
  return __builtin_mul_overflow(estimate.cost, Micros(runs), &amount) ? INT64_MAX : amount;
}

Settlement SettlementOf(const ModelResult& result, const SpendEstimate& estimate, const TokenPrice& price) {
  const int unknown = result ? result->unknown_attempts : result.failure().unknown_attempts;
  Settlement settled{0, unknown > 0};
  if (!result ? result.failure().ran != Ran::kNo : result->usage_missing) {
    settled = {estimate.cost, true};
  } else if (result) {
    settled.cost = CostOf(result->usage, price);
    settled.over = settled.cost > estimate.cost;
  }
  for (int i = 0; i < unknown; ++i) settled.cost = AddWithin(settled.cost, estimate.cost);
  return settled;
}

std::string BudgetRefusal::Text(const std::string& currency) const {
  return fmt::format("budget {}: {} {} are asked for, {} of {} are left ({} spent, {} reserved by calls on their way); {}", budget,
                     FormatMoney(asked), currency, FormatMoney(std::max<Micros>(0, limit - spent - reserved)), FormatMoney(limit),
                     FormatMoney(spent), FormatMoney(reserved),
                     resets_at ? "it begins anew at " + FormatWallTime(*resets_at) : "raise its limit, it does not begin anew by itself");
}

Result<std::optional<BudgetRefusal>> Reserve(Budgets& state, const std::string& exchange, const std::vector<std::string>& budgets,
                                             Micros amount, WallTime now) {
  if (amount < 0) return Error{Code::kInvalid, "a reservation is never negative"};
  if (state.reservations.count(exchange) > 0) return std::optional<BudgetRefusal>();
  if (state.reservations.size() >= kMostReservations)
    return Error{Code::kExhausted, fmt::format("{} calls are on their way; ask later", kMostReservations)};
  std::vector<std::string> names = budgets;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    const auto line = state.lines.find(name);
    if (line == state.lines.end()) return Error{Code::kNotFound, fmt::format("there is no budget '{}'", name)};
    RollOn(line->second, now);
    const BudgetLine& is = line->second;
    if (amount <= is.left()) continue;
    return std::optional(
        BudgetRefusal{name, is.limit, is.spent, is.reserved, amount, EndOf(is.period, std::max(is.period_start, StartOf(is.period, now)))});
  }
  for (const std::string& name : names) state.lines.at(name).reserved += amount;
  state.reservations[exchange] = {std::move(names), amount, now};
  return std::optional<BudgetRefusal>();
}

bool Settle(Budgets& state, const std::string& exchange, Micros cost, WallTime now) {
  return EndReservation(state, exchange, std::max<Micros>(0, cost), now);
}

bool Release(Budgets& state, const std::string& exchange, WallTime now) { return EndReservation(state, exchange, 0, now); }

Status Correct(Budgets& state, const std::string& budget, Micros by, WallTime now) {
  const auto line = state.lines.find(budget);
  if (line == state.lines.end()) return Error{Code::kNotFound, fmt::format("there is no budget '{}'", budget)};
  if (by > kMostCorrection || by < -kMostCorrection) return Error{Code::kInvalid, "a correction of more than a thousand million"};
  RollOn(line->second, now);
  line->second.spent = std::max<Micros>(0, AddWithin(line->second.spent, by));
  return {};
}

}  // namespace acl::aegis
