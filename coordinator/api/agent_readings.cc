// /v1/agents: what stands on record of them. Sessions, one of them, its moves, its journal, its files, and a past move recomputed.
#include <fmt/format.h>

#include "coordinator/api/agent_state.h"
#include "coordinator/api/ask_request.h"
#include "coordinator/api/files.h"
#include "coordinator/api/journal.h"
#include "coordinator/api/json_views.h"
#include "coordinator/api/run_reader.h"
#include "shared/base/canonical_json.h"
#include "shared/base/json_members.h"
#include "shared/kinds/agent/agent_kind.h"
#include "shared/kinds/agent/events.h"

namespace acl::coordinator {

namespace {

// As the listing has it, in this kind's words.
Json SessionToJson(const SubjectView& view) {
  Json json = SubjectToJson(view);
  json.erase("labels");
  if (json.contains("error")) {
    if (!TextIn(json, "error").empty()) json["reason"] = json["error"];
    json.erase("error");
  }
  return json;
}

HttpResponse ListAgents(const ApiContext& api, const HttpRequest& request) {
  auto limit = ReadNumber(request, "limit", 50, 1, 200);
  if (const auto* refusal = RefusalOf(limit)) return *refusal;
  const std::string* named = request.Query("project");
  auto project = ReadProjectNamed(api, named ? *named : "");
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  ListFilter filter;
  filter.kind = std::string(agent::kKindName);
  filter.project = ValueOf(project);
  filter.limit = int(ValueOf(limit)) + 1;
  if (const auto* status = request.Query("status")) {
    const auto known = {agent::kMoving, agent::kResting, agent::kWaiting, agent::kPaused, agent::kStopping, agent::kStopped};
    if (std::find(known.begin(), known.end(), *status) == known.end())
      return Problem(400, "bad-parameter", "status is one of MOVING, RESTING, WAITING, PAUSED, STOPPING, STOPPED");
    filter.status = *status;
  }
  if (const auto* name = request.Query("name")) filter.name = *name;
  if (const auto* before = request.Query("before")) {
    filter.before = SubjectId::Parse(*before);
    if (!filter.before) return Problem(400, "bad-parameter", "before is an id: next_before of the page before");
  }
  auto found = api.queries.List(filter);
  if (!found) return ProblemOf(found.error());
  const bool more = std::int64_t(found->size()) > ValueOf(limit);
  if (more) found->pop_back();
  Json answer = {{"agents", Json::array()}};
  for (const auto& view : *found) answer["agents"].push_back(SessionToJson(view));
  if (more) answer["next_before"] = found->back().subject.ToString();
  return HttpResponse::OfJson(200, answer);
}

HttpResponse GetAgent(const ApiContext& api, const HttpRequest& request) {
  auto view = ReadAgentView(api, request);
  if (const auto* refusal = RefusalOf(view)) return *refusal;
  auto read = ReadStateOfKind(api, ValueOf(view).subject, agent::kKindName);
  if (!read) return ProblemOf(read.error());
  Json answer = SessionToJson(read->listed);
  if (!read->damage.empty()) {
    answer["damage"] = read->damage;
    return HttpResponse::OfJson(200, answer);
  }
  const Document& state = read->state;
  for (const auto& [name, key] :
       {std::pair("session", agent::kAgentKey), std::pair("standing", agent::kStandingKey), std::pair("agent", agent::kDefinitionKey),
        std::pair("turn", agent::kCourseKey), std::pair("plan", agent::kPlanKey), std::pair("approval", agent::kApprovalKey)})
    if (const Json* entry = state.Find(key)) answer[name] = *entry;
  answer["past"] = agent::PastTurns(state);
  answer["waiting"] = Json::array();
  if (const auto standing = agent::FindStanding(state)) {
    for (const agent::Stimulus& one : standing->again) answer["waiting"].push_back(agent::ToJson(one));
    for (const agent::Stimulus& one : agent::WaitingStimuli(state, *standing)) answer["waiting"].push_back(agent::ToJson(one));
  }
  answer["state_root"] = ToHex(state.Root());
  if (!api.jaeger_url.empty() && answer.contains("session"))
    if (const auto trace = ParseTraceparent(TextIn(answer["session"], "traceparent")))
      answer["trace_url"] = api.jaeger_url + "/trace/" + trace->trace_id;
  return HttpResponse::OfJson(200, answer);
}

// Document 003, 4.2: id, time, type (one word), session, data.
Json MoveOf(const Event& event, const std::string& session) {
  Json move = {{"id", event.seq},
               {"time", FormatWallTime(event.timestamp)},
               {"type", event.type.substr(agent::event::kMovePrefix.size())},
               {"session", session}};
  auto payload = ParsePayload(event);
  move["data"] = payload && payload->is_object() ? std::move(*payload) : Json::object();
  for (const char* key : {"state_delta", "state_root"}) move["data"].erase(key);
  return move;
}

// A page of them, in order. Events between two moves are read past.
HttpResponse SeeMoves(const ApiContext& api, const HttpRequest& request) {
  constexpr int kMostEvents = 5'000;
  auto view = ReadAgentView(api, request);
  if (const auto* refusal = RefusalOf(view)) return *refusal;
  auto after = ReadNumber(request, "after", 0, 0, std::int64_t(1) << 53);
  if (const auto* refusal = RefusalOf(after)) return *refusal;
  auto limit = ReadNumber(request, "limit", 100, 1, 500);
  if (const auto* refusal = RefusalOf(limit)) return *refusal;
  const SubjectView& session = ValueOf(view);
  AnswerBudget::Part memory(api.answers);
  Json moves = Json::array(), dropped;
  std::int64_t seq = ValueOf(after);
  for (int read = 0; std::int64_t(moves.size()) < ValueOf(limit) && read < kMostEvents && seq < session.head.seq;) {
    auto page = api.queries.Events(session.subject, seq, 200, limits::kPageBytes);
    if (!page) return ProblemOf(page.error());
    if (page->empty()) break;
    if (dropped.is_null()) dropped = DroppedToJson(session.subject, seq, page->front().seq);
    for (const Event& event : *page) {
      ++read;
      if (event.type.starts_with(agent::event::kMovePrefix)) {
        if (std::int64_t(moves.size()) == ValueOf(limit)) break;
        if (Status taken = memory.Take(event.payload ? 2 * event.payload->size() : 0); !taken) return ProblemOf(taken.error());
        moves.push_back(MoveOf(event, session.subject.ToString()));
      }
      seq = event.seq;
    }
  }
  Json answer = {{"moves", std::move(moves)}};
  if (seq < session.head.seq) answer["next_after"] = seq;
  if (!dropped.is_null()) answer["dropped"] = std::move(dropped);
  return HttpResponse::OfJson(200, answer);
}

HttpResponse FollowJournal(const ApiContext& api, const HttpRequest& request) {
  auto view = ReadAgentView(api, request);
  if (const auto* refusal = RefusalOf(view)) return *refusal;
  return AnswerEvents(api, request, ValueOf(view).subject, agent::kKindName);
}

template <class Answer>
HttpResponse OfFiles(const ApiContext& api, const HttpRequest& request, const Answer& answer) {
  auto view = ReadAgentView(api, request);
  if (const auto* refusal = RefusalOf(view)) return *refusal;
  auto read = ReadStateOfKind(api, ValueOf(view).subject, agent::kKindName);
  if (!read) return ProblemOf(read.error());
  if (!read->damage.empty()) return Problem(500, "corrupt", read->damage);
  return answer(read->state);
}

// One thing recomputed by this program from what the journal holds.
Json Check(const char* what, const std::string& recorded, const std::string& recomputed) {
  return {{"what", what}, {"recorded", recorded}, {"recomputed", recomputed}, {"same", recorded == recomputed}};
}

std::string DigestOf(const Json& value) { return ToHex(CanonicalHash(value)); }

// The choice that led to a rest or to a turn, made again on the state before it.
void CheckChoice(const ApiContext& api, const SubjectId& id, const agent::AgentDefinition& definition, const PastState& at,
                 const Json& facts, Json& checks) {
  if (at.event.seq < 2) return;
  auto before = ReadStateAt(api, id, at.event.seq - 1);
  const auto standing = before ? agent::FindStanding(before->state) : std::nullopt;
  if (!standing || agent::FindCourse(before->state)) return;  // it follows from the turn before, in the same decision
  if (standing->status != agent::kMoving) return;
  const agent::Choice choice =
      agent::Decide(definition, *standing, agent::GuardFrom(before->state.Find(agent::kGuardKey)), at.event.timestamp);
  checks.push_back(Check("decide", at.event.type == agent::event::kRest ? "rest: " + TextIn(facts, "reason") : "move",
                         choice.move ? "move" : "rest: " + choice.reason));
}

// A plan, and what was asked for it, made again from the context that stands on record.
void CheckPlan(const agent::AgentDefinition& definition, const PastState& at, const Json& facts, Json& checks) {
  const Json *context = at.state.Find(agent::kContextKey), *plan = at.state.Find(agent::kPlanKey);
  if (context == nullptr || plan == nullptr) return;
  checks.push_back(Check("context", TextIn(facts, "context_digest"), DigestOf(*context)));
  auto made = agent::MakePlan(definition, *context);
  const bool has_plan = made && made->has_value();
  checks.push_back(Check("plan", DigestOf(*plan), has_plan ? DigestOf(**made) : made ? "no plan" : made.message()));
  const Json* request = at.state.Find(agent::kRequestKey);
  if (request != nullptr && has_plan)
    checks.push_back(Check("request", DigestOf(*request), DigestOf(agent::MakeRequest(definition, **made, *context))));
}

// A past move bit by bit, and what this program makes of the same input: the same, or the difference is shown.
HttpResponse Replay(const ApiContext& api, const HttpRequest& request) {
  auto view = ReadAgentView(api, request);
  if (const auto* refusal = RefusalOf(view)) return *refusal;
  const SubjectView& session = ValueOf(view);
  auto move = ReadNumber(request, "move", session.head.seq, 1, std::int64_t(1) << 53);
  if (const auto* refusal = RefusalOf(move)) return *refusal;
  auto at = ReadStateAt(api, session.subject, ValueOf(move));
  if (!at) return at.code() == Code::kInvalid ? Problem(404, "no-such-move", at.message()) : ProblemOf(at.error());
  auto definition = agent::KnownAgents().Of(at->state);
  if (!definition) return ProblemOf(definition.error());
  auto payload = ParsePayload(at->event);
  if (!payload) return Problem(409, "removed", "the contents of this move are not in the journal any more");
  Json facts = std::move(*payload);
  Json answer = {{"move", at->event.seq},
                 {"type", at->event.type},
                 {"time", FormatWallTime(at->event.timestamp)},
                 {"state_root", ToHex(at->state.Root())},
                 {"checksum", ToHex(at->event.checksum)},
                 {"producer_version", at->event.producer_version}};
  Json checks = Json::array();
  if (at->event.type == agent::event::kRest || at->event.type == agent::event::kTurnBegan)
    CheckChoice(api, session.subject, **definition, *at, facts, checks);
  if (at->event.type == agent::event::kPlan) CheckPlan(**definition, *at, facts, checks);
  for (const auto& [name, key] : {std::pair("context", agent::kContextKey), std::pair("plan", agent::kPlanKey),
                                  std::pair("request", agent::kRequestKey), std::pair("response", agent::kResponseKey)})
    if (const Json* entry = at->state.Find(key)) answer[name] = *entry;
  bool same = true;
  for (const Json& check : checks) same = same && check["same"] == Json(true);
  for (const char* key : {"state_delta", "state_root"}) facts.erase(key);
  answer["data"] = std::move(facts);
  answer["checks"] = std::move(checks);
  answer["same"] = same;
  if (!same) answer["this_version"] = std::string(kProducerVersion);
  return HttpResponse::OfJson(200, answer);
}

}  // namespace

void AddAgentReadingRoutes(Router& router, const ApiContext& api) {
  if (api.agent_kind == nullptr) return;
  const std::string session = "/v1/agents/{id}";
  router.Add("GET", "/v1/agents", {}, [api](const HttpRequest& r) { return ListAgents(api, r); });
  router.Add("GET", session, {}, [api](const HttpRequest& r) { return GetAgent(api, r); });
  router.Add("GET", session + "/moves", {}, [api](const HttpRequest& r) { return SeeMoves(api, r); });
  router.Add("GET", session + "/events", {}, [api](const HttpRequest& r) { return FollowJournal(api, r); });
  router.Add("GET", session + "/replay", {}, [api](const HttpRequest& r) { return Replay(api, r); });
  router.Add("GET", session + "/files", {}, [api](const HttpRequest& r) { return OfFiles(api, r, AnswerFiles); });
  router.Add("GET", session + "/files/{path...}", {},
             [api](const HttpRequest& r) { return OfFiles(api, r, [&](const Document& state) { return AnswerFile(api, r, state); }); });
}

}  // namespace acl::coordinator
