#pragma once
// Spending: reserved before a call, settled after it (D-r14). Pure: who keeps the state does so in the transaction that records the
// exchange, so that no two askers see the same money. All amounts are integers, in millionths of the currency (prices.h).
//
// The rule that never breaks while costs stay within their estimates: spent + reserved <= limit. A provider that bills more than the worst
// case is settled with what it billed, and the line says by how much it is over.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/aegis/provider/model_failure.h"
#include "shared/aegis/provider/prices.h"
#include "shared/aegis/provider/retry.h"

namespace acl::aegis {

inline constexpr std::size_t kMostReservations = 10'000;  // open at one time

// ---- what a call may cost, and what it did cost

struct SpendEstimate {
  std::int64_t prompt_tokens = 0, completion_tokens = 0;
  Micros cost = 0;
};
// The most it can cost: no tokenizer makes more tokens than bytes, so each byte of text counts as one, besides what a template adds to each
// message; the answer is as long as max_tokens allows; nothing is taken from a cache.
SpendEstimate WorstCase(const ModelRequest& request, const TokenPrice& price);
// What to reserve: the worst case, once for each attempt that may run.
Micros AmountToReserve(const SpendEstimate& estimate, const RetryRules& rules);

struct Settlement {
  Micros cost = 0;
  bool estimated = false;  // the provider did not say: the worst case is taken
  bool over = false;       // the provider's usage is beyond the worst case: settled all the same, and somebody should look at it
};
Settlement SettlementOf(const ModelResult& result, const SpendEstimate& estimate, const TokenPrice& price);

// ---- budgets

enum class BudgetPeriod { kForever, kDay, kMonth };  // of UTC

struct BudgetLine {
  Micros limit = 0;
  BudgetPeriod period = BudgetPeriod::kForever;
  Micros spent = 0, reserved = 0;  // spent within the period
  WallTime period_start{};         // of the period that `spent` is of

  Micros left() const { return limit - spent - reserved; }
};

struct Reservation {
  std::vector<std::string> budgets;
  Micros amount = 0;
  WallTime at{};
};

struct Budgets {
  std::map<std::string, BudgetLine> lines;          // by name: project/P, session/S ...
  std::map<std::string, Reservation> reservations;  // by exchange
};

// Which budget says no, and everything needed to understand it.
struct BudgetRefusal {
  std::string budget;
  Micros limit = 0, spent = 0, reserved = 0, asked = 0;
  std::optional<WallTime> resets_at;  // nullopt: never by itself

  std::string Text(const std::string& currency) const;
};

// Takes the amount from every one of the budgets, or from none. nullopt: it is reserved. The same exchange again is the reservation it has.
// kNotFound: there is no such budget; kExhausted: too many reservations are open; kInvalid: a negative amount.
Result<std::optional<BudgetRefusal>> Reserve(Budgets& state, const std::string& exchange, const std::vector<std::string>& budgets,
                                             Micros amount, WallTime now);
// The reservation becomes what was spent, in the period of `now`. False: this exchange has none (it was settled before).
bool Settle(Budgets& state, const std::string& exchange, Micros cost, WallTime now);
// Nothing was spent.
bool Release(Budgets& state, const std::string& exchange, WallTime now);
// A row that compensates: of a wrong price, of a bill that says otherwise. `by` may be negative; spent never goes below zero.
Status Correct(Budgets& state, const std::string& budget, Micros by, WallTime now);

}  // namespace acl::aegis
