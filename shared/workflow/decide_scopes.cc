// Steps that the engine tends to itself: their turn comes in the commit of what they waited for, whoever holds the run. Scopes (steps that
// hold others) begin and end here; what happens between stands in evolve_scopes.cc.

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/canonical_json.h"
#include "shared/base/json_object.h"
#include "shared/base/mutant.h"
#include "shared/workflow/conditions.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/events.h"
#include "shared/workflow/frontier.h"

namespace acl::workflow {

namespace {

// Of a CONDITION, in the words of the file.
// The case that is taken; -1: none.
Result<int> CaseOf(const StepDefinition& step, const TemplateScope& scope) {
  for (std::size_t n = 0; n < step.cases.size(); ++n) {
    if (step.cases[n].empty()) return int(n);  // else
    auto holds = IsTrue(step.cases[n], scope);
    if (!holds) return Error{Code::kInvalid, fmt::format("'if' of {}: {}", CaseNameOf(step, int(n)), holds.message())};
    if (*holds) return int(n);
  }
  return -1;
}

}  // namespace

std::string Decider::NameOf(const Instance& instance) const {
  return instance.item.empty() && instance.step >= 0 ? definition_.step(instance.step).name : instance.step_id;
}

bool Decider::TendOwn(const Progress& progress) {
  const bool more = !progress.due.empty() || Frontier(State(), definition_).First(Frontier::Kind::kOwn);
  if (more && decision_.events.size() >= kMostEventsAtOnce) {
    SetTimer(kGoOnTimer, now_);
    return false;
  }
  if (!progress.due.empty()) {
    const auto scope = definition_.Find(progress.due.front());
    if (!scope) return false;
    EndScope(*scope);
    return true;
  }
  const auto next = Frontier(State(), definition_).First(Frontier::Kind::kOwn);
  if (!next) return false;
  Begin(*next);
  return true;
}

void Decider::Begin(const Instance& instance) {
  const StepDefinition& step = definition_.step(instance.step);
  if (!step.when.empty()) {
    const auto holds = IsTrue(step.when, ScopeOf(State(), definition_, instance));
    if (!holds) return FailedByItself(instance, StepFacts(instance, 0), "'when': " + holds.message());
    Json facts = StepFacts(instance, 0);
    facts["when"] = step.when;
    if (!*holds) return Emit(event::kStepSkipped, std::move(facts));
    if (definition_.Calls(instance.step)) return Emit(event::kStepConditionMet, std::move(facts));
  }
  if (step.wait) return BeginWait(instance);
  if (step.signal) return BeginSignal(instance);
  if (step.publish) return Publish(instance);
  if (step.child) return BeginChild(instance);
  if (step.next_inputs) return BeginContinue(instance);
  if (step.approval) return BeginApproval(instance);
  if (step.foreach) return OpenItems(instance);
  Open(instance);
}

void Decider::Open(const Instance& instance) {
  const StepDefinition& step = definition_.step(instance.step);
  Json facts = StepFacts(instance, 0);
  if (!step.cases.empty()) {
    const auto branch = CaseOf(step, ScopeOf(State(), definition_, instance));
    if (!branch) return FailedByItself(instance, std::move(facts), branch.message());
    facts["case"] = CaseNameOf(step, *branch);
    if (*branch >= 0) facts["branch"] = *branch;
  }
  Emit(event::kStepOpened, std::move(facts));
}

void Decider::OpenItems(const Instance& instance) {
  Json facts = StepFacts(instance, 0);
  auto list = ItemsOf(definition_.step(instance.step).foreach->list, ScopeOf(State(), definition_, instance));
  if (list && list->size() > kForeachItems)
    list = Error{Code::kInvalid,
                 fmt::format("the list has {} items; at most {} are taken: let several runs share them", list->size(), kForeachItems)};
  if (list && OutgrowsRun(State(), *list))
    list = Error{Code::kInvalid, fmt::format("the list of {} bytes would make the run's state larger than one may be", DumpedBytes(*list))};
  if (!list) return FailedByItself(instance, std::move(facts), "'foreach': " + list.message());
  facts["items"] = list->size();
  Json carried = ObjectFor(1);
  AddMember(carried, "list", std::move(*list));
  Emit(event::kStepOpened, std::move(facts), std::move(carried));
}

void Decider::EndScope(const Instance& instance) {
  const StepRecord record = Step(instance);
  const ScopeRecord scope = ReadScope(record.json);
  const WallTime since = record.started_at.value_or(now_);
  Json facts = StepFacts(instance, 1);
  facts["duration_ms"] = std::chrono::duration_cast<milliseconds>(now_ - since).count();
  if (!scope.failed.empty()) return FailedByItself(instance, std::move(facts), WhyScopeFailed(instance, scope));
  Json outputs = OutputsOfScope(instance, scope);
  if (OutgrowsRun(State(), outputs)) {
    return FailedByItself(instance, std::move(facts),
                          fmt::format("the results of its items are {} bytes together, more than the run's state can hold: let the steps "
                                      "write large results into files of the run",
                                      DumpedBytes(outputs)));
  }
  CompletedByItself(instance, std::move(facts), std::move(outputs), since);
}

Json Decider::OutputsOfScope(const Instance& instance, const ScopeRecord& scope) {
  const StepDefinition& step = definition_.step(instance.step);
  if (step.foreach) return OutputsOfItems(instance, scope);
  if (!step.cases.empty()) return {{"branch", CaseNameOf(step, scope.branch)}};
  std::vector<std::pair<int, std::string>> completed;
  for (const int child : definition_.children(instance.step)) {
    const StepRecord record = Step(definition_.Beside(instance, child));
    if (record.status == StepStatus::kCompleted) completed.emplace_back(record.order, definition_.step(child).name);
  }
  if (!Mutant("branch_order_lost")) std::sort(completed.begin(), completed.end());
  Json order = Json::array();
  for (auto& [number, name] : completed) order.push_back(std::move(name));
  return {{"order", std::move(order)}};
}

// In the order of the list, whoever ended first: what the last step of the body gave out for each, null of one that failed.
Json Decider::OutputsOfItems(const Instance& instance, const ScopeRecord& scope) {
  const auto& children = definition_.children(instance.step);
  const int last =
      *std::max_element(children.begin(), children.end(), [&](int a, int b) { return definition_.position(a) < definition_.position(b); });
  Json results = Json::array(), failed = Json::array();
  std::size_t next = 0;
  std::vector<int> failures = scope.failures;
  std::sort(failures.begin(), failures.end());
  std::vector<int> items = instance.items;
  items.push_back(0);
  for (int number = 0; number < scope.items; ++number) {
    items.back() = number;
    if (next < failures.size() && failures[next] == number) {
      ++next;
      failed.push_back(number);
      results.push_back(nullptr);
      continue;
    }
    const Json* outputs =
        Lookup(State(), definition_.OutputsKey(definition_.InstanceOf(last, CompiledDefinition::ItemId(instance, number), items)));
    results.push_back(outputs ? *outputs : Json());
  }
  return {{"results", std::move(results)}, {"count", scope.items}, {"failed", std::move(failed)}};
}

std::string Decider::WhyScopeFailed(const Instance& instance, const ScopeRecord& scope) {
  const auto failed = definition_.Find(scope.failed);
  const std::string first =
      fmt::format("step '{}' failed: {}", failed ? NameOf(*failed) : scope.failed, ReadStep(State(), scope.failed).error);
  const StepDefinition& step = definition_.step(instance.step);
  if (!step.foreach || scope.failures.empty()) return first;
  return fmt::format("{} of {} items failed (max_failures is {}{}); the last of them: {}", scope.failures.size(), scope.items,
                     step.foreach->max_failures, step.foreach->in_percent ? "%" : "", first);
}

void Decider::CompletedByItself(const Instance& instance, Json facts, Json outputs, WallTime since, Json undo) {
  decision_.attempts.push_back({instance.step_id, 1, Token{}, since});
  decision_.completions.push_back({instance.step_id, 1, now_, CanonicalHash(outputs), std::int64_t(decision_.events.size()) + 1});
  Json carried = ObjectFor(2);
  AddMember(carried, "outputs", std::move(outputs));
  if (!undo.is_null()) AddMember(carried, "undo", std::move(undo));
  Emit(event::kStepCompleted, std::move(facts), std::move(carried));
}

void Decider::FailedByItself(const Instance&, Json facts, const std::string& error) {
  facts["error"] = error;
  facts["attempts"] = 0;
  Emit(event::kStepFailed, std::move(facts));
}

}  // namespace acl::workflow
