#include "coordinator/api/run_reader.h"

#include "coordinator/api/request_budget.h"
#include "shared/journal/snapshot.h"
#include "shared/kernel/stored_chunks.h"
#include "shared/kernel/subject_part.h"

namespace acl::coordinator {
namespace {

constexpr int kPage = 1000;

// Snapshot first, then the events after it: a snapshot that a commit puts in between is only newer than needed, and events that came
// in between belong to the state. Nothing here is locked. Events go into the state a page at a time: what is held is the state and a page.
Result<Document> ReadState(const ApiContext& api, const SubjectId& id, AnswerBudget::Part& memory) {
  auto snapshot = api.queries.NewestSnapshot(id);
  if (!snapshot) return snapshot.error();
  const std::vector<Event> none;
  const ChunkReader read = ReaderOf(api.store, *snapshot, none);
  const ChunkReader counted = [&](const Hash256& hash) -> Result<std::string> {
    auto bytes = read(hash);
    if (!bytes) return bytes;
    if (Status taken = memory.Take(RoomToRead(*bytes)); !taken) return taken.error();
    return bytes;
  };
  auto restored = Restore(id, *snapshot, none, counted);
  while (restored) {
    auto page = api.queries.Events(id, restored->head_seq, kPage, limits::kPageBytes);
    if (!page) return page.error();
    if (page->empty()) return std::move(restored->state);
    std::size_t bytes = 0;
    for (const Event& event : *page) bytes += event.payload ? RoomToRead(*event.payload) : 0;
    if (Status taken = memory.Take(bytes); !taken) return taken.error();
    if (Status more = GoOnRestoring(id, *page, ReaderOf(api.store, std::nullopt, *page), *restored); !more) return more.error();
    memory.Keep(restored->state.stored_bytes());  // the page has gone into it
  }
  return restored.error();
}

}  // namespace

Result<ReadRunState> ReadRun(const ApiContext& api, const SubjectId& id) {
  auto listed = api.queries.GetSubject(id);
  if (!listed) return listed.error();
  if (listed->kind != api.workflow_kind.Name()) return Error{Code::kNotFound, NoSuchRun(id.ToString())};
  ReadRunState run{AnswerBudget::Part(api.answers), std::move(*listed), {}, ""};
  auto state = ReadState(api, id, run.memory);
  if (!state) {
    if (state.code() != Code::kCorrupt && state.code() != Code::kNotFound) return state.error();
    run.damage = state.message();
    return run;
  }
  run.state = std::move(*state);
  return run;
}

}  // namespace acl::coordinator
