// /v1/projects: commands on unfinished work, from the table of operations (shared/kinds/project/operations.h).
#include "coordinator/api/projects.h"

#include <fmt/format.h>

#include "coordinator/api/journal.h"
#include "shared/base/limits.h"
#include "shared/journal/document.h"
#include "shared/journal/segment.h"

namespace acl::coordinator {
namespace {

using project::Operation;

constexpr std::size_t kMostCommandBytes = 512 * 1024;

// "NOT_READY" -> "not-ready"
std::string CodeOf(const project::Refusal& refusal) {
  if (refusal.reason == "FORM") return "invalid-request";
  std::string code;
  for (const char c : refusal.reason) code += c == '_' ? '-' : char(std::tolower(static_cast<unsigned char>(c)));
  return code;
}

// "event 12: task.started t2 by bob", for who expected the project to be where it was before.
Json ChangesSince(const ApiContext& api, const ProjectId& project, std::int64_t seq) {
  constexpr int kMostSaid = 20;
  Json changes = Json::array();
  const auto events = api.queries.Events(SubjectId{project.uuid}, seq, kMostSaid, limits::kPageBytes);
  if (!events) return changes;  // the refusal stands without them
  if (!events->empty() && events->front().seq > seq + 1)
    changes.push_back(ErrorItem("changed", DroppedText(SubjectId{project.uuid}, seq, events->front().seq)));
  for (const Event& one : *events) {
    std::string text = fmt::format("event {}: {}", one.seq, one.type);
    const auto facts = one.payload ? ParseJson(*one.payload, kStoredJson) : Result<Json>(Json());
    for (const char* name : {"goal_id", "task_id"}) {
      if (facts && facts->contains(name)) text += " " + facts->value(name, "");
    }
    if (facts && facts->contains("by")) text += " by " + facts->value("by", "");
    changes.push_back(ErrorItem("changed", text));
  }
  return changes;
}

// What a command is asked with: the body, without what is beside its arguments.
OrRefusal<ProjectDesk::Asked> ReadAsked(const Operation& operation, const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto read = ReadAnyObject(request);
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Json& body = ValueOf(read);
  auto wrong = CheckArguments(operation, body, project::CommandParameters());
  if (!body.contains("by") && request.principal.empty()) {
    wrong.push_back({"missing-member", "'by' is missing: the name of the person or agent who says so", "/by"});
  }
  if (!wrong.empty()) return WrongArguments(422, "invalid-request", wrong);
  ProjectDesk::Asked asked;
  asked.command.name = operation.name;
  asked.command.by = body.value("by", request.principal);
  asked.request_key = ValueOf(key);
  if (body.contains("expected_seq")) asked.expected_seq = body["expected_seq"].get<std::int64_t>();
  for (const auto& parameter : project::CommandParameters()) body.erase(parameter.name);
  asked.command.arguments = std::move(body);
  return asked;
}

}  // namespace

HttpResponse RefusedCommand(const ProjectDesk::Done& done, Json errors) {
  const project::Refusal& refusal = *done.refused;
  const int status = refusal.code == Code::kNotFound ? 404 : refusal.code == Code::kConflict ? 409 : 422;
  return Problem(status, CodeOf(refusal), refusal.message, std::move(errors),
                 {{"reason", refusal.reason}, {"details", refusal.details}, {"event_seq", done.head_seq}});
}

OrRefusal<ProjectDesk::Listed> ReadProject(const ApiContext& api, const HttpRequest& request) {
  const std::string& name = request.Param("project");
  auto found = api.projects->Find(name);
  if (found) return std::move(*found);
  if (found.code() == Code::kNotFound) return Problem(404, "not-found", "there is no project '" + name + "': GET /v1/projects lists them");
  return ProblemOfDesk(found.error());
}

HttpResponse ProblemOfDesk(const Error& error) {
  const bool key = error.message.find("this Idempotency-Key was used") != std::string::npos;
  if (key && error.code == Code::kInvalid) return Problem(422, "key-reused", error.message);
  if (error.code == Code::kInvalid) return Problem(422, "invalid-request", error.message);
  if (error.code == Code::kCorrupt) return Problem(409, "quarantined", error.message);
  return ProblemOf(error);
}

HttpResponse WrongArguments(int status, std::string_view code, const std::vector<project::WrongArgument>& wrong) {
  Json errors = Json::array();
  for (const auto& one : wrong) errors.push_back(ErrorItem(one.code, one.message, one.pointer));
  return Problem(status, code, wrong.front().message, std::move(errors));
}

HttpResponse AnswerCommand(const ApiContext& api, const Operation& operation, const HttpRequest& request) {
  auto asked = ReadAsked(operation, request);
  if (const auto* refusal = RefusalOf(asked)) return *refusal;
  std::optional<ProjectId> id;  // none: it is made
  if (operation.OfOneProject()) {
    auto project = ReadProject(api, request);
    if (const auto* refusal = RefusalOf(project)) return *refusal;
    id = ValueOf(project).id;
  }
  auto done = id ? api.projects->Execute(*id, ValueOf(asked)) : api.projects->Create(ValueOf(asked));
  if (!done) return ProblemOfDesk(done.error());
  if (operation.name == "take_next" && !done->refused) {
    if (auto view = api.projects->Read(*id)) AddReferences(api, **view, done->answer);
  }
  HttpResponse response;
  if (done->refused) {
    const auto& expected = ValueOf(asked).expected_seq;
    const bool changed = id && expected && done->refused->reason == "CHANGED";
    response = RefusedCommand(*done, changed ? ChangesSince(api, *id, *expected) : Json::array());
  } else {
    const std::string made = done->project.ToString();
    response = HttpResponse::OfJson(id ? 200 : 201, {{"schema_version", kProjectSchemaVersion},
                                                     {"project_id", made},
                                                     {"event_seq", done->head_seq},
                                                     {"answer", std::move(done->answer)}});
    if (!id) response.With("Location", "/v1/projects/" + made);
  }
  if (!done->replayed) return response;
  Counter(api.idempotency_hits).Add();
  return response.With("Idempotent-Replayed", "true");
}

void AddProjectRoutes(Router& router, const ApiContext& api) {
  const RouteOptions command{.max_body = kMostCommandBytes, .content_types = {"application/json"}};
  for (const Operation& operation : project::Operations()) {
    const bool writes = operation.right == project::Right::kWrite;
    router.Add(operation.Method(), operation.Pattern(), writes ? command : RouteOptions{}, [api, &operation, writes](const HttpRequest& r) {
      return writes ? AnswerCommand(api, operation, r) : AnswerReading(api, operation, r);
    });
  }
  router.Add("GET", "/v1/projects/{project}/events", {}, [api](const HttpRequest& r) {
    auto project = ReadProject(api, r);
    if (const auto* refusal = RefusalOf(project)) return *refusal;
    return AnswerEvents(api, r, SubjectId{ValueOf(project).id.uuid}, "project");
  });
}

}  // namespace acl::coordinator
