#include "coordinator/deliveries/approval_links.h"

#include <fmt/format.h>

#include "shared/base/json_text.h"
#include "shared/http/url.h"
#include "shared/journal/document.h"
#include "shared/workflow/approvals.h"

namespace acl::coordinator {
namespace {

constexpr std::chrono::hours kLongestLink{30 * 24};

bool SameText(std::string_view a, std::string_view b) {
  unsigned different = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) different |= unsigned(a[i] ^ b[i]);
  return different == 0;
}

// What a webhook that asks says of its approval.
std::optional<approval::Request> AskedIn(const Json& body) {
  const auto text = [&](const char* key) { return body.contains(key) && body[key].is_string() ? body[key].get<std::string>() : ""; };
  approval::Request request;
  request.approval_id = text("approval_id");
  request.digest = text("digest");
  const auto requested_at = ParseWallTime(text("requested_at"));
  if (request.approval_id.empty() || request.digest.empty() || !requested_at) return std::nullopt;
  request.requested_at = *requested_at;
  if (body.contains("expires_at")) request.expires_at = ParseWallTime(text("expires_at"));
  return request;
}

}  // namespace

Result<std::optional<ApprovalLinks>> ApprovalLinks::Open(const std::string& key_name, const std::string& base_url,
                                                         const std::string& keys_file) {
  using Opened = std::optional<ApprovalLinks>;
  if (key_name.empty() && base_url.empty()) return Opened();
  if (key_name.empty() || base_url.empty())
    return Error{Code::kInvalid, "approval_link_key and approval_base_url go together: links need a key and an address"};
  if (!base_url.starts_with("https://") && !base_url.starts_with("http://"))
    return Error{Code::kInvalid,
                 "approval_base_url must begin with https:// (or http://): the address at which people open the coordinator"};
  if (keys_file.empty()) return Error{Code::kInvalid, "approval_link_key names a key of webhook_keys_file, which is not set"};
  auto keyring = webhook::ReadKeyFile(keys_file);
  if (!keyring) return keyring.error();
  const auto found = keyring->find(key_name);
  if (found == keyring->end()) return Error{Code::kInvalid, fmt::format("webhook_keys_file has no key '{}' (approval_link_key)", key_name)};
  std::vector<webhook::Key> secrets;
  for (const webhook::Key& key : found->second.keys)
    if (key.kind() == webhook::Key::Kind::kSecret) secrets.push_back(key);
  if (!secrets.empty()) return Opened(ApprovalLinks(secrets, base_url.ends_with('/') ? base_url.substr(0, base_url.size() - 1) : base_url));
  return Error{Code::kInvalid, fmt::format("key '{}' (approval_link_key) must be a shared secret: whsec_...", key_name)};
}

WallTime ApprovalLinks::ExpiryOf(const approval::Request& request) {
  return request.expires_at.value_or(request.requested_at + kLongestLink);
}

ApprovalLinks::ApprovalLinks(std::span<const webhook::Key> keys, std::string base_url) : base_url_(std::move(base_url)) {
  for (const webhook::Key& key : keys) {
    const auto derived = webhook::Sign({&key, 1}, "acl-approval-link-key-v1", WallTime{}, "");
    auto own = webhook::Key::Parse(derived ? "whsec_" + derived->signature.substr(derived->signature.find(',') + 1) : "");
    if (own) keys_.push_back(std::move(*own));
  }
}

std::string ApprovalLinks::TokenBy(const webhook::Key& key, const approval::Request& request, const std::string& endpoint) {
  const WallTime expires = ExpiryOf(request);
  const std::string body = fmt::format("{}\n{}\n{}\n{}", request.approval_id, request.digest, endpoint, MicrosOf(expires));
  const auto made = webhook::Sign({&key, 1}, "acl-approval-link-v1", expires, body);
  if (!made) return "";
  return fmt::format("{}.{}.{}", MicrosOf(expires), ToHex(endpoint), made->signature.substr(made->signature.find(',') + 1));
}

std::string ApprovalLinks::TokenFor(const approval::Request& request, const std::string& endpoint) const {
  return keys_.empty() ? "" : TokenBy(keys_.front(), request, endpoint);
}

std::string ApprovalLinks::UrlFor(const approval::Request& request, const std::string& endpoint) const {
  return fmt::format("{}/approvals/{}?token={}", base_url_, PercentEncode(request.approval_id), PercentEncode(TokenFor(request, endpoint)));
}

Result<std::string> ApprovalLinks::Check(const approval::Request& request, const std::string& token, WallTime now) const {
  const Error denied{Code::kDenied, "the link is not of this approval as it is asked now, or it was changed; ask for a new one"};
  const std::size_t first = token.find('.'), second = token.find('.', first == token.npos ? first : first + 1);
  if (second == token.npos) return denied;
  const auto endpoint = FromHex(std::string_view(token).substr(first + 1, second - first - 1));
  if (!endpoint) return denied;
  bool good = false;
  for (const webhook::Key& key : keys_) {
    const std::string made = TokenBy(key, request, *endpoint);
    good |= !made.empty() && SameText(token, made);
  }
  if (!good) return denied;
  if (request.pending() && now >= ExpiryOf(request)) return Error{Code::kDenied, "the link is over; decide with a key (airun approvals)"};
  return *endpoint;
}

delivery::Delivery ApprovalLinks::WithLinks(delivery::Delivery message) const {
  if (message.channel != delivery::Channel::kWebhook) return message;
  if (message.event != workflow::kApprovalRequired && message.event != workflow::kApprovalReminder) return message;
  auto body = ParseJson(message.body, kStoredJson);
  if (!body || !body->is_object()) return message;
  const auto request = AskedIn(*body);
  // A run speaks for its own approvals only.
  const auto name = request ? workflow::ParseApprovalId(request->approval_id) : std::nullopt;
  if (!name || name->run_id != message.subject.ToString()) return message;
  const std::string url = UrlFor(*request, message.endpoint);
  for (const char* key : {"url", "approve_url", "reject_url"}) (*body)[key] = url;
  (*body)["link_expires_at"] = FormatWallTime(ExpiryOf(*request));
  message.body = DumpJson(*body);
  return message;
}

}  // namespace acl::coordinator
