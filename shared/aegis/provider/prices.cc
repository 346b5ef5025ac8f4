#include "shared/aegis/provider/prices.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/canonical_json.h"

namespace acl::aegis {
namespace {

constexpr Micros kMostMoney = 1'000'000'000'000'000;  // a thousand million of the currency

bool NameFits(std::string_view pattern, std::string_view model) {
  if (!pattern.ends_with('*')) return pattern == model;
  pattern.remove_suffix(1);
  return model.starts_with(pattern);
}

// tokens * price without leaving 64 bits: what does not fit is the most there is, which no budget grants.
Micros Times(std::int64_t tokens, Micros price) {
  Micros product = 0;
  return __builtin_mul_overflow(std::max<std::int64_t>(tokens, 0), price, &product) ? INT64_MAX : product;
}
Micros Plus(Micros a, Micros b) {
  Micros sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

Error BadPrice(std::size_t row, const std::string& what) { return {Code::kInvalid, fmt::format("prices[{}]: {}", row, what)}; }

Result<PriceRow> ReadPrice(const Json& row, std::size_t place) {
  if (!row.is_object()) return BadPrice(place, "is no object");
  PriceRow price;
  for (const auto& [name, value] : row.items()) {
    if (!value.is_string()) return BadPrice(place, fmt::format("{} must be a string, such as \"2.50\"", name.substr(0, 40)));
    const auto text = value.get<std::string>();
    const auto money = [&, &key = name](Micros& where) -> Status {
      const auto parsed = ParseMoney(text);
      if (!parsed) return BadPrice(place, key + ": " + parsed.message());
      where = *parsed;
      return {};
    };
    Status read;
    if (name == "model") {
      price.model = text;
    } else if (name == "from") {
      const auto time = ParseWallTime(text);
      if (!time) return BadPrice(place, "from: write a time such as 2026-01-01T00:00:00Z");
      price.from = *time;
    } else if (name == "prompt") {
      read = money(price.price.prompt);
    } else if (name == "cached") {
      read = money(price.price.cached);
    } else if (name == "cache_written") {
      read = money(price.price.cache_written);
    } else if (name == "completion") {
      read = money(price.price.completion);
    } else {
      return BadPrice(place,
                      fmt::format("'{}' is unknown; there are: model from prompt cached cache_written completion", name.substr(0, 40)));
    }
    if (!read) return read.error();
  }
  for (const char* needed : {"model", "from", "prompt", "completion"}) {
    if (!row.contains(needed)) return BadPrice(place, fmt::format("{} is missing", needed));
  }
  if (!row.contains("cached")) price.price.cached = price.price.prompt;
  if (!row.contains("cache_written")) price.price.cache_written = price.price.prompt;
  return price;
}

}  // namespace

std::optional<TokenPrice> PriceTable::At(std::string_view model, WallTime when) const {
  const PriceRow* best = nullptr;
  for (const PriceRow& row : rows) {
    if (row.from > when || !NameFits(row.model, model)) continue;
    const auto rank = [&](const PriceRow& of) { return std::tuple(of.model == model, of.model.size(), of.from); };
    if (best == nullptr || rank(row) > rank(*best)) best = &row;
  }
  return best != nullptr ? std::optional(best->price) : std::nullopt;
}

Result<Micros> ParseMoney(std::string_view text) {
  const Error bad{Code::kInvalid, "write an amount such as \"2.50\", with at most six decimals"};
  const auto dot = text.find('.');
  const std::string_view whole = text.substr(0, dot), rest = dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1);
  if (whole.empty() || whole.size() > 9 || rest.size() > 6 || (dot != std::string_view::npos && rest.empty())) return bad;
  Micros amount = 0;
  for (const char c : std::string(whole) + std::string(rest) + std::string(6 - rest.size(), '0')) {
    if (c < '0' || c > '9') return bad;
    amount = amount * 10 + (c - '0');
  }
  return std::min(amount, kMostMoney);
}

std::string FormatMoney(Micros amount) {
  const auto size = amount < 0 ? 0 - std::uint64_t(amount) : std::uint64_t(amount);
  std::string text = fmt::format("{}{}.{:06}", amount < 0 ? "-" : "", size / 1'000'000, size % 1'000'000);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

Result<PriceTable> ParsePrices(const Json& rows, const std::string& currency) {
  PriceTable table;
  table.currency = currency;
  if (!rows.is_array()) return Error{Code::kInvalid, "prices must be a list"};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto row = ReadPrice(rows[i], i);
    if (!row) return row.error();
    const bool twice = std::any_of(table.rows.begin(), table.rows.end(),
                                   [&](const PriceRow& other) { return other.model == row->model && other.from == row->from; });
    if (twice) return BadPrice(i, "a row of this model and this time is there already");
    table.rows.push_back(std::move(*row));
  }
  table.version = ToHex(CanonicalHash({{"currency", currency}, {"rows", rows}}));
  return table;
}

Micros CostOf(const Usage& usage, const TokenPrice& price) {
  const std::int64_t plain = std::max<std::int64_t>(0, usage.prompt - usage.cached - usage.cache_written);
  const Micros millionths = Plus(Plus(Times(plain, price.prompt), Times(usage.cached, price.cached)),
                                 Plus(Times(usage.cache_written, price.cache_written), Times(usage.completion, price.completion)));
  return millionths / 1'000'000 + (millionths % 1'000'000 != 0 ? 1 : 0);
}

}  // namespace acl::aegis
