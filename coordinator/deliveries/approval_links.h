#pragma once
// Links by which a webhook's receiver opens an approval: signed, for one approval as it was asked (its digest), for who receives at one
// endpoint, until a time. Whoever has one may look, and may decide once, as "link:ENDPOINT"; what that is enough for is said by
// approval::Decide. A link is made when the webhook is sent, from a key that is in no database.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shared/approval/approval.h"
#include "shared/delivery/store.h"
#include "shared/webhook/key_file.h"

namespace acl::coordinator {

class ApprovalLinks {
 public:
  // `base_url`: of the coordinator as its readers reach it, without a slash at the end.
  // `keys`: shared secrets, the newest first: it makes links, and those of all are good while a secret is changed. What signs is derived of
  // them, so that a key that signs webhooks too is never used for both.
  ApprovalLinks(std::span<const webhook::Key> keys, std::string base_url);

  // Of both settings; nothing if they are empty. kInvalid: what is wrong with them.
  static Result<std::optional<ApprovalLinks>> Open(const std::string& key_name, const std::string& base_url, const std::string& keys_file);

  // The message with `url`, `approve_url`, `reject_url` and `link_expires_at` in its body, if it asks for an approval of the run that says
  // it; else as it is.
  delivery::Delivery WithLinks(delivery::Delivery message) const;

  std::string TokenFor(const approval::Request& request, const std::string& endpoint) const;
  std::string UrlFor(const approval::Request& request, const std::string& endpoint) const;
  // The endpoint that the token was made for. kDenied: it is not of this approval as it is now asked, or over.
  Result<std::string> Check(const approval::Request& request, const std::string& token, WallTime now) const;
  // Until when: the request's end, or thirty days.
  static WallTime ExpiryOf(const approval::Request& request);

 private:
  static std::string TokenBy(const webhook::Key& key, const approval::Request& request, const std::string& endpoint);

  std::vector<webhook::Key> keys_;
  std::string base_url_;
};

}  // namespace acl::coordinator
