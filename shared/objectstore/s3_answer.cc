#include "shared/objectstore/s3_answer.h"

#include <fmt/format.h>

#include <charconv>
#include <ctime>

namespace acl::s3 {
namespace {

constexpr std::size_t kDetailBytes = 300;  // of what a server says

std::optional<std::string> Decoded(std::string_view text) {
  static const std::map<std::string_view, char> kNamed{{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  std::string out;
  while (!text.empty()) {
    if (text.front() != '&') {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    const auto end = text.find(';');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view name = text.substr(1, end - 1);
    if (auto named = kNamed.find(name); named != kNamed.end()) {
      out += named->second;
    } else {  // our keys and the store's tags are ASCII
      const bool hex = name.starts_with("#x");
      const std::string_view digits = name.substr(std::min(name.size(), hex ? std::size_t(2) : std::size_t(1)));
      int code = 0;
      const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
      if (!name.starts_with('#') || error != std::errc() || rest != digits.data() + digits.size() || code < 1 || code > 127)
        return std::nullopt;
      out += char(code);
    }
    text.remove_prefix(end + 1);
  }
  return out;
}

// The inside of the first <tag> from `from` on, and where it ends.
std::optional<std::string_view> Inside(std::string_view xml, std::string_view tag, std::size_t& from) {
  const std::string open = fmt::format("<{}>", tag), close = fmt::format("</{}>", tag);
  const auto begin = xml.find(open, from);
  if (begin == std::string_view::npos) return std::nullopt;
  const auto end = xml.find(close, begin + open.size());
  if (end == std::string_view::npos) return std::nullopt;
  from = end + close.size();
  return xml.substr(begin + open.size(), end - begin - open.size());
}

// What a person needs to know of it, on one line and never long.
std::string Told(const Answer& answer) {
  std::string told = XmlText(answer.body, "Code").value_or("");
  if (auto message = XmlText(answer.body, "Message")) told += (told.empty() ? "" : ": ") + *message;
  for (char& c : told) c = c >= 0 && c < ' ' ? ' ' : c;
  return told.substr(0, kDetailBytes);
}

}  // namespace

std::optional<std::string> XmlText(std::string_view xml, std::string_view tag) {
  std::size_t from = 0;
  auto inside = Inside(xml, tag, from);
  return inside ? Decoded(*inside) : std::nullopt;
}

Result<ObjectPage> ReadListing(std::string_view xml) {
  const Error wrong{Code::kUnavailable, "the object store's listing cannot be read"};
  if (xml.find("<ListBucketResult") == std::string_view::npos || xml.find("</ListBucketResult>") == std::string_view::npos) return wrong;
  ObjectPage page;
  std::size_t from = 0;
  while (auto contents = Inside(xml, "Contents", from)) {
    auto key = XmlText(*contents, "Key"), size = XmlText(*contents, "Size"), modified = XmlText(*contents, "LastModified");
    auto at = modified ? ParseWallTime(*modified) : std::nullopt;
    ObjectInfo info;
    if (!key || !size || !at) return wrong;
    const auto [rest, error] = std::from_chars(size->data(), size->data() + size->size(), info.size);
    if (error != std::errc() || rest != size->data() + size->size()) return wrong;
    info.key = std::move(*key);
    info.modified = *at;
    page.objects.push_back(std::move(info));
  }
  if (XmlText(xml, "IsTruncated") != "true") return page;
  auto next = XmlText(xml, "NextContinuationToken");
  if (!next || next->empty()) return wrong;  // else a part would be taken for all
  page.next = std::move(*next);
  return page;
}

std::optional<WallTime> ServerTime(const Answer& answer) {
  auto date = answer.headers.find("date");
  if (date == answer.headers.end()) return std::nullopt;
  std::tm parts{};
  const char* rest = ::strptime(date->second.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (rest == nullptr || *rest != '\0') return std::nullopt;
  return WallTimeFromMicros(static_cast<long long>(::timegm(&parts)) * 1'000'000);
}

std::optional<std::chrono::seconds> ClockAhead(const Answer& answer, WallTime now) {
  auto theirs = ServerTime(answer);
  if (!theirs) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::seconds>(now - *theirs);
}

Verdict Judge(const Answer& answer, const std::string& what, WallTime now) {
  const std::string code = XmlText(answer.body, "Code").value_or(""), told = Told(answer);
  const auto error = [&](Code ours, std::string_view why) {
    return Error{ours, fmt::format("{}: {}{}", what, why, told.empty() ? "" : fmt::format(" ({})", told))};
  };
  if (code == "RequestTimeTooSkewed" || code == "RequestExpired") {
    const auto ahead = ClockAhead(answer, now);
    const std::string by = !ahead                ? "is wrong"
                           : ahead->count() >= 0 ? fmt::format("is {} s ahead of the object store's", ahead->count())
                                                 : fmt::format("is {} s behind the object store's", -ahead->count());
    return {error(Code::kDenied, fmt::format("this machine's clock {}: set it right (NTP)", by))};
  }
  if (code == "NoSuchBucket") return {error(Code::kInvalid, "there is no such bucket: make it, or set s3_bucket (ACL_S3_BUCKET)")};
  if (answer.status == 404) return {error(Code::kNotFound, "there is no such object")};
  if (code == "SignatureDoesNotMatch" || code == "InvalidAccessKeyId") {
    return {error(Code::kDenied, "the key is not accepted: check s3_access_key, s3_secret_key and s3_region")};
  }
  if (answer.status == 401 || answer.status == 403) {
    return {error(Code::kDenied, "refused: the key needs GetObject, PutObject, DeleteObject and ListBucket on this bucket")};
  }
  if (answer.status == 301 || answer.status == 307 || code == "AuthorizationHeaderMalformed") {
    return {error(Code::kInvalid, "the bucket is elsewhere: check s3_endpoint and s3_region")};
  }
  if (answer.status == 413 || code == "EntityTooLarge") return {error(Code::kInvalid, "the object is too large for this store")};
  const bool busy = answer.status >= 500 || answer.status == 408 || answer.status == 429 || answer.status == 409 || code == "SlowDown" ||
                    code == "RequestTimeout" || code == "BadDigest" || code == "IncompleteBody" || code == "XAmzContentSHA256Mismatch";
  return {error(busy ? Code::kUnavailable : Code::kInvalid, fmt::format("answered {}", answer.status)), busy};
}

}  // namespace acl::s3
