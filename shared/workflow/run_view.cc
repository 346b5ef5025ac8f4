#include "shared/workflow/run_view.h"

#include <algorithm>

#include "shared/base/utf8.h"
#include "shared/capability/capability.h"
#include "shared/definition/workflow_definition.h"
#include "shared/kernel/call_format.h"
#include "shared/workflow/approvals.h"
#include "shared/workflow/backoff.h"
#include "shared/workflow/compiled_definition.h"
#include "shared/workflow/ready_set.h"
#include "shared/workflow/state.h"
#include "shared/workflow/step_id.h"
#include "shared/workflow/undo_run.h"

namespace acl::workflow {

namespace {

// What may still be shown.
class Shown {
 public:
  explicit Shown(const ViewLimits& limits) : each_(limits.each), left_(limits.all) {}

  // The entry's value, or its size if that is too much.
  const Json* Take(const Document& state, std::string_view key, std::size_t* cut) {
    const std::size_t bytes = state.stored_bytes(key);
    if (bytes > each_ || bytes > left_) {
      *cut = bytes;
      return nullptr;
    }
    left_ -= bytes;
    return state.Find(key);
  }
  std::string Text(std::string text) {
    constexpr std::size_t kShort = 200;
    if (text.size() > left_ && text.size() > kShort) text = StorableText(std::string_view(text).substr(0, kShort)) + " ...";
    left_ -= std::min(left_, text.size());
    return text;
  }

 private:
  const std::size_t each_;
  std::size_t left_;
};

void AddScopeFacts(const StepDefinition& step, const StepRecord& record, StepView& view) {
  if (step.capability.empty()) view.type = StepTypeName(step.type);
  view.signal = TextOf(record.json, "signal");
  view.child = TextOf(record.json, record.json && record.json->contains("child_now") ? "child_now" : "child");
  view.approval = TextOf(record.json, "approval");
  const ScopeRecord scope = ReadScope(record.json);
  if (scope.branch >= 0) view.branch = CaseNameOf(step, scope.branch);
  if (!step.foreach || !MemberOf(record.json, "items")) return;
  view.items = scope.items;
  view.items_failed = int(scope.failures.size());
  const bool over = record.status != StepStatus::kRunning;
  view.items_begun = over ? scope.items : scope.next;
  view.items_ended = over ? scope.items : scope.ended;
}

// `outputs`: the entry that they stand in.
StepView ViewStep(const Document& state, const StepDefinition& step, std::string step_id, const std::string& outputs, bool stops,
                  Shown& shown) {
  StepView view;
  view.step_id = std::move(step_id);
  view.name = step.name;
  view.capability = step.capability;
  view.agent_name = step.agent_name;
  view.max_attempts = step.capability.empty() ? 0 : step.retry.max_attempts;
  StepRecord record = ReadStep(state, view.step_id);
  // Of a run that stops or is closed nothing is tried again, and no scope goes on.
  const bool would_go_on = record.status == StepStatus::kRetryWait || record.status == StepStatus::kWaiting ||
                           (record.status == StepStatus::kRunning && IsScope(step));
  view.status = Name(stops && would_go_on ? StepStatus::kCancelled : record.status);
  view.attempts = record.attempts;
  view.attempts_lost = record.lost;
  view.next_retry = stops ? std::nullopt : record.retry_at;
  view.due_at = stops ? std::nullopt : record.due_at;
  view.started_at = record.started_at;
  view.completed_at = TimeOf(record.json, "completed_at");
  view.error = shown.Text(record.error);
  view.execution_order = record.order;
  view.queue = TextOf(record.dispatch, "queue");
  view.dispatched_at = TimeOf(record.dispatch, "since");
  view.missing = ListOf(record.json, "missing");
  view.hidden = ListOf(record.json, "hidden");
  AddScopeFacts(step, record, view);
  if (record.status == StepStatus::kCompleted) {
    // The step's own entry. In runs of older programs an output of its name may have replaced it.
    if (const Json* given = shown.Take(state, outputs, &view.outputs_cut)) view.outputs = *given;
  }
  return view;
}

// Steps that run once a run. What an item runs has other ids.
bool RunsOnce(const WorkflowDefinition& definition, const StepDefinition& step) {
  for (int at = step.parent; at >= 0; at = definition.steps[std::size_t(at)].parent)
    if (definition.steps[std::size_t(at)].foreach) return false;
  return true;
}

CompensationView ViewUndo(const Document& state, const std::string& undo_id, const std::string& name, const std::string& capability,
                          int max_attempts, bool needed) {
  CompensationView view{undo_id, name, capability, "NOT_NEEDED", false, 0, capability.empty() ? 0 : max_attempts, "", {}, 0};
  StepRecord record = ReadStep(state, undo_id);
  if (record.json || needed) view.status = Name(record.status);
  view.attempts = record.attempts;
  view.attempts_lost = record.lost;
  view.error = record.error;
  view.missing = ListOf(record.json, "missing");
  return view;
}

int AttemptsOf(const CompensationDefinition* compensation) {
  return compensation && compensation->max_attempts ? *compensation->max_attempts : CompensationRetry().max_attempts;
}

void AddCompensations(const Document& state, const WorkflowDefinition& definition, const RunRecord& run,
                      const std::vector<Instance>& instances, RunView& view) {
  const bool needed = run.phase != Phase::kForward && run.rollback;
  struct Undoable {
    int order = 0;
    const Instance* instance = nullptr;
    const Json* undo = nullptr;
  };
  std::vector<Undoable> completed;
  for (const Instance& instance : instances) {
    const StepRecord record = ReadStep(state, instance.step_id);
    if (record.order > 0 && record.undo) completed.push_back({record.order, &instance, record.undo});
  }
  std::sort(completed.begin(), completed.end(), [](const Undoable& a, const Undoable& b) { return a.order > b.order; });
  for (const Undoable& one : completed) {
    const StepDefinition& named = definition.steps[std::size_t(one.instance->step)];
    const bool of_item = !one.instance->item.empty();
    view.compensations.push_back(ViewUndo(state, of_item ? "undo:" + one.instance->step_id : UndoIdOf(named.name),
                                          of_item ? one.instance->step_id : named.name, TextOf(one.undo, "capability"),
                                          AttemptsOf(named.compensation ? &*named.compensation : nullptr), needed));
  }
  for (std::size_t n = 0; n < definition.global_compensation_steps.size(); ++n) {
    const CompensationDefinition& global = definition.global_compensation_steps[n];
    view.compensations.push_back(ViewUndo(state, GlobalUndoIdOf(int(n)), "", global.capability, AttemptsOf(&global), needed));
  }
}

void AddWarnings(const Document& state, RunView& view) {
  auto add = [&](const std::string& whose, const std::string& reference, bool fails = false) {
    view.warnings.push_back(whose + ": nothing answered {{" + reference + "}}" +
                            (fails ? "; it will fail if it is needed" : "; it stayed as literal text"));
  };
  constexpr std::string_view kOfUndo = "compensation: ";
  for (const StepView& step : view.steps) {
    for (const std::string& reference : step.missing) {
      const bool undo = reference.starts_with(kOfUndo);
      const bool fails = undo && MemberOf(ReadStep(state, step.step_id).undo, kCallError) != nullptr;
      add((undo ? "compensation of step '" : "step '") + step.name + "'", undo ? reference.substr(kOfUndo.size()) : reference, fails);
    }
    for (const std::string& output : step.hidden) {
      view.warnings.push_back("step '" + step.name + "': its output '" + output + "' has the name of a step, so {{" + output +
                              "}} is that step's outputs; the output is {{" + step.name + "." + output + "}}");
    }
  }
  for (const CompensationView& undo : view.compensations)
    for (const std::string& reference : undo.missing) add("compensation '" + undo.step_id + "'", reference);
}

// Adds the steps of items that have a record: to the instances all, to the view some.
void AddItems(const Document& state, const WorkflowDefinition& definition, bool stops, int most, Shown& shown,
              std::vector<Instance>& instances, RunView& view) {
  auto compiled = CompiledDefinition::Make(definition, CapabilityRegistry());
  if (!compiled) return;
  std::vector<Instance> items;
  constexpr std::string_view kStep = "step:";
  state.ForEach([&](const std::string& key, const Json&) {
    if (!key.starts_with(kStep) || key.find('[') == std::string::npos) return true;
    auto instance = (*compiled)->Find(std::string_view(key).substr(kStep.size()));
    if (instance && !instance->undo) items.push_back(std::move(*instance));
    return true;
  });
  const auto open = [&](const Instance& instance) { return ReadStep(state, instance.step_id).status != StepStatus::kCompleted; };
  const auto first = [&](const Instance& a, const Instance& b) { return std::tie(a.items, a.step) < std::tie(b.items, b.step); };
  std::sort(items.begin(), items.end(), first);
  std::vector<const Instance*> chosen;
  for (const bool not_done : {true, false})
    for (const Instance& instance : items)
      if (int(chosen.size()) < most && open(instance) == not_done) chosen.push_back(&instance);
  for (const Instance* instance : chosen) {
    const StepDefinition& step = definition.steps[std::size_t(instance->step)];
    StepView one = ViewStep(state, step, instance->step_id, ItemOutputsKey(instance->step_id), stops, shown);
    if (IsPlainBody(step)) one.name = instance->step_id;
    one.scope = instance->item;
    view.items.push_back(std::move(one));
  }
  view.items_left_out = int(items.size() - chosen.size());
  instances.insert(instances.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
}

// Steps that the ready set holds while the run goes forward, or the compensation that is next while it stops.
void MarkReady(const Document& state, const WorkflowDefinition& definition, const RunRecord& run, const Progress& progress, RunView& view) {
  if (run.phase == Phase::kForward && run.status != RunStatus::kPaused) {
    const ReadySet ready(state, int(view.steps.size()));
    std::vector<int> order = PlanOrder(definition);
    std::erase_if(order, [&](int index) { return !RunsOnce(definition, definition.steps[std::size_t(index)]); });
    std::vector<int> views;  // of each step, its place among the views
    for (int next = 0; const StepDefinition& step : definition.steps) views.push_back(RunsOnce(definition, step) ? next++ : -1);
    for (auto position = ready.Next(0); position && *position < int(order.size()); position = ready.Next(*position + 1)) {
      const auto index = std::size_t(order[std::size_t(*position)]);
      const StepDefinition& step = definition.steps[index];
      const bool elsewhere =
          step.queue.value_or(definition.queue) != definition.queue || step.priority.value_or(definition.priority) != definition.priority;
      StepView& shown = view.steps[std::size_t(views[index])];
      shown.ready = shown.status == "PENDING" && !elsewhere && !step.capability.empty();
    }
  }
  const bool undoing = view.rolling_back && progress.open.empty() && progress.settle.empty() && progress.uncertain.empty();
  for (CompensationView& undo : view.compensations) {
    if (!undoing || undo.status == "COMPLETED" || undo.status == "FAILED") continue;
    undo.ready = undo.status == "PENDING";
    break;  // one after the other
  }
}

std::string WaitingOf(const RunRecord& run, const Progress& progress, const RunView& view) {
  if (view.closed) return "";
  if (run.status == RunStatus::kPaused) return "paused";
  if (!progress.uncertain.empty()) return "uncertain";
  if (!progress.dispatches.empty() && progress.open.empty()) return "dispatch";
  bool retrying = progress.retrying > 0 && progress.open.empty();
  bool could_run =
      std::any_of(view.steps.begin(), view.steps.end(), [](const StepView& step) { return step.status == "RUNNING" && step.type.empty(); });
  if (retrying && !could_run) return "retry";
  if (progress.children > 0 && progress.open.empty() && !could_run) return "child";
  if (progress.waiting == 0 || !progress.open.empty() || could_run) return "";
  if (progress.waiting > progress.signals + progress.approvals) return "timer";
  return progress.approvals > 0 ? "approval" : "signal";
}

}  // namespace

const Json* OutputsOf(const Document& state, std::string_view step) {
  const Json* definition_json = state.Find(kDefinitionKey);
  auto definition = definition_json ? DefinitionFromJson(*definition_json) : Result<WorkflowDefinition>(Code::kCorrupt, "");
  if (!definition) return nullptr;
  if (step.find('[') != step.npos)
    return ReadStep(state, step).status == StepStatus::kCompleted ? state.Find(ItemOutputsKey(step)) : nullptr;
  for (const StepDefinition& one : definition->steps) {
    if (one.name != step && StepIdOf(one.name) != step) continue;
    return ReadStep(state, StepIdOf(one.name)).status == StepStatus::kCompleted ? state.Find(VarKey(one.name)) : nullptr;
  }
  return nullptr;
}

const Json* InputsOf(const Document& state) { return state.Find(kInputsKey); }

Result<RunView> ViewOf(const Document& state, const ViewLimits& limits) {
  auto run = ReadRun(state);
  const Json* definition_json = state.Find(kDefinitionKey);
  if (!run || !definition_json) return Error{Code::kCorrupt, "the state is not that of a workflow run: no run record or no spec"};
  auto definition = DefinitionFromJson(*definition_json);
  if (!definition) return Error{Code::kCorrupt, "the run's definition cannot be read: " + definition.message()};
  Progress progress = ReadProgress(state);

  RunView view;
  view.name = TextOf(run->json, "name");
  view.version = TextOf(run->json, "version");
  view.owner = TextOf(run->json, "owner");
  view.project_id = TextOf(MemberOf(run->json, "task"), "project_id");
  view.task_id = TextOf(MemberOf(run->json, "task"), "task_id");
  view.parent_id = TextOf(MemberOf(run->json, "parent"), "run_id");
  view.parent_step = TextOf(MemberOf(run->json, "parent"), "step_id");
  view.undo_of = TextOf(run->json, "undo_of");
  if (run->finishes) {
    view.finishes = TextOf(run->finishes, "step_id");
    view.finish_decision = FlagOf(run->finishes, "skip") ? "skip" : "retry";
    view.finish_by = TextOf(run->finishes, "by");
    view.finish_reason = TextOf(run->finishes, "reason");
  }
  if (run->phase == Phase::kClosed) view.not_undone = LeftUndone(state);
  view.continued_as = TextOf(run->json, "continued_as");
  if (const Json* before = MemberOf(run->json, "continued")) {
    view.continued_from = TextOf(before, "from");
    view.first = TextOf(before, "first");
    view.number = NumberOf(before, "number");
  }
  view.trace_id = TextOf(run->json, "trace_id");
  view.status = Name(run->status);
  view.closed = run->phase == Phase::kClosed;
  view.rolling_back = run->phase == Phase::kStopping && run->rollback;
  view.reason = run->reason;
  view.error = TextOf(run->json, "error");
  view.failed_step = TextOf(run->json, "failed_step");
  view.started_at = TimeOf(run->json, "started_at");
  view.completed_at = TimeOf(run->json, "completed_at");
  view.deadline = run->deadline;
  view.steps_completed = progress.done - progress.items;
  Shown shown(limits);
  const bool stops = run->phase != Phase::kForward;
  std::vector<Instance> instances;
  for (int index = 0; const StepDefinition& step : definition->steps) {
    const int number = index++;
    if (!RunsOnce(*definition, step)) continue;
    view.steps.push_back(ViewStep(state, step, StepIdOf(step.name), VarKey(step.name), stops, shown));
    if (step.parent >= 0) view.steps.back().scope = definition->steps[std::size_t(step.parent)].name;
    instances.push_back({view.steps.back().step_id, number, -1, false, "", {}});
  }
  view.steps_total = int(view.steps.size());
  if (view.steps.size() < definition->steps.size()) AddItems(state, *definition, stops, limits.items_shown, shown, instances, view);
  AddCompensations(state, *definition, *run, instances, view);
  MarkReady(state, *definition, *run, progress, view);
  AddWarnings(state, view);
  if (run->status == RunStatus::kCompleted) {
    view.outputs_of = TextOf(run->json, "outputs_of");
    const Json* outputs = shown.Take(state, VarKey(view.outputs_of), &view.outputs_cut);
    if (outputs && outputs->is_object()) view.outputs = *outputs;
  }
  if (const Json* inputs = shown.Take(state, kInputsKey, &view.inputs_cut)) view.inputs = *inputs;
  view.uncertain = progress.uncertain;
  view.waiting = WaitingOf(*run, progress, view);
  if (WaitsForApproval(state, view.steps_total, *run, progress)) view.status = Name(RunStatus::kPaused);
  return view;
}

namespace {

void AddText(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}
void AddTime(Json& json, const char* key, const std::optional<WallTime>& time) {
  if (time) json[key] = FormatWallTime(*time);
}

Json Cut(std::size_t bytes) { return {{"truncated", true}, {"bytes", bytes}}; }

Json StepJson(const StepView& step) {
  Json json = {{"step_id", step.step_id}, {"name", step.name}, {"capability", step.capability}};
  AddText(json, "step_type", step.type);
  AddText(json, "scope", step.scope);
  AddText(json, "agent_name", step.agent_name);
  json["status"] = step.status;
  AddText(json, "branch", step.branch);
  AddText(json, "signal", step.signal);
  AddText(json, "child", step.child);
  AddText(json, "approval", step.approval);
  if (step.items >= 0)
    json["items"] = {{"total", step.items}, {"begun", step.items_begun}, {"ended", step.items_ended}, {"failed", step.items_failed}};
  if (step.ready) json["ready"] = true;
  json["attempts"] = step.attempts;
  json["max_attempts"] = step.max_attempts;
  if (step.attempts_lost > 0) json["attempts_lost"] = step.attempts_lost;
  if (step.execution_order > 0) json["execution_order"] = step.execution_order;
  AddTime(json, "started_at", step.started_at);
  AddTime(json, "completed_at", step.completed_at);
  AddTime(json, "next_retry", step.next_retry);
  AddTime(json, "due_at", step.due_at);
  AddText(json, "queue", step.queue);
  AddTime(json, "dispatched_at", step.dispatched_at);
  AddText(json, "error", step.error);
  if (!step.missing.empty()) json["missing"] = step.missing;
  if (step.outputs) json["outputs"] = *step.outputs;
  if (step.outputs_cut > 0) json["outputs"] = Cut(step.outputs_cut);
  return json;
}

Json CompensationJson(const CompensationView& undo) {
  Json json = {{"step_id", undo.step_id}};
  AddText(json, "undoes", undo.undoes);
  AddText(json, "capability", undo.capability);
  json["status"] = undo.status;
  if (undo.ready) json["ready"] = true;
  json["attempts"] = undo.attempts;
  if (undo.max_attempts > 0) json["max_attempts"] = undo.max_attempts;
  if (undo.attempts_lost > 0) json["attempts_lost"] = undo.attempts_lost;
  AddText(json, "error", undo.error);
  if (!undo.missing.empty()) json["missing"] = undo.missing;
  return json;
}

}  // namespace

Json ViewToJson(const RunView& view) {
  Json json = {{"name", view.name}, {"version", view.version}, {"owner", view.owner}, {"status", view.status}, {"closed", view.closed}};
  if (view.rolling_back) json["rolling_back"] = true;
  if (!view.task_id.empty()) json["task"] = {{"project_id", view.project_id}, {"task_id", view.task_id}};
  AddText(json, "continued_as", view.continued_as);
  if (!view.continued_from.empty()) json["continued"] = {{"from", view.continued_from}, {"first", view.first}, {"number", view.number}};
  if (!view.parent_id.empty()) json["parent"] = {{"run_id", view.parent_id}, {"step_id", view.parent_step}};
  AddText(json, "undo_of", view.undo_of);
  if (!view.finishes.empty())
    json["finishes"] = {
        {"step_id", view.finishes}, {"decision", view.finish_decision}, {"by", view.finish_by}, {"reason", view.finish_reason}};
  for (const std::string& left : view.not_undone) json["not_undone"].push_back({{"step_id", left}});
  AddText(json, "trace_id", view.trace_id);
  AddText(json, "reason", view.reason);
  AddText(json, "error", view.error);
  AddText(json, "failed_step", view.failed_step);
  AddText(json, "waiting", view.waiting);
  AddTime(json, "created_at", view.created_at);
  AddTime(json, "started_at", view.started_at);
  AddTime(json, "completed_at", view.completed_at);
  AddTime(json, "deadline", view.deadline);
  json["steps_total"] = view.steps_total;
  json["steps_completed"] = view.steps_completed;
  json["inputs"] = view.inputs_cut > 0 ? Cut(view.inputs_cut) : view.inputs;
  if (view.outputs_cut > 0)
    json["outputs"] = Cut(view.outputs_cut);
  else if (!view.outputs.empty())
    json["outputs"] = view.outputs;
  json["steps"] = Json::array();
  for (const StepView& step : view.steps) json["steps"].push_back(StepJson(step));
  if (!view.items.empty()) {
    json["item_steps"] = Json::array();
    for (const StepView& step : view.items) json["item_steps"].push_back(StepJson(step));
    if (view.items_left_out > 0) json["item_steps_left_out"] = view.items_left_out;
  }
  json["compensations"] = Json::array();
  for (const CompensationView& undo : view.compensations) json["compensations"].push_back(CompensationJson(undo));
  if (!view.uncertain.empty()) json["uncertain"] = view.uncertain;
  if (!view.warnings.empty()) json["warnings"] = view.warnings;
  return json;
}

}  // namespace acl::workflow
