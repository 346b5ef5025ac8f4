#include "coordinator/state_reader.h"

#include "coordinator/api/request_budget.h"
#include "shared/journal/snapshot.h"
#include "shared/kernel/stored_chunks.h"

namespace acl::coordinator {

namespace {

constexpr int kStatePage = 1000;

}  // namespace

Result<Document> ReadStateOf(Queries& queries, KernelStore& store, const SubjectId& id, const std::function<Status(std::size_t)>& take,
                             const std::function<void(std::size_t)>& keep) {
  auto snapshot = queries.NewestSnapshot(id);
  if (!snapshot) return snapshot.error();
  const std::vector<Event> none;
  const ChunkReader read = ReaderOf(store, *snapshot, none);
  const ChunkReader counted = [&](const Hash256& hash) -> Result<std::string> {
    auto bytes = read(hash);
    if (!bytes) return bytes;
    if (Status taken = take(RoomToRead(*bytes)); !taken) return taken.error();
    return bytes;
  };
  auto restored = Restore(id, *snapshot, none, counted);
  while (restored) {
    auto page = queries.Events(id, restored->head_seq, kStatePage, limits::kPageBytes);
    if (!page) return page.error();
    if (page->empty()) return std::move(restored->state);
    std::size_t bytes = 0;
    for (const Event& event : *page) bytes += event.payload ? RoomToRead(*event.payload) : 0;
    if (Status taken = take(bytes); !taken) return taken.error();
    if (Status more = GoOnRestoring(id, *page, ReaderOf(store, std::nullopt, *page), *restored); !more) return more.error();
    keep(restored->state.stored_bytes());  // the page has gone into it
  }
  return restored.error();
}

}  // namespace acl::coordinator
