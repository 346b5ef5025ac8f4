#pragma once
// Contents that this process has seen in the content store: a bounded memory, so that a submit need not read every file back.

#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "shared/base/ids.h"
#include "shared/kernel/store.h"

namespace acl::coordinator {

class BlobPresenceCache {
 public:
  explicit BlobPresenceCache(std::size_t max_entries = 100'000) : max_entries_(max_entries) {}

  void Note(const Hash256& hash, std::int64_t size);
  // It may have been collected since.
  void Forget(const Hash256& hash);
  // The size of a stored content: remembered, or read from the store. kNotFound if it is not there.
  Result<std::int64_t> SizeOf(KernelStore& store, const Hash256& hash);

 private:
  struct Hasher {
    std::size_t operator()(const Hash256& hash) const {
      std::size_t value = 0;
      std::memcpy(&value, hash.data(), sizeof value);
      return value;
    }
  };
  const std::size_t max_entries_;
  std::mutex mutex_;
  std::unordered_map<Hash256, std::int64_t, Hasher> sizes_;
  std::deque<Hash256> order_;  // oldest first
};

}  // namespace acl::coordinator
