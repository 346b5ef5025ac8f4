// /v1/deliveries: what runs said to the outside (docs/guides/webhooks.md).
#include "coordinator/api/api.h"
#include "coordinator/api/request.h"
#include "shared/http/problem.h"

namespace acl::coordinator {
namespace {

using delivery::Delivery;

Json DeliveryToJson(const Delivery& row) {
  Json out = {{"message_id", row.message_id},
              {"channel", std::string(delivery::ChannelName(row.channel))},
              {"endpoint", row.endpoint},
              {"event", row.event},
              {"run", row.subject.ToString()},
              {"state", std::string(delivery::StateName(row.state))},
              {"attempts", row.attempts},
              {"failures", row.failures},
              {"created_at", FormatWallTime(row.created_at)},
              {"position", row.position},
              {"url", "/v1/deliveries/" + row.message_id}};
  if (row.state == delivery::State::kPending) out["next_attempt_at"] = FormatWallTime(row.next_attempt_at);
  if (row.ended_at) out["ended_at"] = FormatWallTime(*row.ended_at);
  if (!row.last_error.empty()) out["last_error"] = row.last_error;
  return out;
}

// With the body and the log.
HttpResponse AnswerWith(const ApiContext& api, const Result<Delivery>& row) {
  if (!row && row.code() == Code::kConflict) return Problem(409, "delivered", row.message());
  if (!row) return ProblemOf(row.error());
  auto log = api.deliveries->Attempts(row->message_id);
  if (!log) return ProblemOf(log.error());
  Json out = DeliveryToJson(*row);
  auto body = ParseJson(row->body, kStoredJson);
  out["body"] = body ? std::move(*body) : Json(row->body);
  out["log"] = Json::array();
  for (const auto& one : *log) {
    Json line = {{"attempt", one.number}, {"at", FormatWallTime(one.at)}, {"took_ms", one.took.count()}, {"status", one.status}};
    if (!one.error.empty()) line["error"] = one.error;
    out["log"].push_back(std::move(line));
  }
  return HttpResponse::OfJson(200, out);
}

HttpResponse ListDeliveries(const ApiContext& api, const HttpRequest& request) {
  auto limit = ReadNumber(request, "limit", 200, 1, 1000);
  if (const auto* refusal = RefusalOf(limit)) return *refusal;
  auto before = ReadNumber(request, "before", 0, 0, std::numeric_limits<std::int64_t>::max());
  if (const auto* refusal = RefusalOf(before)) return *refusal;
  std::optional<delivery::State> state;
  if (const auto* word = request.Query("state")) {
    state = delivery::ParseState(*word);
    if (!state) return Problem(400, "invalid-request", "state is one of pending, delivered, dead, discarded");
  }
  auto rows = api.deliveries->List(kDefaultProject, state, ValueOf(before), int(ValueOf(limit)) + 1);
  if (!rows) return ProblemOf(rows.error());
  const bool more = std::int64_t(rows->size()) > ValueOf(limit);
  if (more) rows->pop_back();
  Json answer = {{"deliveries", Json::array()}};
  for (const auto& row : *rows) answer["deliveries"].push_back(DeliveryToJson(row));
  if (more) answer["next_before"] = rows->back().position;
  return HttpResponse::OfJson(200, answer);
}

// Twice is the same as once, with or without a key.
HttpResponse ChangeOne(const ApiContext& api, const HttpRequest& request, bool again) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto body = ReadObject(request, {});
  if (const auto* refusal = RefusalOf(body)) return *refusal;
  const std::string& id = request.Param("message_id");
  return AnswerWith(api, again ? api.deliveries->Retry(kDefaultProject, id) : api.deliveries->Discard(kDefaultProject, id));
}

}  // namespace

void AddDeliveryRoutes(Router& router, const ApiContext& api) {
  if (api.deliveries == nullptr) return;
  const RouteOptions action{.max_body = 4096, .content_types = {"application/json"}};
  router.Add("GET", "/v1/deliveries", {}, [api](const HttpRequest& r) { return ListDeliveries(api, r); });
  router.Add("GET", "/v1/deliveries/{message_id}", {},
             [api](const HttpRequest& r) { return AnswerWith(api, api.deliveries->Get(kDefaultProject, r.Param("message_id"))); });
  router.Add("POST", "/v1/deliveries/{message_id}/retry", action, [api](const HttpRequest& r) { return ChangeOne(api, r, true); });
  router.Add("POST", "/v1/deliveries/{message_id}/discard", action, [api](const HttpRequest& r) { return ChangeOne(api, r, false); });
}

}  // namespace acl::coordinator
