// POST /v1/projects/{project}/tasks/{task_id}/runs: a run that belongs to a task. The project says first which run it is (an event of the
// task), then the run is made under that id; asked again under the same key, both are what they were.
#include "coordinator/api/created.h"
#include "coordinator/api/json_views.h"
#include "coordinator/api/projects.h"
#include "coordinator/api/request.h"
#include "coordinator/api/submission.h"
#include "coordinator/definition_cache.h"
#include "coordinator/run_maker.h"

namespace acl::coordinator {
namespace {

// What is the project's to know is taken out of the body; what stays is a submission.
struct Linking {
  std::string by;
  std::optional<std::int64_t> token, expected_seq;
};

OrRefusal<Linking> TakeLinking(const HttpRequest& request, Json& body) {
  Linking linking{request.principal, std::nullopt, std::nullopt};
  if (const auto by = body.find("by"); by != body.end()) {
    if (auto refusal = WrongType(body, "by", by->is_string(), "a string")) return std::move(*refusal);
    linking.by = *by;
    body.erase("by");
  }
  for (const auto& [member, number] : {std::pair("token", &linking.token), std::pair("expected_seq", &linking.expected_seq)}) {
    const auto found = body.find(member);
    if (found == body.end()) continue;
    if (auto refusal = WrongType(body, member, found->is_number_integer(), "a whole number")) return std::move(*refusal);
    *number = found->get<std::int64_t>();
    body.erase(member);
  }
  if (linking.by.empty())
    return Problem(422, "invalid-request", "'by' is missing: who runs it",
                   Json::array({ErrorItem("missing-member", "'by' is missing", "/by")}));
  return linking;
}

HttpResponse RunTask(const ApiContext& api, const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto body = ParseJson(request.body);
  if (!body || !body->is_object()) return Problem(400, "invalid-json", body ? "the body is no JSON object" : body.message());
  auto linking = TakeLinking(request, *body);
  if (const auto* refusal = RefusalOf(linking)) return *refusal;
  auto read = ReadSubmissionMembers(std::move(*body));
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Submission& submission = ValueOf(read);
  auto checked = CheckSubmission(api, submission);
  if (const auto* refusal = RefusalOf(checked)) return *refusal;
  auto& [loaded, files] = ValueOf(checked);
  auto found = ReadProject(api, request);
  if (const auto* refusal = RefusalOf(found)) return *refusal;
  const ProjectDesk::Listed* const project = &ValueOf(found);

  workflow::CreateRequest create = RequestOf(request, std::move(submission.inputs), std::move(submission.labels));
  create.definition_text = std::move(submission.text);
  create.files = std::move(files);
  create.request_hash = submission.hash;
  create.project = project->id;
  const std::string task_id = request.Param("task_id");
  create.task = {project->id, task_id};
  create.subject = api.ids.New<SubjectId>();
  const RunMaker maker{api.store, api.capabilities, api.workflow_kind, api.ids, api.runs_created};
  if (auto tried = PrepareRun(maker, *loaded->definition, create); !tried)  // its form, before the project is told of it
    return tried.code() == Code::kInvalid ? Problem(422, "invalid-request", tried.message()) : ProblemOf(tried.error());

  ProjectDesk::Asked asked;
  asked.command = {"link_run", {{"task_id", task_id}, {"run_id", create.subject.ToString()}}, ValueOf(linking).by};
  if (ValueOf(linking).token) asked.command.arguments["token"] = *ValueOf(linking).token;
  asked.expected_seq = ValueOf(linking).expected_seq;
  // The id that was proposed is not what the caller asked for: the key's command leaves it out.
  if (ValueOf(key)) {
    asked.request_key = "run:" + *ValueOf(key);
    asked.same_as = Json{{"task_id", task_id}, {"submission", ToHex(submission.hash)}};
  }
  auto linked = api.projects->Execute(project->id, asked);
  if (!linked) return ProblemOfDesk(linked.error());
  if (linked->refused) return RefusedCommand(*linked);
  const std::string run_id = linked->answer.at("run_id");
  create.subject = *SubjectId::Parse(run_id);
  create.request_key = "task-run:" + run_id;
  auto made = MakeRun(maker, *loaded->definition, std::move(create));
  if (!made) return made.code() == Code::kInvalid ? Problem(422, "invalid-request", made.message()) : ProblemOf(made.error());
  if (made->outcome.kind == CreateOutcome::Kind::kCreated) api.bell.RingWork(made->queue);
  auto response = HttpResponse::OfJson(201, {{"schema_version", kProjectSchemaVersion},
                                             {"id", run_id},
                                             {"project_id", project->id.ToString()},
                                             {"task_id", task_id},
                                             {"event_seq", linked->head_seq},
                                             {"url", "/v1/workflows/" + run_id},
                                             {"warnings", FindingsToJson(submission.file, loaded->findings)}});
  response.With("Location", "/v1/workflows/" + run_id);
  if (linked->replayed) response.With("Idempotent-Replayed", "true");
  return response;
}

}  // namespace

void AddTaskRunRoutes(Router& router, const ApiContext& api) {
  const RouteOptions options{.max_body = kMaxSubmitBytes, .content_types = {"application/json"}, .body_required = true};
  router.Add("POST", "/v1/projects/{project}/tasks/{task_id}/runs", options,
             [api](const HttpRequest& request) { return RunTask(api, request); });
}

}  // namespace acl::coordinator
