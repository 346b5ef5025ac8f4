#include "shared/aegis/sanitize/exact.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "shared/base/base64.h"
#include "shared/base/ids.h"
#include "shared/base/json.h"
#include "shared/base/utf8.h"

namespace acl::aegis {
namespace {

constexpr std::size_t kHead = 4;

std::string Replaced(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

std::string UpperOf(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return char(c >= 'a' && c <= 'z' ? c - 32 : c); });
  return text;
}

std::string PercentEncoded(std::string_view value, bool upper, bool plus, std::string_view kept) {
  std::string out;
  for (const char c : value) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kept.find(c) != kept.npos;
    if (plain) {
      out += c;
    } else if (c == ' ' && plus) {
      out += '+';
    } else {
      out += upper ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

// The digits of base64 that the value alone decides, with `before` bytes of something else before it.
std::string InsideBase64(std::string_view value, std::size_t before) {
  const std::string whole = EncodeBase64(std::string(before, '\0') + std::string(value));
  const std::size_t from = (before * 8 + 5) / 6;           // the first digit without a bit of what stands before
  const std::size_t to = (before + value.size()) * 8 / 6;  // behind the last digit without a bit of what follows
  return to > from ? whole.substr(from, to - from) : std::string();
}

void AddJsonForms(std::string_view value, std::set<std::string>& forms) {
  const std::string text(value);
  for (const bool ascii : {false, true}) {
    std::string dumped = Json(text).dump(-1, ' ', ascii, Json::error_handler_t::replace);
    dumped = dumped.substr(1, dumped.size() - 2);
    forms.insert(dumped);
    std::string slashes;
    for (const char c : dumped) slashes += c == '/' ? "\\/" : std::string(1, c);
    forms.insert(slashes);
    std::string again = Json(dumped).dump(-1, ' ', ascii, Json::error_handler_t::replace);  // JSON text inside a JSON string
    forms.insert(again.substr(1, again.size() - 2));
  }
}

std::uint32_t HeadOf(std::string_view text) {
  std::uint32_t head = 0;
  std::memcpy(&head, text.data(), kHead);
  return head;
}

}  // namespace

std::vector<std::string> FormsOf(std::string_view value) {
  std::set<std::string> forms{std::string(value)};
  for (std::size_t before = 0; before < 3; ++before) {
    const std::string digits = InsideBase64(value, before);
    forms.insert(digits);
    forms.insert(Replaced(Replaced(digits, '+', '-'), '/', '_'));
  }
  const std::string padded = EncodeBase64(value);
  forms.insert(padded);
  forms.insert(Replaced(Replaced(padded, '+', '-'), '/', '_'));
  const std::string hex = ToHex(value);
  forms.insert(hex);
  forms.insert(UpperOf(hex));
  for (const bool upper : {true, false}) {
    for (const bool plus : {true, false}) {
      for (const std::string_view kept : {"-_.~", "-_.~!*'()", "-_.*", "-_.~/", "-_.~:@!$&'()*+,;="}) {
        forms.insert(PercentEncoded(value, upper, plus, kept));
      }
    }
  }
  if (IsUtf8(value)) AddJsonForms(value, forms);
  std::vector<std::string> all;
  for (const auto& form : forms) {
    if (form.size() >= kShortestLiveSecret) all.push_back(form);
  }
  return all;
}

Result<ExactMatcher> ExactMatcher::Make(const std::vector<LiveSecret>& secrets) {
  if (secrets.size() > kMostLiveSecrets) {
    return Error{Code::kInvalid,
                 fmt::format("{} live secrets are more than the {} that one sanitiser looks for; give it those of one project",
                             secrets.size(), kMostLiveSecrets)};
  }
  ExactMatcher matcher;
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    const auto& [name, value] = secrets[i];
    if (value.size() < kShortestLiveSecret || value.size() > kLongestLiveSecret) {
      return Error{Code::kInvalid, fmt::format("the secret {} has {} bytes; a secret that is cut by its value has {} to {}", name,
                                               value.size(), kShortestLiveSecret, kLongestLiveSecret)};
    }
    for (auto& form : FormsOf(value)) {
      matcher.longest_ = std::max(matcher.longest_, form.size());
      auto& same_head = matcher.by_head_[HeadOf(form)];
      same_head.push_back({std::move(form), i});
    }
  }
  for (auto& [head, forms] : matcher.by_head_) {
    std::stable_sort(forms.begin(), forms.end(), [](const Form& a, const Form& b) { return a.text.size() > b.text.size(); });
  }
  return matcher;
}

std::vector<ExactMatcher::Found> ExactMatcher::FindAll(std::string_view text) const {
  std::vector<Found> found;
  if (by_head_.empty()) return found;
  for (std::size_t at = 0; at + kHead <= text.size();) {
    const auto forms = by_head_.find(HeadOf(text.substr(at)));
    std::size_t length = 0;
    if (forms != by_head_.end()) {
      for (const Form& form : forms->second) {
        if (!text.substr(at).starts_with(form.text)) continue;
        length = form.text.size();
        found.push_back({at, at + length, form.secret});
        break;
      }
    }
    at += std::max<std::size_t>(length, 1);
  }
  return found;
}

std::size_t ExactMatcher::OpenFrom(std::string_view text) const {
  for (std::size_t at = text.size() < longest_ ? 0 : text.size() - longest_; at < text.size(); ++at) {
    const auto rest = text.substr(at);
    const auto begins = [&](const Form& form) { return form.text.size() > rest.size() && form.text.starts_with(rest); };
    if (rest.size() >= kHead) {
      const auto forms = by_head_.find(HeadOf(rest));
      if (forms != by_head_.end() && std::any_of(forms->second.begin(), forms->second.end(), begins)) return at;
    } else {
      for (const auto& [head, forms] : by_head_) {
        if (std::any_of(forms.begin(), forms.end(), begins)) return at;
      }
    }
  }
  return text.size();
}

}  // namespace acl::aegis
