// GET /v1/workflows/{id}/events, and of a project: a page of the journal as JSON, or the journal as it grows as server-sent events.
#include "coordinator/api/journal.h"

#include <charconv>

#include "coordinator/api/answer_budget.h"
#include "coordinator/api/event_feed.h"
#include "coordinator/api/json_views.h"
#include "coordinator/api/request.h"
#include "shared/http/sse.h"
#include "shared/kernel/subject_part.h"

namespace acl::coordinator {
namespace {

constexpr std::int64_t kMaxSeq = std::int64_t(1) << 53;

bool WantsStream(const HttpRequest& request) {
  const auto* accept = request.Header("accept");
  return accept != nullptr && accept->find("text/event-stream") != std::string::npos;
}

// A place of the feed, released if the connection goes before the stream begins.
struct Place {
  explicit Place(EventFeed* f) : feed(f) {}
  ~Place() {
    if (feed != nullptr) feed->Release();
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  EventFeed* feed;
};

Result<SubjectView> Find(const ApiContext& api, const SubjectId& id, std::string_view kind) {
  auto view = api.queries.GetSubject(id);
  if (view && view->kind != kind) return Error{Code::kNotFound, NoSuchRun(id.ToString())};
  return view;
}

HttpResponse Stream(const ApiContext& api, const HttpRequest& request, const SubjectId& id, std::string_view kind, std::int64_t after) {
  if (const auto* last = request.Header("last-event-id")) {
    const auto [end, error] = std::from_chars(last->data(), last->data() + last->size(), after);
    if (error != std::errc() || end != last->data() + last->size() || after < 0) {
      return Problem(400, "bad-last-event-id", "Last-Event-ID is the event_seq of the last event seen");
    }
  }
  if (auto view = Find(api, id, kind); !view) return ProblemOf(view.error());
  if (request.method == "HEAD") return SseResponse([](const std::shared_ptr<HttpStream>&) {});
  if (!api.feed.Reserve()) return Problem(503, "too-many-streams", "too many event streams are open; try again").With("Retry-After", "5");
  auto place = std::make_shared<Place>(&api.feed);
  return SseResponse([place, id, after](std::shared_ptr<HttpStream> stream) {
    std::exchange(place->feed, nullptr)->Follow(id, after, std::move(stream));
  });
}

HttpResponse GetEvents(const ApiContext& api, const HttpRequest& request) {
  auto id = ReadSubject(api, request.Param("id"));
  if (const auto* refusal = RefusalOf(id)) return *refusal;
  return AnswerEvents(api, request, ValueOf(id), api.workflow_kind.Name());
}

}  // namespace

HttpResponse AnswerEvents(const ApiContext& api, const HttpRequest& request, const SubjectId& id, std::string_view kind) {
  auto after = ReadNumber(request, "after_seq", 0, 0, kMaxSeq);
  if (const auto* refusal = RefusalOf(after)) return *refusal;
  auto limit = ReadNumber(request, "limit", 200, 1, 1000);
  if (const auto* refusal = RefusalOf(limit)) return *refusal;
  if (WantsStream(request)) return Stream(api, request, id, kind, ValueOf(after));
  auto view = Find(api, id, kind);  // an unknown run is 404, not an empty page
  if (!view) return ProblemOf(view.error());
  AnswerBudget::Part memory(api.answers);
  auto events = api.queries.Events(id, ValueOf(after), int(ValueOf(limit)), limits::kPageBytes);
  if (!events) return ProblemOf(events.error());
  std::size_t bytes = 0;
  for (const auto& event : *events) bytes += event.payload ? event.payload->size() : 0;
  if (Status taken = memory.Take(2 * bytes); !taken) return ProblemOf(taken.error());
  Json rest = {{"head_seq", std::max(view->head.seq, events->empty() ? 0 : events->back().seq)}};
  if (!events->empty() && events->back().seq < view->head.seq) rest["next_after_seq"] = events->back().seq;
  Json dropped = events->empty() ? Json() : DroppedToJson(id, ValueOf(after), events->front().seq);
  if (!dropped.is_null()) rest["dropped"] = std::move(dropped);
  constexpr std::size_t kBesidePayload = 1'024;
  std::string text = "{\"events\":";
  text.reserve(bytes + kBesidePayload * (events->size() + 1));
  char before = '[';
  for (auto& event : *events) {
    text += before;
    text += EventText(event);
    event.payload.reset();
    before = ',';
  }
  text += before == '[' ? "[]," : "],";
  text += std::string_view(DumpJson(rest)).substr(1);
  return HttpResponse::OfText(200, std::move(text), "application/json");
}

void AddJournalRoutes(Router& router, const ApiContext& api) {
  router.Add("GET", "/v1/workflows/{id}/events", {}, [api](const HttpRequest& r) { return GetEvents(api, r); });
}

}  // namespace acl::coordinator
