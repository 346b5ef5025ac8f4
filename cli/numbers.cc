#include "cli/numbers.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "shared/definition/duration.h"

namespace acl::cli {

namespace {

template <class Number>
bool Reads(const std::string& text, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

CLI::Validator WholeNumber(std::int64_t least, std::int64_t most) {
  const auto check = [=](std::string& text) {
    std::int64_t value = 0;
    if (Reads(text, &value) && value >= least && value <= most) return std::string();
    return fmt::format("takes a whole number from {} to {}, not '{}'", least, most, text);
  };
  return CLI::Validator(check, fmt::format("{}..{}", least, most));
}

CLI::Validator Duration() {
  constexpr std::chrono::milliseconds kYear = std::chrono::hours(366 * 24);
  const auto check = [=](std::string& text) {
    const auto length = ParseDuration(Json(text));
    if (!length || *length > kYear) return "takes seconds or a length of time as 500ms, 90s, 2m or 1h30m, up to a year, not '" + text + "'";
    text = fmt::format("{}.{:03}", length->count() / 1000, length->count() % 1000);
    return std::string();
  };
  return CLI::Validator(check, "DURATION");
}

std::chrono::milliseconds LengthOf(double seconds) { return std::chrono::milliseconds(std::llround(seconds * 1000)); }

CLI::Validator Decimal(double least, double most, const std::string& unit) {
  const auto check = [=](std::string& text) {
    double value = 0;
    if (Reads(text, &value) && std::isfinite(value) && value >= least && value <= most) return std::string();
    return fmt::format("takes a number of {} from {:g} to {:.0f}, not '{}'", unit, least, most, text);
  };
  return CLI::Validator(check, fmt::format("{} {:g}..{:.0f}", unit, least, most));
}

}  // namespace acl::cli
