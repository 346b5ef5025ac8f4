#include "shared/capability/http_status.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace acl {

namespace {

constexpr std::chrono::milliseconds kLongestWait = std::chrono::hours(1);

// "404", "200-299" or 404.
std::optional<std::pair<int, int>> ReadRange(const Json& value) {
  if (value.is_number_integer()) {
    const auto status = value.get<std::int64_t>();
    if (status < StatusSet::kFirst || status > StatusSet::kLast) return std::nullopt;
    return std::pair(int(status), int(status));
  }
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  int low = 0, high = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, low);
  if (error != std::errc()) return std::nullopt;
  high = low;
  if (at != end) {
    if (*at != '-') return std::nullopt;
    auto [rest, wrong] = std::from_chars(at + 1, end, high);
    if (wrong != std::errc() || rest != end) return std::nullopt;
  }
  if (low < StatusSet::kFirst || high > StatusSet::kLast || low > high) return std::nullopt;
  return std::pair(low, high);
}

}  // namespace

Result<StatusSet> StatusSet::Parse(const Json& value) {
  StatusSet out;
  const auto take = [&](const Json& one) {
    const auto range = ReadRange(one);
    for (int status = range ? range->first : 1; range && status <= range->second; ++status) out.set_.set(std::size_t(status - kFirst));
    return range.has_value();
  };
  const bool fits = value.is_array() ? !value.empty() && std::all_of(value.begin(), value.end(), take) : take(value);
  if (fits) return out;
  return Error{Code::kInvalid, fmt::format("must be a status from {} to {}, a range \"200-299\", or a list of these", kFirst, kLast)};
}

bool MayPass(int status, bool repeatable) {
  switch (status) {
    case 408:  // it waited for the request in vain
    case 425:
    case 429:
    case 503: return true;
    case 500:
    case 502:
    case 504: return repeatable;
    default: return false;
  }
}

std::optional<std::chrono::milliseconds> ReadRetryAfter(std::string_view value, WallTime now) {
  if (value.empty()) return std::nullopt;
  if (std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (error != std::errc() || seconds > kLongestWait / std::chrono::seconds(1)) return kLongestWait;  // also what no number holds
    return std::chrono::milliseconds(seconds * 1000);
  }
  const std::time_t at = ::curl_getdate(std::string(value).c_str(), nullptr);
  if (at == -1) return std::nullopt;
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::seconds(at) - now.time_since_epoch());
  return std::clamp(wait, std::chrono::milliseconds(0), kLongestWait);
}

}  // namespace acl
