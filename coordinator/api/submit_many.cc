// POST /v1/workflows/batch: many runs of one workflow with one request.
#include <fmt/format.h>

#include <mutex>

#include "coordinator/api/created.h"
#include "coordinator/api/json_views.h"
#include "coordinator/api/request.h"
#include "coordinator/api/submission.h"
#include "coordinator/definition_cache.h"
#include "coordinator/queue_watch.h"
#include "coordinator/run_maker.h"
#include "shared/base/canonical_json.h"

namespace acl::coordinator {
namespace {

constexpr std::size_t kMaxRuns = 1'000;

// The answers of all runs; whoever puts the last one sends it.
class Answers {
 public:
  Answers(std::size_t runs, Json warnings, std::chrono::milliseconds waited, HttpResponse::Answer answer)
      : left_(runs), runs_(runs), warnings_(std::move(warnings)), waited_(waited), answer_(std::move(answer)) {}

  void Put(std::size_t at, Json one) {
    std::unique_lock lock(mutex_);
    runs_[at] = std::move(one);
    if (--left_ > 0) return;
    lock.unlock();
    Json body = {{"runs", Json::array()}};
    for (Json& run : runs_) body["runs"].push_back(std::move(run));
    if (!warnings_.empty()) body["warnings"] = warnings_;
    HttpResponse response = HttpResponse::OfJson(201, body);
    if (waited_.count() > 0) response.With("Preference-Applied", "wait=" + std::to_string(waited_.count() / 1000));
    answer_(std::move(response));
  }

 private:
  std::mutex mutex_;
  std::size_t left_;
  std::vector<Json> runs_;
  const Json warnings_;
  const std::chrono::milliseconds waited_;
  const HttpResponse::Answer answer_;
};

Json AnswerOf(const ApiContext& api, const Result<CreateOutcome>& made, const std::optional<EndView>& end) {
  if (!made) return {{"error", ErrorItem(CodeName(made.code()), made.message())}};
  const std::string id = made->subject.ToString();
  if (made->kind == CreateOutcome::Kind::kKeyConflict) {
    return {{"error", ErrorItem("key-reused", "this key was used for another request; the first one made run " + id)}};
  }
  Json answer = {{"id", id}};
  if (made->kind == CreateOutcome::Kind::kReplayed) {
    Counter(api.idempotency_hits).Add();
    answer["replayed"] = true;
  }
  if (end) AddEnd(answer, *end);
  return answer;
}

// One of `runs`: {"inputs"?, "labels"?, "idempotency_key"?}.
std::optional<std::string> WrongRun(const Json& run) {
  if (!run.is_object()) return "a run is an object: {\"inputs\", \"labels\", \"idempotency_key\"}, all optional";
  for (const auto& [name, value] : run.items()) {
    if (name == "inputs" || name == "labels") {
      if (!value.is_object()) return "'" + name + "' is an object";
    } else if (name == "idempotency_key") {
      if (!value.is_string() || value.get_ref<const std::string&>().empty() || value.get_ref<const std::string&>().size() > kMaxKeyBytes) {
        return fmt::format("'idempotency_key' is a text of 1 to {} bytes", kMaxKeyBytes);
      }
    } else {
      return "'" + name + "' is not known here; a run has inputs, labels and idempotency_key (files: POST /v1/workflows)";
    }
  }
  return std::nullopt;
}

HttpResponse SubmitMany(const ApiContext& api, const HttpRequest& request) {
  auto common_key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(common_key)) return *refusal;
  auto read = ReadObject(request, {"workflow", "file", "strict", "strict_templates", "lenient_templates", "runs"});
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  Json body = std::move(ValueOf(read));
  const Json runs = body.contains("runs") ? std::move(body["runs"]) : Json();
  if (!runs.is_array() || runs.empty() || runs.size() > kMaxRuns) {
    return Problem(422, "invalid-request", fmt::format("'runs' is a list of 1 to {} runs", kMaxRuns),
                   Json::array({ErrorItem("wrong-type", "a list of {\"inputs\", \"labels\", \"idempotency_key\"}", "/runs")}));
  }
  body.erase("runs");
  auto submission = ReadSubmissionMembers(std::move(body));
  if (const auto* refusal = RefusalOf(submission)) return *refusal;
  const Submission& common = ValueOf(submission);
  const auto loaded = api.definitions.Load(common.text, OptionsOf(common, true));
  if (!loaded->ok()) return InvalidWorkflow(common.file, loaded->findings);

  // All are checked before the first is made.
  Json errors = Json::array();
  auto items = std::make_shared<std::vector<CreateItem>>();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string at = "/runs/" + std::to_string(i);
    std::optional<std::string> wrong = WrongRun(runs[i]);
    if (!wrong) {
      const Json labels = runs[i].value("labels", Json::object());
      wrong = WrongLabels(labels);
      if (!wrong) {
        auto create = RequestOf(request, runs[i].value("inputs", Json::object()), labels);
        create.definition_text = common.text;
        if (runs[i].contains("idempotency_key")) {
          create.request_key = runs[i]["idempotency_key"].get<std::string>();
        } else if (ValueOf(common_key)) {
          create.request_key = fmt::format("{}/{}", *ValueOf(common_key), i);
        }
        if (create.request_key) create.request_hash = CanonicalHash({{"workflow", ToHex(common.hash)}, {"run", runs[i]}});
        auto item = PrepareRun({api.store, api.capabilities, api.workflow_kind, api.ids}, *loaded->definition, std::move(create),
                               &loaded->event_templates);
        if (item) {
          items->push_back(std::move(*item));
        } else {
          wrong = item.message();
        }
      }
    }
    if (wrong && errors.size() < 100) errors.push_back(ErrorItem("bad-run", *wrong, at));
  }
  if (!errors.empty()) return Problem(422, "invalid-request", "some of the runs do not fit; none was made", std::move(errors));

  HttpResponse response;
  Json warnings = Json::array();
  for (const std::string& queue : api.queues != nullptr ? api.queues->Unserved(loaded->queues) : std::vector<std::string>()) {
    warnings.push_back(FindingToJson(common.file, {Finding::Severity::kWarning, "no-worker", NoWorkerText(queue), {}}));
  }
  response.later = [api, items, warnings = std::move(warnings), wait = ReadWait(request)](const HttpResponse::Answer& answer) {
    auto answers = std::make_shared<Answers>(items->size(), warnings, wait, answer);
    for (std::size_t i = 0; i < items->size(); ++i) {
      CreateAndWait(api, std::move((*items)[i]), wait, [=](const Result<CreateOutcome>& made, const std::optional<EndView>& end) {
        answers->Put(i, AnswerOf(api, made, end));
      });
    }
  };
  return response;
}

}  // namespace

void AddSubmitManyRoutes(Router& router, const ApiContext& api) {
  const RouteOptions options{.max_body = kMaxSubmitBytes, .content_types = {"application/json"}, .body_required = true};
  router.Add("POST", "/v1/workflows/batch", options, [api](const HttpRequest& request) { return SubmitMany(api, request); });
}

}  // namespace acl::coordinator
