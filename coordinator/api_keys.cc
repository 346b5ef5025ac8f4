#include "coordinator/api_keys.h"

#include <pthread.h>

#include "shared/base/sha256.h"
#include "shared/http/problem.h"

namespace acl::coordinator {
namespace {

// Every byte is looked at, whatever the difference.
bool SameHash(const Hash256& a, const Hash256& b) {
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) different |= unsigned(a[i] ^ b[i]);
  return different == 0;
}

HttpResponse Refused(std::string_view detail) {
  return Problem(401, "unauthorized", detail).With("WWW-Authenticate", "Bearer realm=\"acl\"");
}

}  // namespace

Status ApiKeys::Start() {
  std::lock_guard lock(lifecycle_);
  ACL_CHECK(!thread_.joinable(), "started twice");
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "api-keys");
    for (;;) {
      (void)Refresh();  // logged; the keys known so far stay in force
      std::unique_lock waiting(mutex_);
      if (stop_.wait_for(waiting, refresh_, [this] { return stopping_; })) return;
    }
  });
  return {};
}

void ApiKeys::Stop() {
  std::lock_guard lifecycle(lifecycle_);
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status ApiKeys::Refresh() {
  auto rows = store_.Keys();
  if (!rows) {
    std::lock_guard lock(mutex_);
    if (!std::exchange(failed_, true)) log_.Warn("cannot read the API keys; those known stay in force", {{"error", rows.error()}});
    return rows.error();
  }
  auto keys = std::make_shared<Keys>();
  for (auto& row : *rows) keys->emplace(row.key_id, row);
  std::lock_guard lock(mutex_);
  failed_ = false;
  keys_ = std::move(keys);
  return {};
}

std::optional<HttpResponse> ApiKeys::Authorize(HttpRequest& request) const {
  std::shared_ptr<const Keys> keys;
  {
    std::lock_guard lock(mutex_);
    keys = keys_;
  }
  const auto* header = request.Header("authorization");
  constexpr std::string_view kScheme = "bearer ";
  if (header == nullptr) {
    return Refused(
        "this API needs a key: send Authorization: Bearer KEY; an operator makes one with acl-coordinator --create-api-key NAME");
  }
  std::string scheme = header->substr(0, kScheme.size());
  for (char& c : scheme) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  const auto text = scheme == kScheme ? ParseApiKey(std::string_view(*header).substr(kScheme.size())) : std::nullopt;
  if (!text) return Refused("the Authorization header is not 'Bearer KEY' with a key of this system");
  if (keys == nullptr) return Problem(503, "unavailable", "the keys have not been read from the database yet").With("Retry-After", "1");
  const auto it = keys->find(text->key_id);
  const Hash256 given = Sha256(text->secret);
  if (it == keys->end() || !SameHash(it->second.secret_hash, given)) return Refused("the key is not known or was revoked");
  request.principal = it->second.name;
  return std::nullopt;
}

}  // namespace acl::coordinator
