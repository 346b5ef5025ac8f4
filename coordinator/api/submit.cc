// POST /v1/workflows and POST /v1/validate.
#include <fmt/format.h>

#include "coordinator/api/api.h"
#include "coordinator/api/contents.h"
#include "coordinator/api/created.h"
#include "coordinator/api/json_views.h"
#include "coordinator/api/request.h"
#include "coordinator/api/submission.h"
#include "coordinator/definition_cache.h"
#include "coordinator/queue_watch.h"
#include "coordinator/run_maker.h"
#include "shared/base/limits.h"
#include "shared/definition/loader.h"

namespace acl::coordinator {
namespace {

// What is wrong with none of the file, and its sender should know.
std::vector<Finding> NoWorkerFindings(const ApiContext& api, const CachedDefinition& loaded) {
  std::vector<Finding> findings;
  if (api.queues == nullptr) return findings;
  for (const std::string& queue : api.queues->Unserved(loaded.queues)) {
    findings.push_back({Finding::Severity::kWarning, "no-worker", NoWorkerText(queue), {}});
  }
  return findings;
}

HttpResponse Created(const ApiContext& api, const Loaded& loaded, const std::vector<Finding>& more, const std::string& file,
                     const std::vector<Hash256>& contents, const Result<CreateOutcome>& made, const std::optional<EndView>& end,
                     std::chrono::milliseconds waited) {
  if (!made && made.code() == Code::kNotFound) {  // put long ago, and no run referred to it: collected
    for (const Hash256& hash : contents) api.contents.Forget(hash);
    return Problem(422, "invalid-files", "some files of the run do not fit",
                   Json::array({ErrorItem("bad-file", made.message() + ": PUT /v1/contents/{sha256} again", "/files")}));
  }
  if (!made) return ProblemOf(made.error());
  const std::string id = made->subject.ToString();
  if (made->kind == CreateOutcome::Kind::kKeyConflict) {
    return Problem(422, "key-reused", "this Idempotency-Key was used for another request; the first one made run " + id);
  }
  Json body = {{"id", id}, {"name", loaded.definition->name}, {"url", "/v1/workflows/" + id}};
  if (end) AddEnd(body, *end);
  body["warnings"] = FindingsToJson(file, loaded.findings);
  for (const Finding& finding : more) body["warnings"].push_back(FindingToJson(file, finding));
  auto response = HttpResponse::OfJson(201, body);
  response.With("Location", "/v1/workflows/" + id);
  if (waited.count() > 0) response.With("Preference-Applied", "wait=" + std::to_string(waited.count() / 1000));
  if (made->kind == CreateOutcome::Kind::kReplayed) {
    Counter(api.idempotency_hits).Add();
    response.With("Idempotent-Replayed", "true");
  }
  return response;
}

// With the files read. `more`: what was found beside the file. Asks nobody, so that it may be on the server's thread.
HttpResponse SubmitLoaded(const ApiContext& api, const HttpRequest& request, Submission& submission, std::optional<std::string> key,
                          const std::shared_ptr<const CachedDefinition>& loaded, std::vector<FileChange> files, std::vector<Finding> more) {
  workflow::CreateRequest create = RequestOf(request, std::move(submission.inputs), std::move(submission.labels));
  create.definition_text = std::move(submission.text);
  create.files = std::move(files);
  create.request_key = std::move(key);
  create.request_hash = submission.hash;
  auto item = PrepareRun({api.store, api.capabilities, api.workflow_kind, api.ids}, *loaded->definition, std::move(create),
                         &loaded->event_templates);
  if (!item) return item.code() == Code::kInvalid ? Problem(422, "invalid-request", item.message()) : ProblemOf(item.error());
  HttpResponse response;
  response.later = [api, loaded, more = std::move(more), file = submission.file, wait = ReadWait(request),
                    item = std::make_shared<CreateItem>(std::move(*item))](const HttpResponse::Answer& answer) {
    const std::vector<Hash256> contents = item->contents;
    CreateAndWait(api, std::move(*item), wait, [=](const Result<CreateOutcome>& made, const std::optional<EndView>& end) {
      answer(Created(api, *loaded, more, file, contents, made, end, wait));
    });
  };
  return response;
}

HttpResponse Submit(const ApiContext& api, const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto read = ReadSubmission(request);
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Submission& submission = ValueOf(read);
  auto checked = CheckSubmission(api, submission);
  if (const auto* refusal = RefusalOf(checked)) return *refusal;
  auto& [loaded, files] = ValueOf(checked);
  return SubmitLoaded(api, request, submission, std::move(ValueOf(key)), loaded, std::move(files), NoWorkerFindings(api, *loaded));
}

// A small workflow that was loaded before, without files: nothing is read, parsed or asked for that could take long.
std::optional<HttpResponse> SubmitQuickly(const ApiContext& api, const HttpRequest& request) {
  constexpr std::size_t kSmall = 16 * 1024;
  if (request.body.size() > kSmall) return std::nullopt;
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  auto read = ReadSubmission(request);
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Submission& submission = ValueOf(read);
  if (!submission.files.empty()) return std::nullopt;
  const auto loaded = api.definitions.Find(submission.text, OptionsOf(submission, true));
  if (!loaded) return std::nullopt;
  if (api.queues != nullptr && !api.queues->Known(loaded->queues)) return std::nullopt;  // the database is asked
  return SubmitLoaded(api, request, submission, std::move(ValueOf(key)), loaded, {}, {});
}

HttpResponse Validate(const ApiContext& api, const HttpRequest& request) {
  auto read = ReadSubmission(request);
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  const Submission& submission = ValueOf(read);
  const auto loaded = LoadWorkflow(submission.text, api.capabilities, OptionsOf(submission, false));
  Json answer = {{"valid", loaded.ok()}, {"findings", FindingsToJson(submission.file, loaded.findings)}};
  if (loaded.ok()) {
    answer["name"] = loaded.definition->name;
    Json order = Json::array();
    for (const int index : PlanOrder(*loaded.definition)) {
      const StepDefinition& step = loaded.definition->steps[std::size_t(index)];
      if (!IsPlainBody(step)) order.push_back(step.name);
    }
    answer["execution_order"] = std::move(order);
    if (!submission.inputs.empty()) {
      auto inputs = CheckInputs(*loaded.definition, submission.inputs);
      if (!inputs) {
        answer["valid"] = false;
        answer["findings"].push_back(
            {{"severity", "error"}, {"code", "bad-inputs"}, {"message", inputs.message()}, {"text", inputs.message()}});
      }
    }
  }
  return HttpResponse::OfJson(200, answer);
}

}  // namespace

void AddSubmitRoutes(Router& router, const ApiContext& api) {
  const RouteOptions options{.max_body = kMaxSubmitBytes,
                             .content_types = {"application/json", "application/yaml", "application/x-yaml", "text/yaml"},
                             .body_required = true};
  RouteOptions submit = options;
  submit.quick = [api](const HttpRequest& request) { return SubmitQuickly(api, request); };
  router.Add("POST", "/v1/workflows", submit, [api](const HttpRequest& request) { return Submit(api, request); });
  router.Add("POST", "/v1/validate", options, [api](const HttpRequest& request) { return Validate(api, request); });
}

}  // namespace acl::coordinator
