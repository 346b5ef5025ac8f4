#include "coordinator/api_keys.h"

#include <pthread.h>

#include "shared/base/memory.h"
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
      (void)WithinMemory([this] { (void)Refresh(); });  // logged; the keys known so far stay in force
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
  std::lock_guard one_at_a_time(reading_);  // whoever read first says it first: nothing older takes the place of what is newer
  auto rows = store_.Keys();
  if (!rows) {
    outage_.Failed({{"error", rows.error()}});
    return rows.error();
  }
  outage_.Worked();
  auto keys = std::make_shared<Keys>();
  for (auto& row : *rows) keys->emplace(row.key_id, row);
  std::lock_guard lock(mutex_);
  keys_ = std::move(keys);
  return {};
}

ApiKeys::Standing ApiKeys::Judge(HttpRequest& request, std::string* id) const {
  std::shared_ptr<const Keys> keys;
  {
    std::lock_guard lock(mutex_);
    keys = keys_;
  }
  const auto* header = request.Header("authorization");
  constexpr std::string_view kScheme = "bearer ";
  std::string scheme = header ? header->substr(0, kScheme.size()) : "";
  for (char& c : scheme) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  const auto text = scheme == kScheme ? ParseApiKey(std::string_view(*header).substr(kScheme.size())) : std::nullopt;
  if (!text) return Standing::kNoKey;
  *id = text->key_id;
  if (keys == nullptr) return Standing::kNotRead;
  const auto it = keys->find(text->key_id);
  const Hash256 given = Sha256(text->secret);
  if (it == keys->end()) return Standing::kUnknown;
  if (!SameHash(it->second.secret_hash, given)) return Standing::kWrong;
  request.principal = it->second.name;
  request.roles = it->second.roles;
  return Standing::kKnown;
}

std::optional<HttpResponse> ApiKeys::Answer(Standing standing, const HttpRequest& request) {
  switch (standing) {
    case Standing::kKnown: return std::nullopt;
    case Standing::kNotRead:
      return Problem(503, "unavailable", "the keys have not been read from the database yet").With("Retry-After", "1");
    case Standing::kUnknown:
    case Standing::kWrong: return Refused("the key is not known or was revoked");
    case Standing::kNoKey: break;
  }
  if (request.Header("authorization") == nullptr) {
    return Refused(
        "this API needs a key: send Authorization: Bearer KEY; an operator makes one with acl-coordinator --create-api-key NAME");
  }
  return Refused("the Authorization header is not 'Bearer KEY' with a key of this system");
}

std::optional<HttpResponse> ApiKeys::Authorize(HttpRequest& request) {
  std::string id;
  const Standing standing = Judge(request, &id);
  if (standing == Standing::kUnknown) {  // an id that is known has one secret for ever
    std::lock_guard lock(mutex_);
    request.undecided = looks_.May(id, clock_.Steady());
  }
  return Answer(standing, request);
}

std::optional<HttpResponse> ApiKeys::LookAgain(HttpRequest& request) {
  if (Status read = Refresh(); !read) {
    return Problem(503, "unavailable", "the keys cannot be read from the database now").With("Retry-After", "1");
  }
  std::string id;
  return Answer(Judge(request, &id), request);
}

}  // namespace acl::coordinator
