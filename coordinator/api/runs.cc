// GET /v1/workflows, /v1/workflows/{id}, /{id}/inputs, /{id}/steps/{step_id}/outputs, /{id}/files, /{id}/files/{path}.
#include <fmt/format.h>

#include <set>

#include "coordinator/api/activity.h"
#include "coordinator/api/api.h"
#include "coordinator/api/compensate.h"
#include "coordinator/api/cursor.h"
#include "coordinator/api/files.h"
#include "coordinator/api/json_views.h"
#include "coordinator/api/request.h"
#include "coordinator/api/run_reader.h"
#include "coordinator/queue_watch.h"
#include "shared/http/url.h"
#include "shared/workflow/end_reason.h"
#include "shared/workflow/run_view.h"
#include "shared/workflow/status_machine.h"

namespace acl::coordinator {
namespace {

HttpResponse ListRuns(const ApiContext& api, const HttpRequest& request) {
  auto limit = ReadNumber(request, "limit", 50, 1, 200);
  if (const auto* refusal = RefusalOf(limit)) return *refusal;
  ListFilter filter;
  filter.kind = std::string(api.workflow_kind.Name());
  filter.limit = int(ValueOf(limit)) + 1;  // one more says whether there is a next page
  std::string filters, query;
  if (const auto* status = request.Query("status")) {
    if (!workflow::ParseRunStatus(*status)) {
      return Problem(400, "bad-parameter", "status is one of PENDING, RUNNING, PAUSED, COMPLETED, FAILED, ROLLED_BACK");
    }
    filter.status = *status;
    filters += "status=" + *status + "\n";
    query += "&status=" + PercentEncode(*status);
  }
  if (const auto* name = request.Query("name")) {
    filter.name = *name;
    filters += "name=" + *name + "\n";
    query += "&name=" + PercentEncode(*name);
  }
  for (const auto& [parameter, label] : request.query) {
    if (parameter != "label") continue;
    const auto equals = label.find('=');
    if (equals == std::string::npos || equals == 0) return Problem(400, "bad-parameter", "label is NAME=VALUE, not '" + label + "'");
    const auto [it, fresh] = filter.labels.emplace(label.substr(0, equals), label.substr(equals + 1));
    if (!fresh) return Problem(400, "bad-parameter", "label '" + it->first + "' is asked for twice");
    filters += "label=" + label + "\n";
    query += "&label=" + PercentEncode(label);
  }
  if (const auto* reason = request.Query("reason")) {
    if (*reason == workflow::kCancelledReason) {
      filter.error_prefix = workflow::CancelledText("");
    } else if (*reason == workflow::kTimeoutReason) {
      filter.error_prefix = workflow::kTimeoutText;
    } else if (*reason == workflow::kStepFailedReason) {
      filter.error_prefix = workflow::kStepFailedText;
    } else if (*reason == workflow::kRejectedReason) {
      filter.error_prefix = workflow::kRejectedText;
    } else if (*reason == workflow::kApprovalTimeoutReason) {
      filter.error_prefix = workflow::kApprovalTimeoutText;
    } else {
      return Problem(400, "bad-parameter", "reason is one of step_failed, timeout, cancelled, rejected, approval_timeout");
    }
    filters += "reason=" + *reason + "\n";
    query += "&reason=" + *reason;
  }
  if (const auto* person = request.Query("needs_person")) {
    if (*person != "true" && *person != "false") return Problem(400, "bad-parameter", "needs_person is true or false");
    filter.needs_person = *person == "true";
    filters += "needs_person=" + *person + "\n";
    query += "&needs_person=" + *person;
  }
  if (const auto* cursor = request.Query("cursor")) {
    filter.before = ReadCursor(*cursor, filters);
    if (!filter.before)
      return Problem(400, "bad-cursor", "the cursor is not one of this list: use next_cursor of the page before, with the same filters");
  }
  auto found = api.queries.List(filter);
  if (!found) return ProblemOf(found.error());
  const bool more = std::int64_t(found->size()) > ValueOf(limit);
  if (more) found->pop_back();
  Json answer = {{"workflows", Json::array()}};
  for (const auto& view : *found) answer["workflows"].push_back(SubjectToJson(view));
  auto response = HttpResponse::OfJson(200, answer);
  if (more) {
    const auto cursor = MakeCursor(found->back().subject, filters);
    answer["next_cursor"] = cursor;
    response = HttpResponse::OfJson(200, answer);
    response.With("Link", "</v1/workflows?cursor=" + cursor + "&limit=" + std::to_string(ValueOf(limit)) + query + ">; rel=\"next\"");
  }
  return response;
}

// The attempts' tokens and times stand beside each step's own record.
void AddAttempts(Json& steps, const std::vector<AttemptView>& attempts) {
  std::map<std::string, Json> by_step;
  for (const auto& attempt : attempts) {
    auto [it, fresh] = by_step.try_emplace(attempt.step_id, Json::array());
    it->second.push_back(AttemptToJson(attempt));
  }
  for (auto& step : steps) {
    const auto it = by_step.find(step.value("step_id", ""));
    if (it != by_step.end()) step["attempt_rows"] = it->second;
  }
}

// Where a value is that was too large to stand here.
void AddAddresses(Json& answer, const workflow::RunView& view, const std::string& run) {
  const auto outputs_of = [&](const std::string& step) { return run + "/steps/" + PercentEncode(step) + "/outputs"; };
  if (view.inputs_cut > 0) answer["inputs"]["url"] = run + "/inputs";
  if (view.outputs_cut > 0) answer["outputs"]["url"] = outputs_of(view.outputs_of);
  for (std::size_t i = 0; i < view.steps.size(); ++i) {
    if (view.steps[i].outputs_cut > 0) answer["steps"][i]["outputs"]["url"] = outputs_of(view.steps[i].step_id);
  }
}

// What it waits for has no worker: its own queue, or those of its dispatches.
void AddUnserved(const ApiContext& api, const SubjectView& view, const std::vector<DispatchView>& dispatches, Json& answer) {
  if (api.queues == nullptr) return;
  std::set<std::string> awaited;
  if (view.state == OpenState::kReady) awaited.insert(view.queue);
  for (const DispatchView& dispatch : dispatches) {
    if (dispatch.state == "queued" && view.state != OpenState::kClosed) awaited.insert(dispatch.queue);
  }
  for (const std::string& queue : api.queues->Unserved({awaited.begin(), awaited.end()})) {
    answer["state"]["no_worker_for"].push_back(queue);
    answer["warnings"].push_back(NoWorkerText(queue));
  }
}

// What it waits for is memory, which is a person's to give.
void AddMemoryWanted(const SubjectView& view, const Document& state, Json& answer) {
  if (view.state != OpenState::kWaiting || view.waiting_reason != "memory") return;
  answer["warnings"].push_back(fmt::format(
      "the run does not fit into the memory of the worker that took it last: its state is {:.1f} MiB as it is stored, and several times as "
      "much in memory. Give the worker's process more (the container's limit, MemoryMax= of its unit, ulimit -v) or start a larger worker",
      double(state.stored_bytes()) / (1 << 20)));
}

HttpResponse GetRun(const ApiContext& api, const HttpRequest& request) {
  auto id = ReadSubject(api, request.Param("id"));
  if (const auto* refusal = RefusalOf(id)) return *refusal;
  auto run = ReadRun(api, ValueOf(id));
  if (!run) return ProblemOf(run.error());
  Json answer = SubjectToJson(run->listed);
  if (run->damage.empty()) {
    auto view = workflow::ViewOf(run->state, {.each = limits::kViewOutputBytes, .all = limits::kViewOutputsBytes});
    if (!view) {
      run->damage = view.message();
    } else {
      Json state = workflow::ViewToJson(*view);
      AddAddresses(state, *view, "/v1/workflows/" + run->listed.subject.ToString());
      for (auto& [key, value] : state.get_ref<Json::object_t&>()) answer[key] = std::move(value);
      if (!api.jaeger_url.empty() && !view->trace_id.empty()) answer["trace_url"] = api.jaeger_url + "/trace/" + view->trace_id;
    }
  }
  if (!run->damage.empty()) answer["damage"] = run->damage;
  if (Status added = AddFinishings(api, run->listed, answer); !added) return ProblemOf(added.error());
  auto attempts = api.queries.Attempts(ValueOf(id));
  if (!attempts) return ProblemOf(attempts.error());
  if (answer.contains("steps")) AddAttempts(answer["steps"], *attempts);
  if (answer.contains("compensations")) AddAttempts(answer["compensations"], *attempts);
  auto grants = api.queries.Grants(ValueOf(id));
  if (!grants) return ProblemOf(grants.error());
  answer["grants"] = Json::array();
  for (const auto& grant : *grants) answer["grants"].push_back(GrantToJson(grant));
  auto dispatches = api.queries.Dispatches(ValueOf(id));
  if (!dispatches) return ProblemOf(dispatches.error());
  answer["dispatches"] = Json::array();
  for (const auto& dispatch : *dispatches) answer["dispatches"].push_back(DispatchToJson(dispatch));
  AddActivity(answer);
  AddUnserved(api, run->listed, *dispatches, answer);
  AddMemoryWanted(run->listed, run->state, answer);
  auto timers = api.queries.Timers(ValueOf(id));
  if (!timers) return ProblemOf(timers.error());
  answer["timers"] = Json::array();
  for (const auto& timer : *timers) answer["timers"].push_back({{"timer_id", timer.timer_id}, {"fire_at", FormatWallTime(timer.fire_at)}});
  return HttpResponse::OfJson(200, answer);
}

// The restored state, or the refusal: for routes that have nothing to say about a damaged run.
OrRefusal<ReadRunState> SoundRun(const ApiContext& api, const HttpRequest& request) {
  auto id = ReadSubject(api, request.Param("id"));
  if (const auto* refusal = RefusalOf(id)) return *refusal;
  auto run = ReadRun(api, ValueOf(id));
  if (!run) return ProblemOf(run.error());
  if (!run->damage.empty()) return Problem(500, "corrupt", run->damage);
  return std::move(*run);
}

// Whole, however large: what the view of a run only names.
HttpResponse GetOutputs(const ApiContext& api, const HttpRequest& request) {
  auto run = SoundRun(api, request);
  if (const auto* refusal = RefusalOf(run)) return *refusal;
  const std::string step = request.Param("step_id");
  const Json* outputs = workflow::OutputsOf(ValueOf(run).state, step);
  if (outputs == nullptr)
    return Problem(404, "no-outputs", "the run has no outputs of a step '" + step + "': no such step, or it has not completed");
  return HttpResponse::OfJson(200, *outputs);
}

HttpResponse GetInputs(const ApiContext& api, const HttpRequest& request) {
  auto run = SoundRun(api, request);
  if (const auto* refusal = RefusalOf(run)) return *refusal;
  const Json* inputs = workflow::InputsOf(ValueOf(run).state);
  return HttpResponse::OfJson(200, inputs != nullptr ? *inputs : Json(Json::object()));
}

HttpResponse ListFiles(const ApiContext& api, const HttpRequest& request) {
  auto run = SoundRun(api, request);
  if (const auto* refusal = RefusalOf(run)) return *refusal;
  return AnswerFiles(ValueOf(run).state);
}

HttpResponse GetFile(const ApiContext& api, const HttpRequest& request) {
  auto run = SoundRun(api, request);
  if (const auto* refusal = RefusalOf(run)) return *refusal;
  return AnswerFile(api, request, ValueOf(run).state);
}

}  // namespace

void AddRunRoutes(Router& router, const ApiContext& api) {
  router.Add("GET", "/v1/workflows", {}, [api](const HttpRequest& r) { return ListRuns(api, r); });
  router.Add("GET", "/v1/workflows/{id}", {}, [api](const HttpRequest& r) { return GetRun(api, r); });
  router.Add("GET", "/v1/workflows/{id}/inputs", {}, [api](const HttpRequest& r) { return GetInputs(api, r); });
  router.Add("GET", "/v1/workflows/{id}/steps/{step_id}/outputs", {}, [api](const HttpRequest& r) { return GetOutputs(api, r); });
  router.Add("GET", "/v1/workflows/{id}/files", {}, [api](const HttpRequest& r) { return ListFiles(api, r); });
  router.Add("GET", "/v1/workflows/{id}/files/{path...}", {}, [api](const HttpRequest& r) { return GetFile(api, r); });
}

}  // namespace acl::coordinator
