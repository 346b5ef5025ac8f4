#include "shared/base/time_zone.h"

#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <fstream>

namespace acl {

namespace {

constexpr char kZoneFolder[] = "/usr/share/zoneinfo";
constexpr std::int64_t kDay = 86'400;
constexpr std::size_t kMaxFile = 1u << 20;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = char(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return lower;
}

bool IsUtc(std::string_view zone) {
  const auto lower = Lower(zone);
  return lower == "utc" || lower == "z";
}

std::int64_t BigEndian(std::string_view bytes) {
  std::int64_t value = static_cast<signed char>(bytes[0]);
  for (std::size_t i = 1; i < bytes.size(); ++i) value = value * 256 + static_cast<unsigned char>(bytes[i]);
  return value;
}

// Days from 1970-01-01 to the first of a month.
std::int64_t DaysToMonth(std::int64_t year, int month) {
  using namespace std::chrono;
  return sys_days(std::chrono::year(int(year)) / month / 1).time_since_epoch().count();
}

std::int64_t YearOf(std::int64_t unix_seconds) {
  using namespace std::chrono;
  return int(year_month_day(floor<days>(sys_seconds(seconds(unix_seconds)))).year());
}

// Reads a POSIX TZ rule from left to right.
struct RuleReader {
  std::string_view rest;
  bool bad = false;

  bool Take(char c) {
    if (rest.empty() || rest[0] != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  void Name() {
    std::size_t length = 0;
    if (Take('<')) {
      length = rest.find('>');
      if (length == std::string_view::npos) {
        bad = true;
        return;
      }
      rest.remove_prefix(length + 1);
      return;
    }
    while (length < rest.size() && ((rest[length] | 32) >= 'a' && (rest[length] | 32) <= 'z')) ++length;
    if (length < 3) bad = true;
    rest.remove_prefix(length);
  }
  std::int64_t Number() {
    std::int64_t value = 0;
    std::size_t digits = 0;
    while (digits < rest.size() && digits < 4 && rest[digits] >= '0' && rest[digits] <= '9') value = value * 10 + (rest[digits++] - '0');
    if (digits == 0) bad = true;
    rest.remove_prefix(digits);
    return value;
  }
  std::int64_t Time() {  // [+-]hh[:mm[:ss]]
    bool negative = Take('-');
    if (!negative) Take('+');
    std::int64_t value = Number() * 3600;
    if (Take(':')) value += Number() * 60;
    if (Take(':')) value += Number();
    return negative ? -value : value;
  }
  // Seconds of local time since 1970-01-01 at which the change happens in that year.
  std::int64_t Change(std::int64_t year) {
    std::int64_t day = 0;
    if (Take('M')) {
      auto month = int(Number());
      if (!Take('.')) bad = true;
      auto week = Number();
      if (!Take('.')) bad = true;
      auto weekday = Number();
      if (month < 1 || month > 12 || week < 1 || week > 5 || weekday > 6) bad = true;
      if (bad) return 0;
      std::int64_t first = DaysToMonth(year, month), next = month == 12 ? DaysToMonth(year + 1, 1) : DaysToMonth(year, month + 1);
      std::int64_t first_weekday = ((first + 4) % 7 + 7) % 7;
      day = first + (weekday - first_weekday + 7) % 7 + (week - 1) * 7;
      while (day >= next) day -= 7;
    } else if (Take('J')) {  // 1..365, February 29 is never counted
      std::int64_t n = Number();
      bool leap = DaysToMonth(year, 3) - DaysToMonth(year, 2) == 29;
      day = DaysToMonth(year, 1) + n - 1 + (leap && n >= 60 ? 1 : 0);
    } else {
      day = DaysToMonth(year, 1) + Number();
    }
    return day * kDay + (Take('/') ? Time() : 7200);
  }
};

struct Block {
  std::int64_t isutc, isstd, leaps, transitions, types, letters;
  std::size_t Size(std::size_t time_bytes) const {
    return std::size_t(transitions) * (time_bytes + 1) + std::size_t(types) * 6 + std::size_t(letters) +
           std::size_t(leaps) * (time_bytes + 4) + std::size_t(isstd) + std::size_t(isutc);
  }
};

constexpr std::size_t kHeader = 44;

bool ReadHeader(std::string_view file, Block& block) {
  if (file.size() < kHeader || file.substr(0, 4) != "TZif") return false;
  std::int64_t* counts[] = {&block.isutc, &block.isstd, &block.leaps, &block.transitions, &block.types, &block.letters};
  for (std::size_t i = 0; i < 6; ++i) {
    *counts[i] = BigEndian(file.substr(20 + i * 4, 4));
    if (*counts[i] < 0 || *counts[i] > 100'000) return false;
  }
  return block.types > 0;
}

}  // namespace

Result<std::int64_t> PosixTzOffset(std::string_view rule, std::int64_t unix_seconds) {
  Error error{Code::kInvalid, fmt::format("'{}' is no POSIX time zone rule", rule)};
  RuleReader reader{rule};
  reader.Name();
  std::int64_t standard = -reader.Time();
  if (reader.bad) return error;
  if (reader.rest.empty()) return standard;
  reader.Name();
  std::int64_t daylight = standard + 3600;
  if (!reader.rest.empty() && reader.rest[0] != ',') daylight = -reader.Time();
  if (!reader.Take(',')) return error;
  std::int64_t year = YearOf(unix_seconds + standard);
  std::int64_t begin = reader.Change(year) - standard;  // local standard time -> UTC
  if (!reader.Take(',')) return error;
  std::int64_t end = reader.Change(year) - daylight;
  if (reader.bad || !reader.rest.empty()) return error;
  bool is_daylight = begin < end ? unix_seconds >= begin && unix_seconds < end : !(unix_seconds >= end && unix_seconds < begin);
  return is_daylight ? daylight : standard;
}

Result<std::int64_t> TzifOffset(std::string_view file, std::int64_t unix_seconds) {
  Error error{Code::kCorrupt, "not a time zone file of version 2 or later"};
  Block block{};
  if (!ReadHeader(file, block) || file[4] < '2') return error;
  std::size_t second = kHeader + block.Size(4);  // the first block has 32-bit times; skip it
  if (second > file.size() || !ReadHeader(file.substr(second), block)) return error;
  std::string_view data = file.substr(second + kHeader);
  if (block.Size(8) > data.size()) return error;
  auto count = std::size_t(block.transitions);
  auto time_at = [&](std::size_t i) { return BigEndian(data.substr(i * 8, 8)); };
  if (count == 0 || unix_seconds >= time_at(count - 1)) {
    std::string_view footer = data.substr(block.Size(8));
    if (footer.size() > 2 && footer[0] == '\n') {
      auto offset = PosixTzOffset(footer.substr(1, footer.find('\n', 1) - 1), unix_seconds);
      if (offset) return offset;
    }
  }
  std::size_t type = 0;
  for (std::size_t i = count; i > 0; --i) {
    if (time_at(i - 1) <= unix_seconds) {
      type = static_cast<unsigned char>(data[count * 8 + i - 1]);
      break;
    }
  }
  if (type >= std::size_t(block.types)) return error;
  return BigEndian(data.substr(count * 9 + type * 6, 4));
}

Result<TimeZone> TimeZone::Load(std::string_view name) {
  if (IsUtc(name)) return TimeZone("UTC", nullptr);
  Error unknown{Code::kInvalid, fmt::format("unknown timezone '{}'; write utc or an IANA name such as Europe/Berlin", name)};
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '+' || c == '/';
  });
  if (!plain || name.empty() || name.front() == '/' || name.size() > 64) return unknown;  // no dot, so nothing above the folder is reached
  std::error_code error;
  if (!std::filesystem::is_directory(kZoneFolder, error)) {
    return Error{Code::kUnavailable, "this machine has no time zone database (Debian package tzdata); only utc and local work"};
  }
  const std::filesystem::path path = std::filesystem::path(kZoneFolder) / std::string(name);
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) > kMaxFile) return unknown;
  std::ifstream in(path, std::ios::binary);
  auto bytes = std::make_shared<std::string>(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  if (!in || !TzifOffset(*bytes, 0)) return unknown;
  return TimeZone(std::string(name), std::move(bytes));
}

std::int64_t TimeZone::OffsetAt(std::int64_t unix_seconds) const {
  if (!file_) return 0;
  const auto offset = TzifOffset(*file_, unix_seconds);
  return offset ? *offset : 0;  // it was read once already; a type index that is wrong only at this time is nobody's zone file
}

Result<ZoneOffset> OffsetOf(std::string_view zone, std::int64_t unix_seconds) {
  if (IsUtc(zone) || zone.empty()) return ZoneOffset{0, "Z"};
  if (Lower(zone) == "local") {
    std::time_t time = std::time_t(unix_seconds);
    std::tm parts{};
    ::localtime_r(&time, &parts);
    return ZoneOffset{parts.tm_gmtoff, ""};
  }
  const auto found = TimeZone::Load(zone);
  if (!found) {
    if (found.code() != Code::kInvalid) return found.error();
    return Error{Code::kInvalid, fmt::format("unknown timezone '{}'; write utc, local or an IANA name such as Europe/Berlin", zone)};
  }
  const std::int64_t offset = found->OffsetAt(unix_seconds);
  const std::int64_t minutes = (offset < 0 ? -offset : offset) / 60;
  return ZoneOffset{offset, fmt::format("{}{:02}:{:02}", offset < 0 ? '-' : '+', minutes / 60, minutes % 60)};
}

}  // namespace acl
