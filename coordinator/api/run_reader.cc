#include "coordinator/api/run_reader.h"

#include "shared/journal/snapshot.h"
#include "shared/kernel/stored_chunks.h"
#include "shared/kernel/subject_part.h"

namespace acl::coordinator {
namespace {

constexpr int kPage = 1000;

// Snapshot first, then the events after it: a snapshot that a commit puts in between is only newer than needed, and events that came
// in between belong to the state. Nothing here is locked.
Result<Document> ReadState(const ApiContext& api, const SubjectId& id) {
  auto snapshot = api.queries.NewestSnapshot(id);
  if (!snapshot) return snapshot.error();
  std::vector<Event> events;
  std::int64_t after = *snapshot ? (*snapshot)->last_event_seq : 0;
  for (;;) {
    auto page = api.queries.Events(id, after, kPage);
    if (!page) return page.error();
    events.insert(events.end(), page->begin(), page->end());
    if (int(page->size()) < kPage) break;
    after = page->back().seq;
  }
  auto restored = Restore(id, *snapshot, events, ReaderOf(api.store, *snapshot, events));
  if (!restored) return restored.error();
  return std::move(restored->state);
}

}  // namespace

Result<ReadRunState> ReadRun(const ApiContext& api, const SubjectId& id) {
  auto listed = api.queries.GetSubject(id);
  if (!listed) return listed.error();
  if (listed->kind != api.workflow_kind.Name()) return Error{Code::kNotFound, NoSuchRun(id.ToString())};
  ReadRunState run{std::move(*listed), {}, ""};
  auto state = ReadState(api, id);
  if (!state) {
    if (state.code() != Code::kCorrupt && state.code() != Code::kNotFound) return state.error();
    run.damage = state.message();
    return run;
  }
  run.state = std::move(*state);
  return run;
}

}  // namespace acl::coordinator
