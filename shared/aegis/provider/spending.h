#pragma once
// What a call may cost, and what it did cost (D-r14): what is set aside before it, and settled after it, by whoever keeps the money
// (shared/kinds/ledger). Pure. All amounts are integers, in millionths of the currency (prices.h).

#include "shared/aegis/provider/model_failure.h"
#include "shared/aegis/provider/prices.h"
#include "shared/aegis/provider/retry.h"

namespace acl::aegis {

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

}  // namespace acl::aegis
