#include "shared/definition/duration.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

namespace acl {

namespace {

constexpr double kNotAUnit = -1;

double SecondsOf(std::string_view unit, bool first) {
  if (unit.empty()) return first ? 1 : kNotAUnit;  // "90", not "1h30"
  if (unit == "ms") return 0.001;
  if (unit == "s") return 1;
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  if (unit == "d") return 86400;
  return kNotAUnit;
}

std::optional<double> SecondsIn(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double total = 0;
  std::vector<std::string_view> seen;
  for (bool first = true; !text.empty(); first = false) {
    double number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || std::signbit(number)) return std::nullopt;
    text.remove_prefix(std::size_t(end - text.data()));
    const auto unit = text.substr(0, text.find_first_of("0123456789."));
    const double seconds = SecondsOf(unit, first);
    if (seconds == kNotAUnit) return std::nullopt;
    for (const std::string_view one : seen)
      if (one == unit) return std::nullopt;  // "1h1h" is a slip
    seen.push_back(unit);
    total += number * seconds;
    text.remove_prefix(unit.size());
  }
  return total;
}

}  // namespace

std::optional<std::chrono::milliseconds> ParseDuration(const Json& value) {
  std::optional<double> seconds;
  if (value.is_number()) seconds = value.get<double>();
  if (value.is_string()) seconds = SecondsIn(value.get_ref<const std::string&>());
  if (!seconds || !(*seconds >= 0 && *seconds <= double(kLongestSeconds))) return std::nullopt;
  return std::chrono::milliseconds(std::llround(*seconds * 1000));
}

}  // namespace acl
