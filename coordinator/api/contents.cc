#include "coordinator/api/contents.h"

#include "coordinator/api/request.h"
#include "shared/base/sha256.h"

namespace acl::coordinator {

void BlobPresenceCache::Note(const Hash256& hash, std::int64_t size) {
  std::lock_guard lock(mutex_);
  if (!sizes_.emplace(hash, size).second) return;
  order_.push_back(hash);
  if (order_.size() <= max_entries_) return;
  sizes_.erase(order_.front());
  order_.pop_front();
}

void BlobPresenceCache::Forget(const Hash256& hash) {
  std::lock_guard lock(mutex_);
  if (sizes_.erase(hash) > 0) std::erase(order_, hash);
}

Result<std::int64_t> BlobPresenceCache::SizeOf(KernelStore& store, const Hash256& hash) {
  {
    std::lock_guard lock(mutex_);
    if (auto it = sizes_.find(hash); it != sizes_.end()) return it->second;
  }
  auto content = store.GetContent(hash);
  if (!content) return content.error();
  Note(hash, std::int64_t(content->size()));
  return std::int64_t(content->size());
}

void AddContentRoutes(Router& router, const ApiContext& api) {
  constexpr std::size_t kMaxContent = 64u << 20;
  router.Add("PUT", "/v1/contents/{sha256}", {.max_body = kMaxContent}, [api](const HttpRequest& request) {
    const auto hash = HashFromHex(request.Param("sha256"));
    if (!hash) return Problem(400, "bad-hash", "the last part of the path is the SHA-256 of the body, 64 hex digits");
    if (Sha256(request.body) != *hash) return Problem(422, "hash-mismatch", "the SHA-256 of the body is " + ToHex(Sha256(request.body)));
    const std::pair<Hash256, std::string> content(*hash, request.body);
    if (auto status = api.store.PutContents({&content, 1}); !status) return ProblemOf(status.error());
    api.contents.Note(*hash, std::int64_t(request.body.size()));
    return HttpResponse::OfJson(200, {{"hash", ToHex(*hash)}, {"size", request.body.size()}});
  });
}

}  // namespace acl::coordinator
