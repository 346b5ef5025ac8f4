#pragma once
// What tokens cost. Prices are per million tokens, in millionths of the currency, and bind from a date on: what an exchange cost stays what
// it cost when the price changes. A wrong price is mended by a row that compensates (spending.h, Correct), never by changing what is there.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/aegis/provider/model_answer.h"
#include "shared/base/clock.h"
#include "shared/base/json.h"

namespace acl::aegis {

using Micros = std::int64_t;  // millionths of the currency

struct TokenPrice {
  Micros prompt = 0, cached = 0, cache_written = 0, completion = 0;  // per million tokens
};

struct PriceRow {
  std::string model;  // a name, or the beginning of names: "claude-sonnet-*"
  WallTime from{};
  TokenPrice price;
};

struct PriceTable {
  std::string currency = "USD";
  std::vector<PriceRow> rows;
  std::string version;  // digest of the table: stands in the record of every exchange that it priced

  // Of the rows that bind at that time: the longest name, of the same name the latest. nullopt: this model has no price.
  std::optional<TokenPrice> At(std::string_view model, WallTime when) const;
};

// "2.50" -> 2500000. At most six decimals, no sign, no more than a thousand million.
Result<Micros> ParseMoney(std::string_view text);
std::string FormatMoney(Micros amount);  // "2.5", "-0.000001"

// [{"model", "from", "prompt", "cached", "cache_written", "completion"}]; `cached` and `cache_written` are the prompt's if missing.
Result<PriceTable> ParsePrices(const Json& rows, const std::string& currency);

// Rounded up to a millionth, once for all of it.
Micros CostOf(const Usage& usage, const TokenPrice& price);

}  // namespace acl::aegis
