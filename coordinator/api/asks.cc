// /v1/ask: a question to a language model, and what stands on record; /v1/drift: what the validator found (docs/guides/aegis.md).
#include <fmt/format.h>

#include "coordinator/api/ask_request.h"
#include "coordinator/ask/ask_desk.h"
#include "shared/aegis/compile.h"
#include "shared/aegis/rebuild.h"
#include "shared/base/json_members.h"

namespace acl::coordinator {

namespace {

constexpr std::size_t kMostAskBytes = 256u << 10;

HttpResponse RefusalOfAsk(const AskRefusal& refusal) {
  Json more = refusal.details.is_object() ? refusal.details : Json::object();
  HttpResponse response = Problem(refusal.status, refusal.code, refusal.message, Json::array(), std::move(more));
  return refusal.status == 503 ? response.With("Retry-After", "1") : response;
}

// "run": {"id", "step", "token", "dispatched"?}: the attempt of a step asks, through llm.ask.
OrRefusal<std::optional<AskingStep>> ReadAsking(const Json& body) {
  const auto found = body.find("run");
  if (found == body.end()) return std::optional<AskingStep>();
  const auto wrong = [](const char* member) {
    return Problem(422, "invalid-request", "'run' says which attempt asks: {\"id\", \"step\", \"token\"}",
                   Json::array({ErrorItem("bad-value", "is missing, or not of its type", std::string("/run/") + member)}));
  };
  if (!found->is_object()) return wrong("id");
  AskingStep asking;
  const auto text = [&](const char* member) {
    return found->contains(member) && (*found)[member].is_string() ? TextIn(*found, member) : "";
  };
  const auto run = SubjectId::Parse(text("id"));
  if (!run) return wrong("id");
  asking.run = *run;
  asking.step = text("step");
  if (asking.step.empty()) return wrong("step");
  const auto token = found->find("token");
  if (token == found->end() || !token->is_number_integer()) return wrong("token");
  asking.token = Token{token->get<std::int64_t>()};
  if (found->contains("dispatched") && !(*found)["dispatched"].is_boolean()) return wrong("dispatched");
  asking.dispatched = found->value("dispatched", false);
  return std::optional(std::move(asking));
}

// Who asks, and in which project: a step asks as its run, in its project, in sessions of its own.
std::optional<HttpResponse> ReadAsker(const ApiContext& api, const HttpRequest& request, const Json& body, AskAsked* asked) {
  if (asked->asking) {
    if (!asked->key) return Problem(422, "invalid-request", "a step asks under its Idempotency-Key");
    auto run = api.queries.GetSubject(asked->asking->run);
    if (!run) return ProblemOf(run.error());
    asked->project = run->project;
    asked->by = "run:" + asked->asking->run.ToString();
    return std::nullopt;
  }
  auto by = ReadBy(request, body);
  if (const auto* refusal = RefusalOf(by)) return *refusal;
  auto project = ReadProjectNamed(api, TextIn(body, "project"));
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  asked->by = ValueOf(by);
  asked->project = ValueOf(project);
  return std::nullopt;
}

HttpResponse PostAsk(const ApiContext& api, const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto read = ReadObject(request, {"question", "project", "session_id", "new_session", "deep_history", "intent", "by", "run"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  const Json& body = ValueOf(read);
  if (auto wrong = WrongText(body, {"question"}, {"project", "session_id", "intent", "by"})) return std::move(*wrong);
  if (const std::size_t bytes = body["question"].get_ref<const std::string&>().size(); bytes > aegis::kUserInputBytes)
    return Problem(
        422, "invalid-request",
        fmt::format("'question' has {} bytes, {} at most: ask less at once, or refer to a file by its id", bytes, aegis::kUserInputBytes),
        Json::array({ErrorItem("bad-value", "too long", "/question")}));
  for (const char* flag : {"new_session", "deep_history"}) {
    if (body.contains(flag) && !body[flag].is_boolean())
      return Problem(422, "invalid-request", fmt::format("'{}' is not true or false", flag),
                     Json::array({ErrorItem("bad-value", "not true or false", std::string("/") + flag)}));
  }
  auto asking = ReadAsking(body);
  if (const auto* refusal = RefusalOf(asking)) return *refusal;
  AskAsked asked;
  asked.key = ValueOf(key);
  asked.caller = request.span;
  asked.asking = ValueOf(asking);
  if (auto refusal = ReadAsker(api, request, body, &asked)) return std::move(*refusal);
  asked.question = TextIn(body, "question");
  asked.intent = TextIn(body, "intent");
  asked.deep_history = body.value("deep_history", false);
  asked.new_session = body.value("new_session", false);
  if (const std::string session = TextIn(body, "session_id"); !session.empty()) {
    asked.session = SubjectId::Parse(session);
    if (!asked.session)
      return Problem(422, "invalid-request", "'session_id' is no id", Json::array({ErrorItem("bad-value", "no id", "/session_id")}));
  }
  auto told = api.asks->Ask(asked);
  if (const auto* refusal = std::get_if<AskRefusal>(&told)) return RefusalOfAsk(*refusal);
  return HttpResponse::OfJson(200, std::get<Json>(told));
}

template <class List>
HttpResponse AnswerList(const ApiContext& api, const HttpRequest& request, const char* name, const List& list) {
  const std::string* named = request.Query("project");
  auto project = ReadProjectNamed(api, named ? *named : "");
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  auto limit = ReadNumber(request, "limit", 50, 1, 500);
  if (const auto* refusal = RefusalOf(limit)) return *refusal;
  const std::string* before = request.Query("before");
  if (before && !before->empty() && !SubjectId::Parse(*before))
    return Problem(400, "bad-parameter", "before is an id: that of the last row of the page before");
  auto rows = list(ValueOf(project), before ? *before : std::string(), int(ValueOf(limit)));
  if (!rows) return ProblemOf(rows.error());
  return HttpResponse::OfJson(200, {{name, std::move(*rows)}});
}

HttpResponse ListExchanges(const ApiContext& api, const HttpRequest& request) {
  SubjectId session;
  if (const std::string* named = request.Query("session")) {
    const auto id = SubjectId::Parse(*named);
    if (!id) return Problem(400, "bad-parameter", "session is the id of an ask session");
    session = *id;
  }
  return AnswerList(api, request, "exchanges", [&](const ProjectId& project, const std::string& before, int limit) {
    return api.asks->rows().Exchanges(project, session, before, limit);
  });
}

OrRefusal<Json> ReadExchange(const ApiContext& api, const HttpRequest& request) {
  const std::string* named = request.Query("project");
  auto project = ReadProjectNamed(api, named ? *named : "");
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  auto row = api.asks->rows().Exchange(ValueOf(project), request.Param("exchange_id"));
  if (!row && row.code() == Code::kNotFound) return Problem(404, "not-found", row.message() + ": GET /v1/ask/exchanges lists them");
  if (!row) return ProblemOf(row.error());
  return std::move(*row);
}

// Bundle and prompt once more from the record, and whether they are the same bit by bit.
HttpResponse Rebuild(const ApiContext& api, const HttpRequest& request) {
  auto row = ReadExchange(api, request);
  if (const auto* refusal = RefusalOf(row)) return *refusal;
  const Json& exchange = ValueOf(row);
  const auto session = SubjectId::Parse(TextIn(exchange, "session_id"));
  auto recorded = api.asks->Recorded(session ? *session : SubjectId{}, TextIn(exchange, "exchange_id"));
  if (!recorded && recorded.code() == Code::kNotFound)
    return Problem(409, "removed", "what the bundle was compiled from is not in the journal any more: " + recorded.message());
  if (!recorded) return ProblemOf(recorded.error());
  auto rebuilt = aegis::RebuildBundle(recorded->value("inputs", Json::object()));
  if (!rebuilt) return Problem(409, "not-rebuilt", rebuilt.message());
  const bool same = rebuilt->bundle == TextIn(exchange, "context_bundle") &&
                    rebuilt->bundle_hash == TextIn(exchange, "context_bundle_hash") &&
                    CanonicalMessages(rebuilt->messages) == TextIn(exchange, "prompt") &&
                    rebuilt->prompt_hash == TextIn(exchange, "prompt_hash") && rebuilt->prefix_hash == TextIn(exchange, "prefix_hash");
  return HttpResponse::OfJson(200, {{"exchange_id", exchange["exchange_id"]},
                                    {"same", same},
                                    {"context_bundle_hash", rebuilt->bundle_hash},
                                    {"prompt_hash", rebuilt->prompt_hash},
                                    {"prefix_hash", rebuilt->prefix_hash},
                                    {"context_bundle", rebuilt->bundle},
                                    {"prompt", CanonicalMessages(rebuilt->messages)}});
}

HttpResponse ListDrift(const ApiContext& api, const HttpRequest& request) {
  const std::string* status = request.Query("status");
  if (status && *status != "open" && *status != "closed" && *status != "all")
    return Problem(400, "bad-parameter", "status is one of open, closed, all");
  const std::string wanted = !status ? "open" : *status == "all" ? "" : *status;
  return AnswerList(api, request, "drift", [&](const ProjectId& project, const std::string&, int limit) {
    return api.asks->rows().Drift(project, wanted, limit);
  });
}

HttpResponse CloseDrift(const ApiContext& api, const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto read = ReadObject(request, {"reason", "project", "by"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  const Json& body = ValueOf(read);
  if (auto wrong = WrongText(body, {"reason"}, {"project", "by"})) return std::move(*wrong);
  auto by = ReadBy(request, body);
  if (const auto* refusal = RefusalOf(by)) return *refusal;
  auto project = ReadProjectNamed(api, TextIn(body, "project"));
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  const std::string id = request.Param("drift_id");
  auto row = api.asks->rows().OneDrift(ValueOf(project), id);
  if (!row) return ProblemOf(row.error());
  const auto session = SubjectId::Parse(*row ? TextIn(**row, "session_id") : "");
  if (!session) return Problem(404, "not-found", "there is no drift '" + id.substr(0, 100) + "' in this project: GET /v1/drift lists them");
  // That it is closed already, and whether by this very request, its session knows.
  auto told = api.asks->Session(
      *session, {{"name", "close_drift"}, {"drift_id", id}, {"reason", TextIn(body, "reason")}, {"by", ValueOf(by)}}, ValueOf(key));
  if (!told && told.code() == Code::kInvalid) return Problem(422, "key-reused", told.message());
  if (!told) return ProblemOf(told.error());
  if (told->refused) return RefusedBy(told->refused->reason, told->refused->code, told->refused->message, told->refused->details);
  return HttpResponse::OfJson(200, {{"driftwatch_id", id}, {"status", "closed"}});
}

}  // namespace

OrRefusal<ProjectId> ReadProjectNamed(const ApiContext& api, const std::string& name) {
  if (name.empty() || api.projects == nullptr) return kDefaultProject;
  auto found = api.projects->Find(name);
  if (found) return found->id;
  if (found.code() == Code::kNotFound)
    return Problem(404, "not-found", "there is no project '" + name.substr(0, 100) + "': GET /v1/projects lists them");
  return ProblemOf(found.error());
}

OrRefusal<std::string> ReadBy(const HttpRequest& request, const Json& body) {
  if (!request.principal.empty()) return request.principal;
  const std::string by = TextIn(body, "by");
  if (!by.empty() && by.size() <= 300) return by;
  return Problem(422, "invalid-request", "'by' is missing: the name of the person or agent who asks",
                 Json::array({ErrorItem("missing-member", "'by' is missing", "/by")}));
}

std::optional<HttpResponse> WrongText(const Json& body, std::initializer_list<const char*> needed,
                                      std::initializer_list<const char*> optional) {
  const auto wrong = [](const char* member, const char* what) {
    return Problem(422, "invalid-request", fmt::format("'{}' {}", member, what),
                   Json::array({ErrorItem("bad-value", fmt::format("'{}' {}", member, what), std::string("/") + member)}));
  };
  for (const char* member : needed) {
    if (!body.contains(member)) return wrong(member, "is missing");
    if (!body[member].is_string() || body[member].get_ref<const std::string&>().empty()) return wrong(member, "is no text");
  }
  for (const char* member : optional)
    if (body.contains(member) && !body[member].is_string()) return wrong(member, "is no text");
  return std::nullopt;
}

HttpResponse RefusedBy(const std::string& reason, Code code, const std::string& message, const Json& details) {
  std::string word;
  for (const char c : reason) word += c == '_' ? '-' : char(std::tolower(static_cast<unsigned char>(c)));
  const int status = code == Code::kNotFound ? 404 : code == Code::kConflict ? 409 : 422;
  return Problem(status, reason == "FORM" ? "invalid-request" : word, message, Json::array(), {{"reason", reason}, {"details", details}});
}

void AddAskRoutes(Router& router, const ApiContext& api) {
  if (api.asks == nullptr) return;
  const RouteOptions asks{.max_body = kMostAskBytes, .content_types = {"application/json"}, .body_required = true};
  router.Add("POST", "/v1/ask", asks, [api](const HttpRequest& r) { return PostAsk(api, r); });
  router.Add("GET", "/v1/ask/sessions", {}, [api](const HttpRequest& r) {
    return AnswerList(api, r, "sessions", [&](const ProjectId& project, const std::string& before, int limit) {
      return api.asks->rows().Sessions(project, before, limit);
    });
  });
  router.Add("GET", "/v1/ask/exchanges", {}, [api](const HttpRequest& r) { return ListExchanges(api, r); });
  router.Add("GET", "/v1/ask/exchanges/{exchange_id}", {}, [api](const HttpRequest& r) {
    auto row = ReadExchange(api, r);
    if (const auto* refusal = RefusalOf(row)) return *refusal;
    return HttpResponse::OfJson(200, ValueOf(row));
  });
  router.Add("GET", "/v1/ask/exchanges/{exchange_id}/rebuild", {}, [api](const HttpRequest& r) { return Rebuild(api, r); });
  router.Add("GET", "/v1/drift", {}, [api](const HttpRequest& r) { return ListDrift(api, r); });
  router.Add("POST", "/v1/drift/{drift_id}/close", asks, [api](const HttpRequest& r) { return CloseDrift(api, r); });
}

}  // namespace acl::coordinator
