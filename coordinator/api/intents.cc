// /v1/ask/intents: what models proposed, and what people say of it (shared/kinds/ask/intents.h). Who may decide says approval::Decide, in
// the session, as in every run that asks.
#include <fmt/format.h>

#include <algorithm>

#include "coordinator/api/ask_request.h"
#include "coordinator/ask/ask_desk.h"
#include "shared/approval/render.h"
#include "shared/base/json_members.h"

namespace acl::coordinator {

namespace {

constexpr std::size_t kMostIntentBytes = 64u << 10;
constexpr int kMostIntentSessions = 100;

// A line of a list; whole: with its arguments, as they will be sent, and what a person should see before deciding.
Json IntentJson(const ask::Intent& intent, bool whole) {
  const approval::Request& request = intent.request;
  Json out = {{"intent_id", request.approval_id},
              {"exchange_id", intent.exchange_id},
              {"session_id", request.run_id},
              {"tool", intent.tool},
              {"state", request.state},
              {"digest", request.digest},
              {"proposed_at", FormatWallTime(request.requested_at)},
              {"run_id", intent.run_id.empty() ? Json() : Json(intent.run_id)},
              {"decided_by", request.decided_by.empty() ? Json() : Json(request.decided_by)},
              {"decided_at", request.decided_at ? Json(FormatWallTime(*request.decided_at)) : Json()},
              {"expires_at", request.expires_at ? Json(FormatWallTime(*request.expires_at)) : Json()},
              {"error", intent.error.empty() ? Json() : Json(intent.error)}};
  if (!whole) return out;
  out["request"] = approval::ToJson(request);
  out["workflow"] = intent.workflow.empty() ? Json() : Json(intent.workflow);
  const approval::Shown seen = approval::Render(request);
  out["shown"] = Json::array();
  for (const approval::ShownLine& line : seen.lines) out["shown"].push_back({{"name", line.name}, {"text", line.text}});
  out["shown_digest"] = seen.digest;
  out["shown_truncated"] = seen.truncated;
  return out;
}

HttpResponse ListIntents(const ApiContext& api, const HttpRequest& request) {
  const std::string* named = request.Query("project");
  auto project = ReadProjectNamed(api, named ? *named : "");
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  const std::string* state = request.Query("state");
  const auto known = {approval::kPending, approval::kApproved, approval::kRejected, approval::kTimeout};
  if (state && *state != "ALL" && std::find(known.begin(), known.end(), *state) == known.end())
    return Problem(400, "bad-parameter", "state is one of PENDING, APPROVED, REJECTED, TIMEOUT, ALL");
  const std::string wanted = state ? *state : std::string(approval::kPending);
  auto all = api.asks->Intents(ValueOf(project), kMostIntentSessions);
  if (!all) return ProblemOf(all.error());
  Json intents = Json::array();
  for (const ask::Intent& intent : *all)
    if (wanted == "ALL" || intent.request.state == wanted) intents.push_back(IntentJson(intent, false));
  return HttpResponse::OfJson(200, {{"intents", std::move(intents)}});
}

HttpResponse AnswerIntent(const ApiContext& api, const ProjectId& project, const std::string& id) {
  auto intent = api.asks->Intent(project, id);
  if (!intent && intent.code() == Code::kNotFound) return Problem(404, "not-found", intent.message() + ": GET /v1/ask/intents lists them");
  if (!intent) return ProblemOf(intent.error());
  return HttpResponse::OfJson(200, IntentJson(*intent, true));
}

// A refusal of approval::Decide, with the status that approvals of runs have.
HttpResponse RefusedDecision(const CommandRefusal& refused) {
  HttpResponse response = RefusedBy(refused.reason, refused.code, refused.message, refused.details);
  if (refused.reason == "NOT_ALLOWED") response.status = 403;
  return response;
}

HttpResponse DecideIntent(const ApiContext& api, const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto read = ReadObject(request, {"decision", "digest", "comment", "shown_digest", "by", "roles", "channel", "project"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  const Json& body = ValueOf(read);
  if (auto wrong = WrongText(body, {"decision", "digest"}, {"comment", "shown_digest", "by", "channel", "project"}))
    return std::move(*wrong);
  auto by = ReadBy(request, body);
  if (const auto* refusal = RefusalOf(by)) return *refusal;
  auto project = ReadProjectNamed(api, TextIn(body, "project"));
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  const std::string id = request.Param("intent_id");
  auto intent = api.asks->Intent(ValueOf(project), id);
  if (!intent && intent.code() == Code::kNotFound) return Problem(404, "not-found", intent.message());
  if (!intent) return ProblemOf(intent.error());
  if (const std::string seen = TextIn(body, "shown_digest");
      !seen.empty() && intent->request.pending() && seen != approval::Render(intent->request).digest)
    return Problem(409, "shown-digest-mismatch", "what was shown is not what is asked; look at it again (airun intents show)");
  const bool has_key = !request.principal.empty();  // whose it is says the key; roles of the body are words
  Json command = {{"name", "decide_intent"},
                  {"intent_id", id},
                  {"decision", TextIn(body, "decision")},
                  {"digest", TextIn(body, "digest")},
                  {"comment", TextIn(body, "comment")},
                  {"by", ValueOf(by)},
                  {"roles", has_key ? Json(request.roles) : body.value("roles", Json::array())},
                  {"assurance", has_key ? "key" : "none"},
                  {"channel", TextIn(body, "channel") == "cli" ? "cli" : "api"}};
  const auto session = SubjectId::Parse(intent->request.run_id);
  auto told = api.asks->Session(session ? *session : SubjectId{}, std::move(command), ValueOf(key));
  if (!told && told.code() == Code::kInvalid) return Problem(422, "key-reused", told.message());
  if (!told) return ProblemOf(told.error());
  if (told->refused) return RefusedDecision(*told->refused);
  return AnswerIntent(api, ValueOf(project), id);
}

}  // namespace

void AddIntentRoutes(Router& router, const ApiContext& api) {
  if (api.asks == nullptr) return;
  const RouteOptions decision{.max_body = kMostIntentBytes, .content_types = {"application/json"}, .body_required = true};
  router.Add("GET", "/v1/ask/intents", {}, [api](const HttpRequest& r) { return ListIntents(api, r); });
  router.Add("GET", "/v1/ask/intents/{intent_id}", {}, [api](const HttpRequest& r) {
    const std::string* named = r.Query("project");
    auto project = ReadProjectNamed(api, named ? *named : "");
    if (const auto* refusal = RefusalOf(project)) return *refusal;
    return AnswerIntent(api, ValueOf(project), r.Param("intent_id"));
  });
  router.Add("POST", "/v1/ask/intents/{intent_id}/decision", decision, [api](const HttpRequest& r) { return DecideIntent(api, r); });
}

}  // namespace acl::coordinator
