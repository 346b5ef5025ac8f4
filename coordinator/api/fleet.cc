// GET /v1/workers, /v1/queues, /v1/leases, /v1/quarantine; POST /v1/quarantine/{id}/release.
#include "coordinator/api/api.h"
#include "coordinator/api/json_views.h"
#include "coordinator/api/request.h"
#include "shared/telemetry/log.h"

namespace acl::coordinator {
namespace {

OrRefusal<bool> ReadFlag(const HttpRequest& request, const std::string& name) {
  const auto* text = request.Query(name);
  if (text == nullptr || *text == "false") return false;
  if (*text == "true" || text->empty()) return true;
  return Problem(400, "bad-parameter", name + " is true or false");
}

template <class Row, class ToJson>
HttpResponse Answer(const char* name, const Result<std::vector<Row>>& rows, ToJson to_json) {
  if (!rows) return ProblemOf(rows.error());
  Json list = Json::array();
  for (const auto& row : *rows) list.push_back(to_json(row));
  return HttpResponse::OfJson(200, {{name, std::move(list)}});
}

HttpResponse Workers(const ApiContext& api, const HttpRequest& request) {
  auto dead = ReadFlag(request, "include_dead");
  if (const auto* refusal = RefusalOf(dead)) return *refusal;
  return Answer("workers", api.queries.Sessions(ValueOf(dead)), SessionToJson);
}

HttpResponse Queues(const ApiContext& api) {
  auto backlog = api.queries.ReadBacklog();
  if (!backlog) return ProblemOf(backlog.error());
  auto served = api.queries.Sessions(false);
  if (!served) return ProblemOf(served.error());
  std::map<std::string, int> workers;
  for (const SessionRow& session : *served) {
    for (const std::string& queue : session.queues) {
      backlog->queues.try_emplace(queue);
      ++workers[queue];
    }
  }
  Json list = Json::array();
  for (const auto& [name, queue] : backlog->queues) {
    list.push_back(
        {{"queue", name}, {"ready", queue.ready}, {"oldest_seconds", double(queue.oldest.count()) / 1000}, {"workers", workers[name]}});
  }
  return HttpResponse::OfJson(200, {{"queues", std::move(list)}});
}

HttpResponse Leases(const ApiContext& api, const HttpRequest& request) {
  auto limit = ReadNumber(request, "limit", 200, 1, 1000);
  if (const auto* refusal = RefusalOf(limit)) return *refusal;
  return Answer("leases", api.queries.Leases(int(ValueOf(limit))), LeaseToJson);
}

HttpResponse Quarantine(const ApiContext& api, const HttpRequest& request) {
  auto released = ReadFlag(request, "include_released");
  if (const auto* refusal = RefusalOf(released)) return *refusal;
  auto rows = api.queries.Quarantined(ValueOf(released));
  if (!rows) return ProblemOf(rows.error());
  auto backlog = api.queries.ReadBacklog();
  if (!backlog) return ProblemOf(backlog.error());
  Json list = Json::array();
  for (const auto& row : *rows) list.push_back(QuarantineToJson(row));
  return HttpResponse::OfJson(
      200, {{"quarantined", std::move(list)}, {"suspects", {{"waiting", backlog->suspects_waiting}, {"held", backlog->suspects_held}}}});
}

// Releasing twice gives the first answer again, with or without a key: nothing is done twice.
HttpResponse Release(const ApiContext& api, const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto body = ReadObject(request, {});
  if (const auto* refusal = RefusalOf(body)) return *refusal;
  auto id = ReadSubject(api, request.Param("id"));
  if (const auto* refusal = RefusalOf(id)) return *refusal;
  const auto answer = HttpResponse::OfJson(200, {{"id", ValueOf(id).ToString()}, {"released", true}});
  auto status = api.store.ReleaseQuarantine(ValueOf(id), request.principal.empty() ? "api" : request.principal);
  if (status.ok()) {
    static const Logger log("quarantine");
    log.Warn("released by a person", {{"run", ValueOf(id).ToString()}, {"by", request.principal.empty() ? "api" : request.principal}});
    auto view = api.queries.GetSubject(ValueOf(id));
    api.bell.RingWork(view ? view->queue : "default");
    return answer;
  }
  if (status.code() != Code::kNotFound) return ProblemOf(status.error());
  auto known = api.queries.Quarantined(true);
  if (!known) return ProblemOf(known.error());
  for (const auto& row : *known) {
    if (row.subject == ValueOf(id)) return HttpResponse(answer).With("Idempotent-Replayed", "true");
  }
  if (auto view = api.queries.GetSubject(ValueOf(id)); !view) return ProblemOf(view.error());
  return Problem(404, "not-quarantined", "run " + ValueOf(id).ToString() + " is not quarantined");
}

}  // namespace

void AddFleetRoutes(Router& router, const ApiContext& api) {
  router.Add("GET", "/v1/workers", {}, [api](const HttpRequest& r) { return Workers(api, r); });
  router.Add("GET", "/v1/queues", {}, [api](const HttpRequest&) { return Queues(api); });
  router.Add("GET", "/v1/leases", {}, [api](const HttpRequest& r) { return Leases(api, r); });
  router.Add("GET", "/v1/quarantine", {}, [api](const HttpRequest& r) { return Quarantine(api, r); });
  router.Add("POST", "/v1/quarantine/{id}/release", {.max_body = 4096, .content_types = {"application/json"}},
             [api](const HttpRequest& r) { return Release(api, r); });
}

}  // namespace acl::coordinator
