#include "shared/aegis/provider/spending.h"

#include <algorithm>

namespace acl::aegis {
namespace {

// What a chat template adds, at most: to the whole, and to each message, tool or schema.
constexpr std::int64_t kTemplateTokens = 256, kPartTokens = 64;

// Sums stop well within 64 bits, so that what is left of a limit can always be reckoned.
constexpr Micros kMostSpent = INT64_MAX / 4;
Micros AddWithin(Micros a, Micros b) { return a > kMostSpent - std::min(b, kMostSpent) ? kMostSpent : a + b; }

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

}  // namespace acl::aegis
