// GET /v1/workflows/{id}/steps/{step_id}: one step with all that the journal says of its attempts.
#include "coordinator/api/activity.h"
#include "coordinator/api/json_views.h"
#include "coordinator/api/request.h"
#include "coordinator/api/request_budget.h"
#include "coordinator/api/run_reader.h"
#include "shared/base/limits.h"
#include "shared/http/url.h"
#include "shared/workflow/run_view.h"

namespace acl::coordinator {
namespace {

constexpr int kStepPage = 1000;
constexpr std::size_t kMostHistory = 500;  // the last ones

// Facts of an event about one step, without what the event's columns and the step's record say.
Json HistoryItem(const Event& event, const std::string& type, const Json& facts) {
  Json item = {
      {"event_seq", event.seq}, {"event_type", type}, {"at", FormatWallTime(event.timestamp)}, {"fencing_token", event.token.value}};
  for (const char* key : {"attempt", "attempts", "error", "why", "started_at", "retry_at", "due_at", "duration_ms", "timed_out", "unknown",
                          "worker", "queue", "decision", "by", "reason"}) {
    if (const auto it = facts.find(key); it != facts.end()) item[key] = *it;
  }
  return item;
}

// Of the step and of the compensation that undoes it.
struct History {
  std::string step_id, undo_id;
  std::string needle;  // the id as it stands in JSON text
  Json step = Json::array(), undo = Json::array();
  bool cut = false;

  void Take(const Event& event, const std::string& type, const Json& facts) {
    const std::string id = facts.is_object() ? facts.value("step_id", "") : "";
    if (id.empty() || (id != step_id && id != undo_id)) return;
    Json& list = id == step_id ? step : undo;
    list.push_back(HistoryItem(event, type, facts));
    if (list.size() > kMostHistory) {
      list.erase(list.begin());
      cut = true;
    }
  }
};

// What is held at one time is a page.
Status ReadHistory(const ApiContext& api, const SubjectId& id, AnswerBudget::Part& memory, History& history) {
  const std::size_t before = memory.taken();
  for (std::int64_t after = 0;;) {
    auto page = api.queries.Events(id, after, kStepPage, limits::kPageBytes);
    if (!page) return page.error();
    history.cut = history.cut || (!page->empty() && page->front().seq > after + 1);  // its journals of before were dropped
    for (const Event& event : *page) {
      after = event.seq;
      // Parsing costs most: events that do not name the step are not parsed.
      if (!event.payload || event.payload->find(history.needle) == std::string::npos) continue;
      if (Status taken = memory.Take(RoomToRead(*event.payload)); !taken) return taken;
      auto facts = ParseJson(*event.payload, kStoredJson);
      if (!facts || !facts->is_object()) continue;
      history.Take(event, event.type, *facts);
      if (const auto also = facts->find("also"); also != facts->end() && also->is_array()) {
        for (const Json& more : *also) history.Take(event, more.is_object() ? more.value("type", "") : "", more);
      }
    }
    memory.Keep(before);
    if (page->empty()) return {};  // a page may be shorter than asked for
  }
}

Json* FindStep(Json& run, const std::string& wanted) {
  for (const char* list : {"steps", "item_steps", "compensations"})
    for (Json& step : run[list])
      if (step.value("step_id", "") == wanted || step.value("name", "") == wanted) return &step;
  return nullptr;
}

// Where the step's outputs are, if they were too large to stand here.
void AddAddress(const workflow::RunView& view, const SubjectId& run, Json& answer) {
  for (const auto* steps : {&view.steps, &view.items}) {
    for (const workflow::StepView& step : *steps) {
      if (step.outputs_cut == 0 || answer["step_id"] != step.step_id) continue;
      answer["outputs"]["url"] = "/v1/workflows/" + run.ToString() + "/steps/" + PercentEncode(step.step_id) + "/outputs";
    }
  }
}

// Who ran each attempt: the holder under whose token it began. Of a dispatch its event says so itself.
void AddWorkers(const std::vector<GrantView>& grants, const std::vector<AttemptView>& attempts, const std::string& step_id, Json& history) {
  for (Json& item : history) {
    if (item.contains("worker") || !item.contains("attempt") || item["event_type"] == "step.dispatched") continue;
    std::int64_t token = item["fencing_token"];
    for (const AttemptView& attempt : attempts) {
      if (attempt.step_id == step_id && attempt.attempt_id == item["attempt"]) token = attempt.token.value;
    }
    for (const GrantView& grant : grants) {
      if (grant.token.value == token && !grant.worker_name.empty()) item["worker"] = grant.worker_name;
    }
  }
}

HttpResponse GetStep(const ApiContext& api, const HttpRequest& request) {
  auto id = ReadSubject(api, request.Param("id"));
  if (const auto* refusal = RefusalOf(id)) return *refusal;
  auto run = ReadRun(api, ValueOf(id));
  if (!run) return ProblemOf(run.error());
  const bool of_item = request.Param("step_id").find('[') != std::string::npos;  // whichever: it may be one that a view leaves out
  const workflow::ViewLimits shown{of_item ? kForeachItems * 10 : 0, limits::kViewOutputBytes, limits::kViewOutputsBytes};
  auto view = run->damage.empty() ? workflow::ViewOf(run->state, shown) : Result<workflow::RunView>(Code::kCorrupt, run->damage);
  if (!view) return ProblemOf(view.error());
  Json whole = SubjectToJson(run->listed);
  whole.update(workflow::ViewToJson(*view));
  auto dispatches = api.queries.Dispatches(ValueOf(id));
  if (!dispatches) return ProblemOf(dispatches.error());
  whole["dispatches"] = Json::array();
  for (const auto& dispatch : *dispatches) whole["dispatches"].push_back(DispatchToJson(dispatch));
  AddActivity(whole);

  const std::string& wanted = request.Param("step_id");
  Json* step = FindStep(whole, wanted);
  if (step == nullptr) return Problem(404, "no-such-step", "the run has no step '" + wanted + "'");
  Json answer = {{"workflow_id", ValueOf(id).ToString()}, {"run_status", whole["status"]}};
  answer.update(*step);
  AddAddress(*view, ValueOf(id), answer);
  const std::string step_id = answer["step_id"], quoted = DumpJson(Json(step_id));
  History history{step_id, "undo:" + step_id, quoted.substr(1, quoted.size() - 2)};
  if (Status read = ReadHistory(api, ValueOf(id), run->memory, history); !read) return ProblemOf(read.error());
  auto attempts = api.queries.Attempts(ValueOf(id));
  if (!attempts) return ProblemOf(attempts.error());
  auto grants = api.queries.Grants(ValueOf(id));
  if (!grants) return ProblemOf(grants.error());
  AddWorkers(*grants, *attempts, history.step_id, history.step);
  AddWorkers(*grants, *attempts, history.undo_id, history.undo);
  answer["history"] = std::move(history.step);
  if (history.cut) answer["history_cut"] = true;
  answer["dispatches"] = Json::array();
  for (Json& dispatch : whole["dispatches"])
    if (dispatch["step_id"] == answer["step_id"]) answer["dispatches"].push_back(std::move(dispatch));
  for (Json& undo : whole["compensations"]) {
    if (undo["step_id"] != history.undo_id) continue;
    answer["compensation"] = std::move(undo);
    answer["compensation"]["history"] = std::move(history.undo);
  }
  answer["attempt_rows"] = Json::array();
  for (const auto& attempt : *attempts)
    if (attempt.step_id == history.step_id) answer["attempt_rows"].push_back(AttemptToJson(attempt));
  return HttpResponse::OfJson(200, answer);
}

}  // namespace

void AddStepRoutes(Router& router, const ApiContext& api) {
  router.Add("GET", "/v1/workflows/{id}/steps/{step_id}", {}, [api](const HttpRequest& r) { return GetStep(api, r); });
}

}  // namespace acl::coordinator
