#include "coordinator/api/agent_state.h"

#include <fmt/format.h>

#include "coordinator/api/request_budget.h"
#include "shared/base/limits.h"
#include "shared/journal/segment.h"
#include "shared/journal/snapshot.h"
#include "shared/kernel/stored_chunks.h"
#include "shared/kinds/agent/agent_kind.h"

namespace acl::coordinator {

OrRefusal<SubjectView> ReadAgentView(const ApiContext& api, const HttpRequest& request) {
  auto id = ReadSubject(api, request.Param("id"));
  if (const auto* refusal = RefusalOf(id)) return *refusal;
  auto view = api.queries.GetSubject(ValueOf(id));
  if (!view) return ProblemOf(view.error());
  if (view->kind != agent::kKindName) return Problem(404, "not-found", fmt::format("there is no agent session '{}'", request.Param("id")));
  return std::move(*view);
}

Result<PastState> ReadStateAt(const ApiContext& api, const SubjectId& id, std::int64_t seq) {
  constexpr int kPage = 500;
  PastState past{AnswerBudget::Part(api.answers), {}, {}};
  const std::vector<Event> none;
  auto restored = Restore(id, std::nullopt, none, ReaderOf(api.store, std::nullopt, none));
  if (!restored) return restored.error();
  while (restored->head_seq < seq) {
    auto page =
        api.queries.Events(id, restored->head_seq, int(std::min<std::int64_t>(kPage, seq - restored->head_seq)), limits::kPageBytes);
    if (!page) return page.error();
    if (page->empty()) break;
    if (const std::int64_t first = page->front().seq; first > restored->head_seq + 1) {  // its oldest journals were dropped
      if (seq < first) return Error{Code::kInvalid, DroppedText(id, restored->head_seq, first)};
      auto closing = api.queries.SnapshotUpTo(id, first - 1);
      if (!closing) return closing.error();
      restored = Restore(id, *closing, none, ReaderOf(api.store, *closing, none));
      if (!restored) return restored.error();
      if (restored->head_seq + 1 != first) break;
      continue;
    }
    std::size_t bytes = 0;
    for (const Event& event : *page) bytes += event.payload ? RoomToRead(*event.payload) : 0;
    if (Status taken = past.memory.Take(bytes); !taken) return taken.error();
    if (Status more = GoOnRestoring(id, *page, ReaderOf(api.store, std::nullopt, *page), *restored); !more) return more.error();
    past.memory.Keep(restored->state.stored_bytes());
    past.event = std::move(page->back());
  }
  if (restored->head_seq != seq || seq < 1)
    return Error{Code::kInvalid,
                 fmt::format("there is no event {} of this session, or not any more (it has those up to {})", seq, restored->head_seq)};
  past.state = std::move(restored->state);
  return past;
}

}  // namespace acl::coordinator
