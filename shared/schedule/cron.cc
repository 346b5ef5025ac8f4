#include "shared/schedule/cron.h"

#include <fmt/format.h>

#include <array>

namespace acl::schedule {
namespace {

constexpr std::size_t kMaxText = 200;
constexpr std::uint32_t kEveryDay = 0xFFFFFFFE, kEveryWeekday = 0x7F;

struct Field {
  const char* name;
  int min, max;
  const char* allowed;
  std::span<const std::string_view> names;  // the first is `names_from`
  int names_from = 0;
};

constexpr std::array<std::string_view, 12> kMonths = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kWeekdays = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

const std::array<Field, 6> kFields = {{
    {"second", 0, 59, "0-59", {}},
    {"minute", 0, 59, "0-59", {}},
    {"hour", 0, 23, "0-23", {}},
    {"day of month", 1, 31, "1-31", {}},
    {"month", 1, 12, "1-12 or JAN-DEC", kMonths, 1},
    {"day of week", 0, 7, "0-7 (0 and 7 are Sunday) or SUN-SAT", kWeekdays, 0},
}};

struct Word {
  std::string_view text;
  std::size_t column;  // from 1
};

std::vector<Word> SplitWords(std::string_view text) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == ' ' || text[i] == '\t') {
      ++i;
      continue;
    }
    std::size_t end = text.find_first_of(" \t", i);
    if (end == std::string_view::npos) end = text.size();
    words.push_back({text.substr(i, end - i), i + 1});
    i = end;
  }
  return words;
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = char(c >= 'a' && c <= 'z' ? c - 32 : c);
  return upper;
}

Error Refuse(const Field& field, std::size_t column, const std::string& what) {
  return {Code::kInvalid,
          fmt::format("cron: {} (column {}): {}; allowed: {}, lists, ranges, steps (*/2) and *", field.name, column, what, field.allowed)};
}

std::optional<int> Number(const Field& field, std::string_view text) {
  for (std::size_t i = 0; i < field.names.size(); ++i) {
    if (Upper(text) == field.names[i]) return field.names_from + int(i);
  }
  if (text.empty() || text.size() > 3) return std::nullopt;
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// One item of a field's list; its bits, Sunday as 7 still bit 7.
Result<std::uint64_t> ParseItem(const Field& field, std::string_view item, std::size_t column) {
  const bool day_field = field.max == 31 || field.max == 7;
  if (item.empty()) return Refuse(field, column, "nothing stands here");
  const auto quoted = fmt::format("'{}'", item);
  int step = 1;
  std::string_view base = item;
  const auto slash = item.find('/');
  if (slash != std::string_view::npos) {
    base = item.substr(0, slash);
    const auto text = item.substr(slash + 1);
    const auto value = Number({"", 0, 0, "", {}}, text);
    if (!value || *value < 1 || *value > field.max) {
      return Refuse(field, column + slash + 1, fmt::format("the step '{}' is no number from 1 to {}", text, field.max));
    }
    step = *value;
  }
  int low = field.min, high = field.max == 7 ? 6 : field.max;
  const auto dash = base.find('-');
  if (base == "*" || (base == "?" && day_field)) {
    // all of them
  } else if (base == "?") {
    return Refuse(field, column, "'?' is for the two day fields only");
  } else if (dash != std::string_view::npos) {
    const auto from = Number(field, base.substr(0, dash)), to = Number(field, base.substr(dash + 1));
    if (!from || !to || *from < field.min || *from > field.max || *to < field.min || *to > field.max) {
      return Refuse(field, column, quoted + " is no range");
    }
    low = *from;
    high = *to == 0 && low > 0 && field.max == 7 ? 7 : *to;  // FRI-SUN
    if (low > high) return Refuse(field, column, quoted + " runs backwards: write two ranges");
  } else {
    const auto value = Number(field, base);
    if (!value || *value < field.min || *value > field.max) return Refuse(field, column, quoted + " does not fit");
    low = *value;
    if (slash == std::string_view::npos) high = low;
    high = std::max(high, low);
  }
  std::uint64_t bits = 0;
  for (int value = low; value <= high; value += step) bits |= std::uint64_t(1) << value;
  return bits;
}

Result<std::uint64_t> ParseField(const Field& field, const Word& word) {
  std::uint64_t bits = 0;
  for (std::size_t at = 0; at <= word.text.size();) {
    std::size_t end = word.text.find(',', at);
    if (end == std::string_view::npos) end = word.text.size();
    auto item = ParseItem(field, word.text.substr(at, end - at), word.column + at);
    if (!item) return item.error();
    bits |= *item;
    at = end + 1;
  }
  if (field.max == 7 && (bits & 0x80) != 0) bits = (bits | 1) & 0x7F;
  return bits;
}

// A day of the month that some chosen month has, if only days of the month say which days.
bool EverFires(const Cron& cron) {
  if (cron.any_day || !cron.any_weekday) return true;
  constexpr int kLengths[] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (int month = 1; month <= 12; ++month) {
    if ((cron.months >> month & 1) == 0) continue;
    for (int day = 1; day <= kLengths[month]; ++day) {
      if ((cron.days >> day & 1) != 0) return true;
    }
  }
  return false;
}

constexpr std::pair<std::string_view, std::string_view> kMacros[] = {
    {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"},
};

}  // namespace

bool Cron::FitsDay(int day_of_month, int weekday) const {
  const bool day = (days >> day_of_month & 1) != 0, week = (weekdays >> weekday & 1) != 0;
  return any_day || any_weekday ? day && week : day || week;
}

Result<Cron> ParseCron(std::string_view text) {
  if (text.size() > kMaxText) return Error{Code::kInvalid, fmt::format("cron: at most {} characters", kMaxText)};
  auto words = SplitWords(text);
  if (words.size() == 1 && words[0].text.front() == '@') {
    for (const auto& [name, meaning] : kMacros) {
      if (words[0].text == name) return ParseCron(meaning);
    }
    return Error{
        Code::kInvalid,
        fmt::format("cron: '{}' is not known; there are @hourly @daily @midnight @weekly @monthly @yearly @annually", words[0].text)};
  }
  if (words.size() != 5 && words.size() != 6) {
    return Error{Code::kInvalid, fmt::format("cron: {} field{}, not 5 (minute hour day-of-month month day-of-week) or 6 (second first)",
                                             words.size(), words.size() == 1 ? "" : "s")};
  }
  Cron cron;
  const std::size_t skip = 6 - words.size();
  std::uint64_t bits[6] = {1, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto field = ParseField(kFields[i + skip], words[i]);
    if (!field) return field.error();
    bits[i + skip] = *field;
  }
  cron.seconds = bits[0];
  cron.minutes = bits[1];
  cron.hours = std::uint32_t(bits[2]);
  cron.days = std::uint32_t(bits[3]);
  cron.months = std::uint32_t(bits[4]);
  cron.weekdays = std::uint32_t(bits[5]);
  cron.any_day = cron.days == kEveryDay;
  cron.any_weekday = cron.weekdays == kEveryWeekday;
  if (!EverFires(cron)) {
    return Error{Code::kInvalid,
                 fmt::format("cron: day of month (column {}): none of its days is in the months of column {}: it never fires",
                             words[3 - skip].column, words[4 - skip].column)};
  }
  return cron;
}

}  // namespace acl::schedule
