// Steps that hold others: they begin, what they hold ends one after the other, and the last ends them. Whoever ends tells those that wait
// for it and the scope that it stands in (Freed); a scope in which all has ended is `due`, and Decider::TendOwn ends it by an event.

#include <fmt/format.h>

#include <algorithm>

#include "shared/approval/approval.h"
#include "shared/workflow/evolution.h"

namespace acl::workflow {

namespace {

Json PendingRecord() { return {{"status", Name(StepStatus::kPending)}}; }

bool Contains(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// Failures that a FOREACH of so many items stands.
int Allowed(const ForeachDefinition& each, int items) {
  return each.in_percent ? int(std::int64_t(items) * each.max_failures / 100) : each.max_failures;
}

}  // namespace

// ---- records of other steps

Json* Evolution::Touched(const Instance& instance) {
  const auto at = touched_at_.find(StepKey(instance.step_id));
  return at == touched_at_.end() ? nullptr : &touched_[at->second].second;
}

StepRecord Evolution::RecordOf(const Instance& instance) {
  if (IsOwnRecord(instance)) return ReadStepFrom(&step_json_);
  const Json* touched = touched_.empty() ? nullptr : Touched(instance);
  return touched ? ReadStepFrom(touched) : ReadStep(state_, instance.step_id);
}

Json& Evolution::TouchEntry(const std::string& key, const Json& fresh) {
  const auto [at, first] = touched_at_.emplace(key, touched_.size());
  if (first) {
    const Json* before = Lookup(state_, key);
    touched_.emplace_back(key, before ? *before : fresh);
  }
  return touched_[at->second].second;
}

Json& Evolution::Touch(const Instance& instance) {
  return IsOwnRecord(instance) ? step_json_ : TouchEntry(StepKey(instance.step_id), PendingRecord());
}

void Evolution::Due(const Instance& scope) {
  if (!Contains(progress_.due, scope.step_id)) progress_.due.push_back(scope.step_id);
}

// ---- what begins

// A run of its own goes on with it.
void Evolution::ChildStarted() {
  GoStep(StepStatus::kRunning);
  LeaveReady();
  step_json_["started_at"] = At();
  step_json_["child"] = Fact("child");
  for (auto key : {"waits", "met"}) step_json_.erase(key);
  ++progress_.children;
  KeepDeadline();
}

void Evolution::Opened() {
  GoStep(StepStatus::kRunning);
  LeaveReady();
  step_json_["started_at"] = At();
  for (auto key : {"waits", "met"}) step_json_.erase(key);
  const int step = instance_->step;
  if (!IsScope(definition_.step(step))) {
    impossible_ = fmt::format("step.opened of '{}', which holds no steps", instance_->step_id);
    return;
  }
  if (definition_.step(step).foreach) return OpenItems();
  const bool chooses = !definition_.step(step).cases.empty();
  const int branch = chooses ? int(NumberOf(facts_, "branch", -1)) : 0;
  if (chooses && branch >= 0) step_json_["branch"] = branch;
  int left = 0;
  for (int child : definition_.children(step))  // one that can never begin was left out before
    left += definition_.step(child).branch == branch && RecordOf(definition_.Beside(*instance_, child)).status == StepStatus::kPending;
  step_json_["left"] = left;
  for (int child : definition_.children(step)) {
    if (definition_.step(child).branch != branch) Skip(definition_.Beside(*instance_, child));
  }
  for (int child : definition_.children(step)) {
    if (definition_.step(child).branch == branch) OneLess(*instance_, child);
  }
  if (left == 0) Due(*instance_);
}

void Evolution::OpenItems() {
  const Json* list = MemberOf(&draft_.carried, "list");
  if (!list || !list->is_array()) {
    impossible_ = fmt::format("step.opened of '{}' without its list", instance_->step_id);
    return;
  }
  const int items = int(list->size());
  const int most = definition_.step(instance_->step).max_concurrent;
  const int next = std::min(items, most > 0 ? most : kForeachAtOnce);
  step_json_["items"] = items;
  step_json_["next"] = next;
  step_json_["ended"] = 0;
  if (items == 0) return Due(*instance_);
  more_.Add(ItemsKey(instance_->step_id), *list);
  for (int number = 0; number < next; ++number) OpenItem(*instance_, number);
}

void Evolution::OpenItem(const Instance& each, int number) {
  const std::string item = CompiledDefinition::ItemId(each, number);
  std::vector<int> items = each.items;
  items.push_back(number);
  for (int child : definition_.children(each.step)) {
    if (definition_.dependencies(child) == 0) MakeDue(definition_.InstanceOf(child, item, items));
  }
}

void Evolution::MakeDue(const Instance& instance) {
  const int parent = definition_.parent(instance.step);
  const int most = parent >= 0 && definition_.step(parent).type == StepType::kParallel ? definition_.step(parent).max_concurrent : 0;
  if (most == 0) return LetIn(instance);
  const Instance scope = definition_.Beside(instance, parent);
  Json& record = Touch(scope);
  const int active = ReadScope(&record).active;
  if (active >= most) return frontier_.Held(scope).Insert(definition_.position(instance.step));
  record["active"] = active + 1;
  LetIn(instance);
}

void Evolution::LetIn(const Instance& instance) {
  frontier_.Insert(definition_.IsOwn(instance.step) ? Frontier::Kind::kOwn : Frontier::Kind::kReady, instance);
}

// Its `when` is true: from now on it is a step like others.
void Evolution::ConditionMet() {
  if (record_.status != StepStatus::kPending) impossible_ = fmt::format("step.condition_met of a step that is {}", Name(record_.status));
  frontier_.Erase(Frontier::Kind::kOwn, *instance_);
  frontier_.Insert(Frontier::Kind::kReady, *instance_);
  step_json_["status"] = Name(StepStatus::kPending);
  step_json_["met"] = true;
}

// ---- what is skipped

void Evolution::Skipped() {
  GoStep(StepStatus::kSkipped);
  LeaveReady();
  step_json_["completed_at"] = At();
  step_json_.erase("waits");
  if (instance_->item.empty()) ++progress_.skipped;
  for (int child : definition_.children(instance_->step)) Skip(definition_.Beside(*instance_, child));
  Freed(*instance_);
}

// With a scope that holds it: that does not wait for it.
void Evolution::Skip(const Instance& instance) {
  if (definition_.step(instance.step).parent >= 0 && definition_.step(definition_.step(instance.step).parent).foreach)
    return;                                                       // runs once an item: never
  if (RecordOf(instance).status != StepStatus::kPending) return;  // left out before
  Json& record = Touch(instance);
  record = {{"status", Name(StepStatus::kSkipped)}};
  if (instance.item.empty()) ++progress_.skipped;
  for (int child : definition_.children(instance.step)) Skip(definition_.Beside(instance, child));
  for (int dependent : definition_.dependents(instance.step)) OneLess(instance, dependent);
}

// ---- what ends

void Evolution::Freed(const Instance& instance) {
  for (int dependent : definition_.dependents(instance.step)) OneLess(instance, dependent);
  if (definition_.has_own()) ScopeLess(instance);
}

void Evolution::ScopeLess(const Instance& instance, bool begun) {
  const int parent = definition_.parent(instance.step);
  if (parent < 0) return;
  if (definition_.step(parent).foreach) return ItemLess(instance);
  const Instance scope = definition_.Beside(instance, parent);
  if (RecordOf(scope).status != StepStatus::kRunning) return;
  Json& record = Touch(scope);
  const ScopeRecord before = ReadScope(&record);
  record["left"] = before.left - 1;
  if (begun && definition_.step(parent).type == StepType::kParallel && definition_.step(parent).max_concurrent > 0) {
    ReadySet& held = frontier_.Held(scope);
    if (const auto next = held.Next(0)) {
      held.Erase(*next);
      LetIn(definition_.Beside(instance, definition_.RegionOf(instance.step).order[std::size_t(*next)]));
    } else {
      record["active"] = before.active - 1;
    }
  }
  if (before.left == 1) Due(scope);
}

void Evolution::ItemLess(const Instance& instance) {
  const Instance each = definition_.EachOf(instance);
  const int children = int(definition_.children(each.step).size());
  const std::string key = ItemKey(instance.item);
  const bool known = touched_at_.contains(key) || Lookup(state_, key);
  if (children == 1 && !known) return ItemEnded(each, instance, "");
  Json& entry = TouchEntry(key, Json{{"left", children}});
  const int left = int(NumberOf(&entry, "left")) - 1;
  const std::string failed = TextOf(&entry, "failed");
  if (left > 0) {
    entry["left"] = left;
  } else {
    entry = Json();
    ItemEnded(each, instance, failed);
  }
}

void Evolution::ItemEnded(const Instance& each, const Instance& last, const std::string& failed) {
  if (RecordOf(each).status != StepStatus::kRunning) return;
  const StepDefinition& step = definition_.step(each.step);
  Json& record = Touch(each);
  ScopeRecord scope = ReadScope(&record);
  record["ended"] = ++scope.ended;
  if (!failed.empty()) {
    scope.failures.push_back(last.items.back());
    record["failures"] = scope.failures;
    if (scope.failed.empty() && int(scope.failures.size()) > Allowed(*step.foreach, scope.items)) record["failed"] = scope.failed = failed;
  }
  if (!scope.failed.empty()) {  // no further item begins
    const bool waits = step.fail_wait || IsContained(each);
    if (!waits || scope.ended == scope.next) Due(each);
    return;
  }
  if (scope.next < scope.items) {
    record["next"] = scope.next + 1;
    OpenItem(each, scope.next);
  }
  if (scope.ended == scope.items) Due(each);
}

// ---- what fails

// Whether its failure is a scope's matter first, and not the run's at once.
bool Evolution::IsContained(const Instance& instance) const {
  for (int at = instance.step; at >= 0; at = definition_.parent(at)) {
    const int parent = definition_.parent(at);
    if (parent >= 0 &&
        (definition_.step(parent).foreach || (definition_.step(parent).type == StepType::kParallel && definition_.step(parent).fail_wait)))
      return true;
  }
  return false;
}

void Evolution::Failed() {
  const std::string failed = instance_->step_id;
  if (run_.phase != Phase::kForward || !IsContained(*instance_)) {
    if (progress_.failed.empty()) progress_.failed = failed;
    return;
  }
  for (Instance at = *instance_;;) {
    const int parent = definition_.parent(at.step);
    if (definition_.step(parent).foreach) {
      const int children = int(definition_.children(parent).size());
      Json& entry = TouchEntry(ItemKey(instance_->item), Json{{"left", children}});
      if (!entry.contains("failed")) entry["failed"] = failed;
      LeaveOutAll(*instance_, definition_.BodyOf(parent).order, failed);
      break;
    }
    const Instance scope = definition_.Beside(at, parent);
    Json& record = Touch(scope);
    if (!record.contains("failed")) record["failed"] = failed;
    if (definition_.step(parent).type == StepType::kParallel && definition_.step(parent).fail_wait) {
      LeaveOutAll(*instance_, Below(at.step), failed);
      break;
    }
    at = scope;
  }
  ScopeLess(*instance_);
}

// The step and all that it holds, those of FOREACH bodies not.
std::vector<int> Evolution::Below(int step) const {
  std::vector<int> below = {step};
  for (std::size_t n = 0; n < below.size(); ++n) {
    if (definition_.step(below[n]).foreach) continue;
    const auto& children = definition_.children(below[n]);
    below.insert(below.end(), children.begin(), children.end());
  }
  return below;
}

void Evolution::LeaveOutAll(const Instance& beside, const std::vector<int>& steps, const std::string& failed) {
  std::vector<int> left = {steps.rbegin(), steps.rend()};
  while (!left.empty()) {
    const Instance instance = definition_.Beside(beside, left.back());
    left.pop_back();
    if (!IsOwnRecord(instance) && !LeaveOut(instance, failed)) continue;
    const auto& dependents = definition_.dependents(instance.step);  // they can never begin
    left.insert(left.end(), dependents.begin(), dependents.end());
  }
}

// True if it has not begun, and will not.
bool Evolution::LeaveOut(const Instance& instance, const std::string& failed) {
  const StepRecord record = RecordOf(instance);
  if (record.status == StepStatus::kRunning && IsScope(definition_.step(instance.step))) {
    Json& scope = Touch(instance);
    if (!scope.contains("failed")) scope["failed"] = failed;
    const ScopeRecord known = ReadScope(&scope);
    if (definition_.step(instance.step).foreach && known.next == known.ended) Due(instance);
    return false;
  }
  if (record.status == StepStatus::kRetryWait) {
    if (--progress_.retrying == 0 || progress_.next_retry == record.retry_at) progress_.next_retry.reset();
  } else if (record.status == StepStatus::kWaiting) {
    if (--progress_.waiting == 0 || progress_.next_due == record.due_at) progress_.next_due.reset();
    if (MemberOf(record.json, "signal")) --progress_.signals;
    if (MemberOf(record.json, "approval")) ApprovalEnded(instance, Touch(instance), approval::kCancelled);
  } else if (record.status != StepStatus::kPending) {
    return false;
  }
  const bool begun = record.status != StepStatus::kPending || frontier_.Has(Frontier::Kind::kReady, instance) ||
                     frontier_.Has(Frontier::Kind::kOwn, instance);
  Json& json = Touch(instance);
  json["status"] = Name(StepStatus::kCancelled);
  json["completed_at"] = At();
  for (auto key : {"attempt", "call", "waits", "losses", "died", "met", "retry_at", "due_at", "signal"}) json.erase(key);
  frontier_.Erase(Frontier::Kind::kReady, instance);
  frontier_.Erase(Frontier::Kind::kOwn, instance);
  const int parent = definition_.parent(instance.step);
  if (parent >= 0 && definition_.step(parent).type == StepType::kParallel && definition_.step(parent).max_concurrent > 0)
    frontier_.Held(definition_.Beside(instance, parent)).Erase(definition_.position(instance.step));
  if (instance.item.empty()) ++progress_.skipped;
  ScopeLess(instance, begun);
  return true;
}

// ---- signals

void Evolution::WaitsForSignal(const std::string& name) {
  step_json_["signal"] = name;
  ++progress_.signals;
  Json& waiting = TouchEntry(std::string(kSignalsKey), Json::object())["waiting"][name];
  if (!waiting.is_array()) waiting = Json::array();
  waiting.push_back(instance_->step_id);
}

// The step has its signal, or its time has passed.
void Evolution::TakeSignal() {
  const std::string name = Fact("signal");
  Json& signals = TouchEntry(std::string(kSignalsKey), Json::object());
  const auto drop = [&](const char* list, const Json& one) {
    if (!signals.contains(list) || !signals[list].contains(name)) return;
    Json& of = signals[list][name];
    of.erase(std::remove(of.begin(), of.end(), one), of.end());
    if (of.empty()) signals[list].erase(name);
    if (signals[list].empty()) signals.erase(list);
  };
  drop("waiting", instance_->step_id);
  const Json* number = MemberOf(facts_, "number");
  if (!number) return;
  drop("kept", *number);
  more_.Remove(SignalKey(NumberOf(facts_, "number")));
}

}  // namespace acl::workflow
