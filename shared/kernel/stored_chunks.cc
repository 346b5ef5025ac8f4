#include "shared/kernel/stored_chunks.h"

#include <memory>

namespace acl {

namespace {

std::vector<Hash256> NamedBy(const std::optional<Snapshot>& snapshot, const std::vector<Event>& events) {
  std::vector<Hash256> hashes;
  if (snapshot) hashes = snapshot->chunks;
  for (const Event& event : events) {
    if (event.offloaded && !event.payload) hashes.push_back(event.content_hash);
  }
  return hashes;
}

}  // namespace

ChunkReader ReaderOf(KernelStore& store, const std::optional<Snapshot>& snapshot, const std::vector<Event>& events) {
  auto read = std::make_shared<std::optional<std::map<Hash256, std::string>>>();
  return [&store, &snapshot, &events, read](const Hash256& hash) -> Result<std::string> {
    if (!*read) {
      const std::vector<Hash256> wanted = NamedBy(snapshot, events);
      if (wanted.size() < 2) return store.GetContent(hash);
      auto found = store.GetContents(wanted);
      if (!found) return found.error();
      *read = std::move(*found);
    }
    auto there = (*read)->extract(hash);  // each is asked for once
    return there ? Result<std::string>(std::move(there.mapped())) : store.GetContent(hash);
  };
}

}  // namespace acl
