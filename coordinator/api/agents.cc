// /v1/agents: sessions of agents, started, told things, paused, resumed, stopped, forked. Each of those but the start is one row of the
// session's inbox; what became of it stands in its journal.
#include <fmt/format.h>

#include <thread>

#include "coordinator/api/agent_state.h"
#include "coordinator/api/api.h"
#include "coordinator/api/ask_request.h"
#include "coordinator/api/created.h"
#include "coordinator/api/json_views.h"
#include "coordinator/api/request.h"
#include "coordinator/api/run_reader.h"
#include "coordinator/api/submission.h"
#include "coordinator/projects/desk.h"
#include "coordinator/run_creator.h"
#include "shared/base/canonical_json.h"
#include "shared/base/json_members.h"
#include "shared/capability/manifest.h"
#include "shared/kernel/item_builder.h"
#include "shared/kinds/agent/agent_kind.h"
#include "shared/kinds/agent/create_agent.h"
#include "shared/kinds/agent/put_files.h"

namespace acl::coordinator {

namespace {

constexpr std::size_t kMaxAgentBytes = 1u << 20;

HttpResponse WrongMember(const char* member, const std::string& message) {
  return Problem(422, "invalid-request", message, Json::array({ErrorItem("bad-value", message, std::string("/") + member)}));
}

// Texts that may be there; 422 names one that is none.
std::optional<HttpResponse> NotText(const Json& body, std::initializer_list<const char*> members) {
  for (const char* member : members)
    if (body.contains(member) && !body[member].is_string()) return WrongMember(member, fmt::format("'{}' is no text", member));
  return std::nullopt;
}

HttpResponse InvalidAgent(const std::string& file, const std::vector<Finding>& findings) {
  const auto errors =
      std::count_if(findings.begin(), findings.end(), [](const Finding& one) { return one.severity == Finding::Severity::kError; });
  return Problem(422, "invalid-agent", fmt::format("{} has {} error{}", file, errors, errors == 1 ? "" : "s"),
                 FindingsToJson(file, findings));
}

// A refusal of what the store made of it.
HttpResponse AnswerMade(const ApiContext& api, const Result<CreateOutcome>& made, Json body) {
  if (!made)
    return made.code() == Code::kNotFound ? Problem(422, "invalid-files", made.message() + ": PUT /v1/contents/{sha256} again")
                                          : ProblemOf(made.error());
  const std::string id = made->subject.ToString();
  if (made->kind == CreateOutcome::Kind::kKeyConflict)
    return Problem(422, "key-reused", "this Idempotency-Key was used for another request; the first one made " + id);
  body["id"] = id;
  body["url"] = "/v1/agents/" + id;
  auto response = HttpResponse::OfJson(201, body);
  response.With("Location", "/v1/agents/" + id);
  if (made->kind != CreateOutcome::Kind::kReplayed) return response;
  Counter(api.idempotency_hits).Add();
  return response.With("Idempotent-Replayed", "true");
}

HttpResponse Make(const ApiContext& api, const agent::AgentDefinition& definition, agent::CreateAgent create, Json body) {
  auto item = agent::MakeCreateItem(*api.agent_kind, definition, std::move(create));
  if (!item) return item.code() == Code::kInvalid ? Problem(422, "invalid-request", item.message()) : ProblemOf(item.error());
  HttpResponse response;
  response.later = [api, body = std::move(body),
                    item = std::make_shared<CreateItem>(std::move(*item))](const HttpResponse::Answer& answer) {
    CreateAndWait(api, std::move(*item), std::chrono::milliseconds(0),
                  [=](const Result<CreateOutcome>& made, const std::optional<EndView>&) { answer(AnswerMade(api, made, body)); });
  };
  return response;
}

agent::CreateAgent RequestOfAgent(const ApiContext& api, const HttpRequest& request, const Json& body, std::optional<std::string> key) {
  agent::CreateAgent create;
  create.subject = api.ids.New<SubjectId>();
  create.owner = request.principal.empty() ? TextIn(body, "by") : request.principal;
  create.note = TextIn(body, "note");
  create.message = TextIn(body, "message");
  create.trace = request.span;
  if (request.span.span_id.empty()) create.trace = {request.trace_id, request.caller.span_id, request.caller.sampled};
  create.now = SystemClock().Wall();
  create.request_key = std::move(key);
  create.request_hash = CanonicalHash(body);
  return create;
}

HttpResponse StartAgent(const ApiContext& api, const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto read = ReadObject(request, {"agent", "file", "note", "message", "project", "files", "by"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Json& body = ValueOf(read);
  if (body.contains("agent") && body["agent"].is_object()) body["agent"] = DumpJson(body["agent"]);
  if (auto wrong = WrongText(body, {"agent"}, {"file", "note", "message", "project", "by"})) return std::move(*wrong);
  if (body.contains("files") && !body["files"].is_array()) return WrongMember("files", "'files' is no list");
  if (Status storable = CheckStorable(body); !storable) return Problem(422, "invalid-request", storable.message());
  const std::string file = body.contains("file") ? TextIn(body, "file") : "agent";
  const agent::LoadedAgent loaded = agent::LoadAgent(TextIn(body, "agent"), &api.capabilities);
  if (!loaded.definition) return InvalidAgent(file, loaded.findings);
  if (loaded.definition->tasks && TextIn(body, "project").empty())
    return WrongMember("project", "'tasks: next' plans on the tasks of a project: say which (--project NAME)");
  auto project = ReadProjectNamed(api, TextIn(body, "project"));
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  auto files = ReadFiles(api, body.value("files", Json::array()));
  if (const auto* refusal = RefusalOf(files)) return *refusal;
  agent::CreateAgent create = RequestOfAgent(api, request, body, std::move(ValueOf(key)));
  create.project = ValueOf(project);
  create.text = TextIn(body, "agent");
  create.files = std::move(ValueOf(files));
  return Make(api, *loaded.definition, std::move(create),
              {{"name", loaded.definition->name}, {"warnings", FindingsToJson(file, loaded.findings)}});
}

HttpResponse ValidateAgent(const ApiContext& api, const HttpRequest& request) {
  auto read = ReadObject(request, {"agent", "file"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Json& body = ValueOf(read);
  if (body.contains("agent") && body["agent"].is_object()) body["agent"] = DumpJson(body["agent"]);
  if (auto wrong = WrongText(body, {"agent"}, {"file"})) return std::move(*wrong);
  const std::string file = body.contains("file") ? TextIn(body, "file") : "agent";
  const agent::LoadedAgent loaded = agent::LoadAgent(TextIn(body, "agent"), &api.capabilities);
  return HttpResponse::OfJson(200, {{"valid", loaded.definition.has_value()}, {"findings", FindingsToJson(file, loaded.findings)}});
}

// What the session's journal made of an input: the facts of the event that names it, if it is there within a moment.
std::optional<std::pair<std::string, Json>> HeardOf(const ApiContext& api, const SubjectId& id, std::int64_t after,
                                                    const std::string& inbox_id) {
  constexpr std::chrono::milliseconds kLongest{2'000}, kPause{10};
  for (std::chrono::milliseconds waited{0}; waited <= kLongest; waited += kPause) {
    auto events = api.queries.Events(id, after, 100, 4u << 20);
    if (!events) return std::nullopt;
    for (const Event& event : *events) {
      after = event.seq;
      auto payload = ParsePayload(event);
      if (payload && payload->is_object() && payload->value("inbox_id", "") == inbox_id) return std::pair(event.type, std::move(*payload));
    }
    std::this_thread::sleep_for(kPause);
  }
  return std::nullopt;
}

HttpResponse Say(const ApiContext& api, const HttpRequest& request, const std::string& kind, Json payload) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto view = ReadAgentView(api, request);
  if (const auto* refusal = RefusalOf(view)) return *refusal;
  const SubjectView& session = ValueOf(view);
  if (!request.principal.empty()) payload["by"] = request.principal;
  if (Status storable = CheckStorable(payload); !storable) return Problem(422, "invalid-request", storable.message());
  const InboxPost post{session.subject, api.ids.New<InboxId>(), kind, DumpJson(payload), ValueOf(key)};
  auto answer = api.store.Post(post);
  if (!answer && IsKeyConflict(answer.error()))
    return Problem(422, "key-reused", "this Idempotency-Key was used for another request of this session");
  if (!answer) return ProblemOf(answer.error());
  const std::string id = session.subject.ToString();
  Json body = {{"id", id}, {"accepted", kind}};
  if (answer->replayed) {
    Counter(api.idempotency_hits).Add();
    return HttpResponse::OfJson(202, body).With("Idempotent-Replayed", "true");
  }
  api.bell.RingPosted(*answer, session.subject);
  const auto heard = HeardOf(api, session.subject, session.head.seq, post.id.ToString());
  if (!heard) return HttpResponse::OfJson(202, body);
  if (heard->first == "input.refused") return Problem(409, "refused", TextIn(heard->second, "reason"));
  if (heard->second.contains("number")) body["stimulus"] = heard->second["number"];
  auto now = api.queries.GetSubject(session.subject);
  if (now && now->listing) body["status"] = now->listing->status;
  return HttpResponse::OfJson(200, body);
}

HttpResponse Tell(const ApiContext& api, const HttpRequest& request) {
  auto read = ReadObject(request, {"text", "mode", "kind", "payload", "by"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Json& body = ValueOf(read);
  if (auto wrong = NotText(body, {"text", "mode", "kind", "by"})) return std::move(*wrong);
  if (!body.contains("text") && !body.contains("payload")) return WrongMember("text", "a stimulus has a text or a payload");
  const std::string mode = TextIn(body, "mode");
  if (!mode.empty() && mode != "interrupt" && mode != "steer" && mode != "followup")
    return WrongMember("mode", "'mode' is interrupt (ends what runs), steer (before its next request) or followup (when it would rest)");
  const std::string kind = TextIn(body, "kind");
  if (!kind.empty() && kind != "message" && kind != "file" && kind != "goal_changed")
    return WrongMember("kind", "'kind' is message, file or goal_changed");
  return Say(api, request, "stimulus", std::move(body));
}

// Files into its working directory, or out of it; it is told of them unless `quiet`.
HttpResponse PutFilesInto(const ApiContext& api, const HttpRequest& request) {
  auto read = ReadObject(request, {"files", "remove", "mode", "quiet", "by"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  const Json& body = ValueOf(read);
  if (auto wrong = NotText(body, {"mode", "by"})) return std::move(*wrong);
  for (const char* list : {"files", "remove"})
    if (body.contains(list) && !body[list].is_array()) return WrongMember(list, fmt::format("'{}' is no list", list));
  if (body.contains("quiet") && !body["quiet"].is_boolean()) return WrongMember("quiet", "'quiet' is not true or false");
  if (const std::string mode = TextIn(body, "mode"); !mode.empty() && mode != "interrupt" && mode != "steer" && mode != "followup")
    return WrongMember("mode", "'mode' is interrupt, steer or followup");
  std::vector<std::string> removed;
  for (const Json& path : body.value("remove", Json::array())) {
    auto normal = path.is_string() ? NormalisePath(path.get_ref<const std::string&>()) : Result<std::string>(Code::kInvalid, "no text");
    if (!normal || normal->empty()) return WrongMember("remove", "a path to remove: " + (normal ? "the root stays" : normal.message()));
    removed.push_back(std::move(*normal));
  }
  auto files = ReadFiles(api, body.value("files", Json::array()));
  if (const auto* refusal = RefusalOf(files)) return *refusal;
  for (FileChange& file : ValueOf(files)) {
    auto normal = NormalisePath(file.path);
    if (!normal || normal->empty())
      return WrongMember("files", "'" + file.path + "': " + (normal ? "the root is there" : normal.message()));
    file.path = std::move(*normal);
  }
  if (ValueOf(files).empty() && removed.empty()) return WrongMember("files", "no files to put and none to remove");
  Json payload = agent::FilesPayload(ValueOf(files), removed);
  for (const char* member : {"mode", "quiet", "by"})
    if (body.contains(member)) payload[member] = body[member];
  return Say(api, request, std::string(agent::kFilesInput), std::move(payload));
}

HttpResponse Steer(const ApiContext& api, const HttpRequest& request, const char* kind) {
  auto read = ReadObject(request, {"reason", "by"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  if (auto wrong = NotText(ValueOf(read), {"reason", "by"})) return std::move(*wrong);
  return Say(api, request, std::string("agent.") + kind, std::move(ValueOf(read)));
}

HttpResponse ResolveAction(const ApiContext& api, const HttpRequest& request) {
  auto read = ReadObject(request, {"decision", "comment", "by"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Json& body = ValueOf(read);
  if (auto wrong = WrongText(body, {"decision"}, {"comment", "by"})) return std::move(*wrong);
  if (body["decision"] != "happened" && body["decision"] != "did_not_happen")
    return WrongMember("decision", "'decision' is happened or did_not_happen");
  return Say(api, request, std::string(agent::kResolveInput), std::move(body));
}

// What is said to many sessions at once, and to which of them by their status.
struct ToMany {
  std::string_view input;
  bool (*wanted)(const std::string& status);
};
constexpr ToMany kStopMany{agent::kStopInput,
                           [](const std::string& status) { return status != agent::kStopped && status != agent::kStopping; }};
// What stops still is resumed by name, when it has stopped.
constexpr ToMany kResumeMany{agent::kResumeInput,
                             [](const std::string& status) { return status == agent::kStopped || status == agent::kPaused; }};

// Every session of a project is told, a page at a time. How many were.
Result<std::int64_t> TellIn(const ApiContext& api, const ProjectId& project, const ToMany& what, const std::string& payload) {
  std::int64_t told = 0;
  ListFilter filter;
  filter.project = project;
  filter.kind = std::string(agent::kKindName);
  filter.limit = 200;
  for (;;) {
    auto page = api.queries.List(filter);
    if (!page) return page.error();
    for (const SubjectView& one : *page) {
      if (one.listing && !what.wanted(one.listing->status)) continue;
      auto posted = api.store.Post({one.subject, api.ids.New<InboxId>(), std::string(what.input), payload, std::nullopt});
      if (!posted) return posted.error();
      api.bell.RingPosted(*posted, one.subject);
      ++told;
    }
    if (page->size() < std::size_t(filter.limit)) return told;
    filter.before = page->back().subject;
  }
}

// The kill switch, of a project or of all, and what takes it back. Each session answers for itself in its journal.
HttpResponse TellMany(const ApiContext& api, const HttpRequest& request, const ToMany& what) {
  auto read = ReadObject(request, {"project", "all", "reason", "by"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  const Json& body = ValueOf(read);
  if (auto wrong = NotText(body, {"project", "reason", "by"})) return std::move(*wrong);
  const bool all = body.contains("all") && body["all"] == Json(true);
  if (all == body.contains("project")) return WrongMember("all", "say which: {\"project\": NAME} or {\"all\": true}");
  const std::string payload =
      DumpJson({{"reason", TextIn(body, "reason")}, {"by", request.principal.empty() ? TextIn(body, "by") : request.principal}});
  std::vector<ProjectId> projects;
  if (all) {
    projects.push_back(kDefaultProject);
    std::string after;
    while (api.projects != nullptr) {
      constexpr int kAtOnce = 200;
      auto page = api.projects->List(after, kAtOnce);
      if (!page) return ProblemOf(page.error());
      for (const auto& one : *page) projects.push_back(one.id);
      if (page->size() < std::size_t(kAtOnce)) break;
      after = page->back().name;
    }
  } else {
    auto project = ReadProjectNamed(api, TextIn(body, "project"));
    if (const auto* refusal = RefusalOf(project)) return *refusal;
    projects.push_back(ValueOf(project));
  }
  std::int64_t told = 0;
  for (const ProjectId& project : projects) {
    auto heard = TellIn(api, project, what, payload);
    if (!heard) return ProblemOf(heard.error());
    told += *heard;
  }
  return HttpResponse::OfJson(202, {{"told", told}});
}

// A new session from a move of this one: what it had done stays done and is not done again.
HttpResponse Fork(const ApiContext& api, const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto read = ReadObject(request, {"at", "message", "note", "by"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  const Json& body = ValueOf(read);
  if (auto wrong = NotText(body, {"message", "note", "by"})) return std::move(*wrong);
  if (body.contains("at") && (!body["at"].is_number_integer() || body["at"] < 1))
    return WrongMember("at", "'at' is the number of a move (airun agent moves)");
  auto view = ReadAgentView(api, request);
  if (const auto* refusal = RefusalOf(view)) return *refusal;
  const SubjectView& session = ValueOf(view);
  const std::int64_t at = body.contains("at") ? body["at"].get<std::int64_t>() : session.head.seq;
  auto past = ReadStateAt(api, session.subject, at);
  if (!past) return past.code() == Code::kInvalid ? WrongMember("at", past.message()) : ProblemOf(past.error());
  auto definition = agent::KnownAgents().Of(past->state);
  if (!definition) return ProblemOf(definition.error());
  agent::CreateAgent create = RequestOfAgent(api, request, body, std::move(ValueOf(key)));
  create.request_hash = CanonicalHash({{"fork", session.subject.ToString()}, {"body", body}});
  create.project = session.project;
  create.text = session.listing ? session.listing->definition_text : "";
  create.fork = {session.subject.ToString(), at, agent::KeptInFork(past->state)};
  return Make(api, **definition, std::move(create),
              {{"name", (*definition)->name}, {"forked_from", {{"session_id", session.subject.ToString()}, {"at", at}}}});
}

}  // namespace

void AddAgentRoutes(Router& router, const ApiContext& api) {
  if (api.agent_kind == nullptr) return;
  const RouteOptions start{.max_body = kMaxSubmitBytes, .content_types = {"application/json"}, .body_required = true};
  const RouteOptions act{.max_body = kMaxAgentBytes, .content_types = {"application/json"}};
  const std::string session = "/v1/agents/{id}";
  router.Add("POST", "/v1/agents", start, [api](const HttpRequest& r) { return StartAgent(api, r); });
  router.Add("POST", "/v1/agents/validate", start, [api](const HttpRequest& r) { return ValidateAgent(api, r); });
  router.Add("POST", "/v1/agents/stop", act, [api](const HttpRequest& r) { return TellMany(api, r, kStopMany); });
  router.Add("POST", "/v1/agents/resume", act, [api](const HttpRequest& r) { return TellMany(api, r, kResumeMany); });
  router.Add("POST", session + "/stimuli", act, [api](const HttpRequest& r) { return Tell(api, r); });
  router.Add("POST", session + "/files", start, [api](const HttpRequest& r) { return PutFilesInto(api, r); });
  for (const char* kind : {"pause", "resume", "stop"})
    router.Add("POST", session + "/" + kind, act, [api, kind](const HttpRequest& r) { return Steer(api, r, kind); });
  router.Add("POST", session + "/fork", act, [api](const HttpRequest& r) { return Fork(api, r); });
  router.Add("POST", session + "/resolve", act, [api](const HttpRequest& r) { return ResolveAction(api, r); });
}

}  // namespace acl::coordinator
