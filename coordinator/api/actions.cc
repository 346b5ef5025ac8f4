// POST /v1/workflows/{id}/cancel, pause, resume, signal, and /steps/{step_id}/resolve: each is one row of the run's inbox. The answer says
// that it was taken; what became of it stands in the journal.
#include <fmt/format.h>

#include "coordinator/api/api.h"
#include "coordinator/api/request.h"
#include "coordinator/api/run_reader.h"
#include "shared/kernel/subject_part.h"
#include "shared/workflow/run_view.h"

namespace acl::coordinator {
namespace {

constexpr std::size_t kMaxActionBytes = 1u << 20;

HttpResponse Post(const ApiContext& api, const HttpRequest& request, const std::string& kind, Json payload) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto subject = ReadSubject(api, request.Param("id"));
  if (const auto* refusal = RefusalOf(subject)) return *refusal;
  const SubjectId id = ValueOf(subject);
  // Of what people do now and then the kind is looked at; signals, which may be many, are refused by whoever takes none.
  if (kind != "signal") {
    auto view = api.queries.GetSubject(id);
    if (view && view->kind != api.workflow_kind.Name())
      return Problem(404, "not-found",
                     fmt::format("{}; it is of kind '{}' (airun {})", NoSuchRun(request.Param("id")), view->kind, view->kind));
  }
  if (!request.principal.empty()) payload["by"] = request.principal;
  if (auto status = CheckStorable(payload); !status) return Problem(422, "invalid-request", status.message());
  InboxPost post{id, api.ids.New<InboxId>(), kind, DumpJson(payload), ValueOf(key)};
  auto answer = api.store.Post(post);
  if (!answer) {
    if (IsKeyConflict(answer.error())) return Problem(422, "key-reused", "this Idempotency-Key was used for another request of this run");
    if (answer.code() == Code::kConflict) {
      return Problem(409, "run-closed", fmt::format("run {} has ended already; {} changes nothing", id.ToString(), kind));
    }
    if (answer.code() == Code::kNotFound) return Problem(404, "not-found", NoSuchRun(request.Param("id")));
    return ProblemOf(answer.error());
  }
  // No run: what is commanded reads it and makes nothing of it.
  if (IsCommanded(answer->queue)) return Problem(404, "not-found", NoSuchRun(request.Param("id")));
  auto response = HttpResponse::OfJson(202, {{"id", id.ToString()}, {"accepted", kind}});
  if (answer->replayed) {
    Counter(api.idempotency_hits).Add();
    return response.With("Idempotent-Replayed", "true");
  }
  api.bell.RingPosted(*answer, id);
  return response;
}

// The member as this JSON type, or 422.
std::optional<HttpResponse> Wrong(const Json& body, const char* member, Json::value_t type, bool required) {
  if (!body.contains(member)) {
    if (!required) return std::nullopt;
    return Problem(422, "invalid-request", fmt::format("'{}' is missing", member),
                   Json::array({ErrorItem("missing-member", fmt::format("'{}' is missing", member), std::string("/") + member)}));
  }
  if (body[member].type() == type) return std::nullopt;
  return Problem(
      422, "invalid-request", fmt::format("'{}' is {}, not {}", member, body[member].type_name(), Json(type).type_name()),
      Json::array({ErrorItem("wrong-type", fmt::format("'{}' is not {}", member, Json(type).type_name()), std::string("/") + member)}));
}

using Kind = Json::value_t;

HttpResponse Cancel(const ApiContext& api, const HttpRequest& request) {
  auto body = ReadObject(request, {"reason", "compensate"});
  if (const auto* refusal = RefusalOf(body)) return *refusal;
  for (auto wrong : {Wrong(ValueOf(body), "reason", Kind::string, false), Wrong(ValueOf(body), "compensate", Kind::boolean, false)}) {
    if (wrong) return std::move(*wrong);
  }
  return Post(api, request, "cancel", std::move(ValueOf(body)));
}

HttpResponse PauseOrResume(const ApiContext& api, const HttpRequest& request, const char* kind) {
  auto body = ReadObject(request, {"reason"});
  if (const auto* refusal = RefusalOf(body)) return *refusal;
  if (auto wrong = Wrong(ValueOf(body), "reason", Kind::string, false)) return std::move(*wrong);
  return Post(api, request, kind, std::move(ValueOf(body)));
}

HttpResponse Signal(const ApiContext& api, const HttpRequest& request) {
  auto body = ReadObject(request, {"name", "payload"});
  if (const auto* refusal = RefusalOf(body)) return *refusal;
  if (auto wrong = Wrong(ValueOf(body), "name", Kind::string, true)) return std::move(*wrong);
  return Post(api, request, "signal", std::move(ValueOf(body)));
}

// A step becomes UNCERTAIN by its own, never because somebody resolves it, so what the database says now may be told at once. A repeat of
// a request that was taken goes on to its first answer.
std::optional<HttpResponse> NotUncertain(const ApiContext& api, const HttpRequest& request) {
  auto id = ReadSubject(api, request.Param("id"));
  if (const auto* refusal = RefusalOf(id)) return *refusal;
  if (request.Header("idempotency-key") != nullptr) return std::nullopt;
  auto run = ReadRun(api, ValueOf(id));
  if (!run) return ProblemOf(run.error());
  auto view = run->damage.empty() ? workflow::ViewOf(run->state) : Result<workflow::RunView>(Code::kCorrupt, run->damage);
  if (!view) return ProblemOf(view.error());
  const std::string& step_id = request.Param("step_id");
  std::string status;
  for (const auto& step : view->steps) status = step.step_id == step_id ? step.status : status;
  for (const auto& undo : view->compensations) status = undo.step_id == step_id ? undo.status : status;
  if (status.empty()) return Problem(404, "no-such-step", "the run has no step '" + step_id + "'");
  if (status == "UNCERTAIN") return std::nullopt;
  return Problem(409, "not-uncertain", "step '" + step_id + "' is " + status + "; only an UNCERTAIN step can be resolved");
}

HttpResponse Resolve(const ApiContext& api, const HttpRequest& request) {
  auto read = ReadObject(request, {"decision", "outputs"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Json& body = ValueOf(read);
  for (auto wrong : {Wrong(body, "decision", Kind::string, true), Wrong(body, "outputs", Kind::object, false)}) {
    if (wrong) return std::move(*wrong);
  }
  const std::string decision = body["decision"];
  if (decision != "completed" && decision != "failed" && decision != "retry") {
    return Problem(422, "invalid-request", "decision is completed, failed or retry",
                   Json::array({ErrorItem("bad-value", "'" + decision + "' is none of completed, failed, retry", "/decision")}));
  }
  if (auto refusal = NotUncertain(api, request)) return std::move(*refusal);
  body["step_id"] = request.Param("step_id");
  return Post(api, request, "resolve", std::move(body));
}

}  // namespace

void AddActionRoutes(Router& router, const ApiContext& api) {
  const RouteOptions options{.max_body = kMaxActionBytes, .content_types = {"application/json"}};
  const std::string run = "/v1/workflows/{id}";
  router.Add("POST", run + "/cancel", options, [api](const HttpRequest& r) { return Cancel(api, r); });
  router.Add("POST", run + "/pause", options, [api](const HttpRequest& r) { return PauseOrResume(api, r, "pause"); });
  router.Add("POST", run + "/resume", options, [api](const HttpRequest& r) { return PauseOrResume(api, r, "resume"); });
  router.Add("POST", run + "/signal", options, [api](const HttpRequest& r) { return Signal(api, r); });
  router.Add("POST", run + "/steps/{step_id}/resolve", options, [api](const HttpRequest& r) { return Resolve(api, r); });
}

}  // namespace acl::coordinator
