#include "tests/sim/workflow_load.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>

#include "shared/capability/capability.h"
#include "shared/schedule/cron.h"
#include "shared/workflow/create_run.h"
#include "shared/workflow/events.h"
#include "shared/workflow/run_view.h"
#include "shared/workflow/workflow_kind.h"
#include "tests/support/script_capabilities.h"

namespace acl::test {

namespace {

const std::vector<std::string>& CapabilityIds() {
  static const std::vector<std::string> ids{"sim.pure", "sim.read", "sim.idempotent", "sim.keyed", "sim.unkeyed", "sim.repeated"};
  return ids;
}

// What a scope says of itself; how many lists of steps it holds.
int MakeScope(StepDefinition& scope, Random& random) {
  const StepType types[] = {StepType::kParallel, StepType::kSequence, StepType::kCondition, StepType::kForeach};
  scope.type = types[random.Below(4)];
  scope.fail_wait = random.Below(2) == 0;
  if (scope.type == StepType::kParallel || scope.type == StepType::kForeach) scope.max_concurrent = int(random.Below(3));
  if (scope.type == StepType::kForeach) {
    scope.foreach.emplace();
    scope.foreach->list = Json::array();
    for (std::uint64_t n = random.Below(5); n > 0; --n) scope.foreach->list.push_back(random.Below(100));
    scope.foreach->max_failures = int(random.Below(3));
  }
  if (scope.type != StepType::kCondition) return 1;
  scope.cases = {random.Below(2) == 0 ? "true" : "false", ""};
  return 2;
}

// A step that asks some of the people of DecisionOf.
void MakeGate(StepDefinition& step, Random& random) {
  step.type = StepType::kHumanApproval;
  step.signal.reset();
  step.inputs = Json{{"message", "go on with {{start}}?"}};
  ApprovalDefinition& gate = step.approval.emplace();
  gate.timeout = Json(random.Below(2) == 0 ? "4s" : "20s");
  gate.min_approvals = 1 + int(random.Below(2));
  gate.allow_requester = random.Below(2) == 0;
  if (random.Below(2) == 0) gate.approvers = {"ann", "bob", "sim"};
  if (random.Below(3) == 0) gate.remind = {milliseconds(1'000), milliseconds(2'500)};
  if (random.Below(3) == 0) gate.escalate_after = milliseconds(1'500), gate.escalate_to = "boss";
}

// What somebody says of something that the run has asked, now or long ago; nothing if it has asked nothing.
std::optional<std::pair<std::string, Json>> DecisionOf(Random& random, const MemorySubject& subject) {
  const std::vector<Event> all = subject.AllEvents();
  std::vector<const Event*> asked;
  for (const Event& event : all)
    if (event.type == workflow::event::kApprovalRequested) asked.push_back(&event);
  if (asked.empty() || random.Below(3) == 0) return std::nullopt;
  auto about = ParseJson(*asked[random.Below(4) == 0 ? random.Below(asked.size()) : asked.size() - 1]->payload);
  if (!about) return std::nullopt;
  static const char* const people[] = {"ann", "bob", "cyd", "sim"};
  Json word = {{"approval_id", about->value("approval_id", "")}, {"decision", random.Below(4) == 0 ? "reject" : "approve"}};
  word["digest"] = random.Below(6) == 0 ? std::string(64, 'f') : about->value("digest", "");
  word["by"] = people[random.Below(4)];
  word["assurance"] = "key";
  word["channel"] = "sim";
  if (random.Below(4) == 0) word["roles"] = {"boss"};
  return std::pair<std::string, Json>("decide", std::move(word));
}

// What CHILD steps start.
WorkflowDefinition Leaf(Random& random) {
  WorkflowDefinition leaf;
  leaf.name = "leaf";
  leaf.owner = "sim";
  for (std::uint64_t n = 0, count = 1 + random.Below(3); n < count; ++n) {
    StepDefinition step;
    step.name = fmt::format("l{}", n);
    step.agent_name = "sim";
    step.capability = random.Below(2) == 0 ? "sim.idempotent" : "sim.pure";
    step.inputs = Json{{"text", "leaf"}};
    step.retry.max_attempts = 1 + int(random.Below(3));
    if (random.Below(2) == 0) step.compensation = CompensationDefinition{"sim.idempotent", Json{{"text", "undo leaf"}}, "", {}};
    leaf.steps.push_back(std::move(step));
  }
  return leaf;
}

// Runs of the same steps, in which some stand in others: two deep at most.
void PutIntoScopes(WorkflowDefinition& definition, Random& random) {
  std::vector<StepDefinition> flat = std::exchange(definition.steps, {});
  int outer = -1, outer_left = 0;
  for (std::size_t i = 0; i < flat.size();) {
    if (outer_left == 0) outer = -1;
    int parent = outer;
    if (random.Below(3) == 0 && i + 2 < flat.size()) {
      StepDefinition scope;
      scope.name = fmt::format("scope{}", i);
      scope.agent_name = "sim";
      scope.parent = outer;
      const int lists = MakeScope(scope, random);
      parent = int(definition.steps.size());
      definition.steps.push_back(std::move(scope));
      for (int list = 1; list < lists; ++list) {
        flat[i].parent = parent;
        flat[i].branch = list;
        definition.steps.push_back(flat[i++]);
      }
      if (outer < 0 && random.Below(2) == 0) outer = parent, outer_left = 3;
    }
    flat[i].parent = parent;
    if (random.Below(8) == 0) flat[i].when = random.Below(2) == 0 ? "true" : "false";
    definition.steps.push_back(flat[i++]);
    if (outer_left > 0) --outer_left;
  }
}

}  // namespace

WorkflowLoad::WorkflowLoad() {
  capabilities_ = ScriptCapabilities();
  watched_ = std::make_shared<WatchedKind>(workflow::MakeWorkflowKind(capabilities_));
  kind_ = watched_;
  kinds_.Add(kind_);
}

CreateItem WorkflowLoad::MakeSubject(Random& random, const SubjectId& id) {
  WorkflowDefinition definition;
  definition.name = "simulated";
  definition.owner = "sim";
  definition.max_execution_time = std::chrono::seconds(random.Below(10) == 0 ? 20 : 3600);
  definition.enable_auto_rollback = random.Below(5) != 0;
  definition.initial_state = Json{{"start", random.Below(100)}};
  const int steps = 1 + int(random.Below(random.Below(6) == 0 ? 60 : 9));
  const bool graph = random.Below(3) == 0;
  const bool chain = !graph && random.Below(2) == 0;  // of effects and nothing else: what goes in fast paths
  for (int i = 0; i < steps; ++i) {
    StepDefinition step;
    step.name = fmt::format("s{}", i);
    step.agent_name = "sim";
    step.capability = CapabilityIds()[random.Below(CapabilityIds().size())];
    step.inputs = Json{{"text", i > 0 ? fmt::format("{{{{s{}.said}}}} and {{{{start}}}}", i - 1) : "begin"}};
    if (graph && i > 0) {
      for (int parent = 0; parent < i; ++parent) {
        if (random.Below(4) == 0) step.depends_on.push_back(fmt::format("s{}", parent));
      }
    }
    step.retry.max_attempts = 1 + int(random.Below(4));
    step.retry.initial_delay = milliseconds(random.Below(2) * 400);
    step.retry.jitter = 0.5;
    step.on_unknown_outcome = random.Below(3) == 0 ? UnknownOutcome::kFail : UnknownOutcome::kAsk;
    if (random.Below(4) == 0) step.queue = random.Below(2) == 0 ? "gpu" : "cpu";
    if (random.Below(12) == 0) step.priority = 0;
    if (random.Below(10) == 0) step.step_timeout = std::chrono::seconds(2 + random.Below(10));
    if (step.capability == "sim.repeated") step.on_unknown_outcome = UnknownOutcome::kRetry;
    if (random.Below(2) == 0) step.compensation = CompensationDefinition{"sim.idempotent", Json{{"text", "undo {{said}}"}}, "", {}};
    if (chain) {
      if (step.capability == "sim.pure" || step.capability == "sim.read") step.capability = "sim.idempotent";
      step.queue.reset();
      step.priority.reset();
      step.compensation.reset();
    } else if (random.Below(12) == 0) {
      StepDefinition child;
      child.name = step.name;
      child.depends_on = step.depends_on;
      child.agent_name = "sim";
      child.type = StepType::kChild;
      child.child = ChildDefinition{"leaf", Json::object()};
      if (!definition.workflows.contains("leaf")) definition.workflows["leaf"] = DefinitionToJson(Leaf(random));
      step = std::move(child);
    } else if (random.Below(8) == 0) {
      StepDefinition wait;
      wait.name = step.name;
      wait.depends_on = step.depends_on;
      wait.agent_name = "sim";
      wait.type = StepType::kWait;
      wait.wait = WaitDefinition{false, Json(double(random.Below(4'000)) / 1'000)};
      if (random.Below(2) == 0) {
        wait.type = StepType::kSignal;
        wait.wait.reset();
        wait.signal = SignalDefinition{"n", Json("3s"), random.Below(2) == 0 ? std::optional(Json("nobody")) : std::nullopt};
        if (random.Below(2) == 0) MakeGate(wait, random);
      }
      step = std::move(wait);
    }
    definition.steps.push_back(std::move(step));
  }
  if (!graph && !chain && random.Below(2) == 0) PutIntoScopes(definition, random);
  workflow::CreateRequest request;
  request.subject = id;
  request.submitter = "sim";
  auto item = workflow::MakeCreateItem(*kind_, definition, std::move(request));
  ACL_CHECK(item.ok(), "a simulated workflow can be created");
  return std::move(*item);
}

// Every second or few, of the year's one minute that this is: the next fire time after the faults is a year away.
SimLoad::Scheduled WorkflowLoad::MakeSchedules(Random& random, WallTime from, std::chrono::seconds within) {
  Scheduled made{capabilities_, kind_, {}};
  const TimeZone utc = *TimeZone::Load("UTC");
  const std::int64_t start = MicrosOf(from) / 1'000'000;
  for (std::uint64_t n = random.Below(4) == 0 ? 1 + random.Below(2) : 0; n > 0; --n) {
    schedule::NewSchedule fresh;
    for (auto& byte : fresh.row.id.uuid.bytes) byte = std::uint8_t(random.Below(256));
    fresh.row.name = fmt::format("sim-{}", n);
    fresh.row.created_by = "sim";
    auto& definition = fresh.row.definition;
    definition.workflow = "name: scheduled\nsteps:\n";
    const std::uint64_t last_step = random.Below(4);
    for (std::uint64_t step = 0; step <= last_step; ++step) {
      definition.workflow += fmt::format("  - {{name: s{}, capability: sim.idempotent, inputs: {{text: tick}}}}\n", step);
    }
    const std::int64_t first = start % 60 + 1, last = std::min<std::int64_t>(start % 60 + within.count(), 59);
    definition.cron = fmt::format("{}-{}/{} 0 8 15 1 *", first, last, 1 + random.Below(8));
    definition.policy.overlap = static_cast<schedule::Overlap>(random.Below(4));
    definition.policy.catchup_seconds = random.Below(2) == 0 ? 1 + std::int64_t(random.Below(2)) : 60;
    fresh.row.next_fire_at = WallTimeFromMicros(*schedule::NextFire(*schedule::ParseCron(definition.cron), utc, start) * 1'000'000);
    made.schedules.push_back(std::move(fresh));
  }
  return made;
}

std::pair<std::string, Json> WorkflowLoad::MakeSignal(Random& random, const MemorySubject& subject, bool uncertain) {
  if (uncertain) {
    Document state;
    for (const Event& event : subject.AllEvents()) {
      auto payload = ParseJson(*event.payload);
      if (payload && payload->contains(kDeltaKey)) (void)state.Apply(payload->at(std::string(kDeltaKey))).ok();
    }
    auto view = workflow::ViewOf(state);
    std::string step_id = view && !view->uncertain.empty() ? view->uncertain.front() : "s0";
    const auto draw = random.Below(3);
    Json payload = {{"step_id", step_id}, {"decision", draw == 0 ? "completed" : draw == 1 ? "failed" : "retry"}, {"by", "sim"}};
    if (draw == 0) payload["outputs"] = Json{{"said", "a person says so"}};
    return {"resolve", std::move(payload)};
  }
  if (auto decision = DecisionOf(random, subject)) return std::move(*decision);
  switch (random.Below(12)) {
    case 0: return {"cancel", Json{{"reason", "sim"}, {"compensate", random.Below(2) == 0}, {"by", "sim"}}};
    case 1:
    case 2: return {"pause", Json{{"reason", "sim"}, {"by", "sim"}}};
    case 3:
    case 4:
    case 5: return {"resume", Json{{"by", "sim"}}};
    case 6: return {"nonsense", Json{{"x", 1}}};
    default: return {"signal", Json{{"name", "n"}, {"payload", random.Below(100)}}};
  }
}

StepResult WorkflowLoad::RunStep(Random& random, const StepCall& call) {
  StepResult result;
  result.duration = milliseconds(5);
  const auto draw = random.Below(24);
  if (draw < 3) {
    result.outcome = StepResult::Outcome::kFailed;
    result.error = "a fault of the outside";
    result.retryable = random.Below(6) != 0;
  } else if (draw == 3) {
    result.outcome = StepResult::Outcome::kUnknown;
  } else if (draw == 4) {
    result.outcome = StepResult::Outcome::kTimedOut;
  } else {
    result.outputs = Json{{"said", fmt::format("{} {}", call.step.step_id, random.Below(1000))}, {"success", true}};
  }
  return result;
}

std::optional<std::pair<std::string, Json>> WorkflowLoad::MakeStop(const MemorySubject& subject) {
  if (subject.waiting && subject.waiting->reason == "approval") {
    SeededRandom people(std::uint64_t(subject.head.seq));
    return DecisionOf(people, subject);
  }
  if (subject.waiting && subject.waiting->reason == "paused") return std::pair<std::string, Json>{"resume", Json{{"by", "sim"}}};
  return std::nullopt;
}

// What a person approved is what was asked, by as many persons as were needed, and of each approval one thing is the end.
void WorkflowLoad::CheckApprovals(const MemorySubject& subject, std::vector<std::string>& violations) {
  struct Asked {
    std::string digest;
    int needed = 1, ends = 0;
    std::set<std::string> yes;
  };
  std::map<std::string, Asked> asked;
  const auto violated = [&](const std::string& step, const char* what) {
    violations.push_back(fmt::format("{}: approval {}: {}", subject.id.ToString(), step, what));
  };
  for (const Event& event : subject.events) {
    const auto payload = ParseJson(*event.payload);
    if (!payload || !payload->contains("step_id")) continue;
    const std::string step = payload->at("step_id").get<std::string>(), ended = payload->value("approval", "");
    if (event.type == workflow::event::kApprovalRequested)
      asked[step] = {payload->at("digest").get<std::string>(), payload->at("needed").get<int>(), 0, {}};
    const auto it = asked.find(step);
    if (it == asked.end()) continue;
    const bool says = payload->contains("decision");
    if (says && payload->value("digest", "") != it->second.digest) violated(step, "a decision about another digest counted");
    if (payload->contains("vote")) it->second.yes.insert(payload->at("vote").value("by", ""));
    if (ended.empty()) continue;
    ++approvals_[ended];
    if (++it->second.ends > 1) violated(step, "it ended twice");
    if (ended == "APPROVED" && int(it->second.yes.size()) != it->second.needed) violated(step, "not as many persons as were needed");
  }
}

void WorkflowLoad::Check(const MemorySubject& subject, const Document& state, std::vector<std::string>& violations) {
  auto violated = [&](const std::string& what) { violations.push_back(subject.id.ToString() + ": " + what); };
  auto view = workflow::ViewOf(state);
  if (!view) return violated("its state cannot be viewed: " + view.message());
  if (!subject.closed && std::getenv("ACL_SIM_SEED")) {  // of one seed: what became of it
    for (const Event& event : subject.events) std::cout << event.seq << " " << event.type << " " << event.payload->substr(0, 2'000) << "\n";
    for (const auto& [timer, at] : subject.timers) std::cout << "timer " << timer << " at " << FormatWallTime(at) << "\n";
    for (const InboxRow& row : subject.inbox) std::cout << "unread " << row.kind << " " << row.payload << "\n";
  }
  if (!subject.closed) return;
  ++ended_[view->status];
  if (!view->closed) violated("closed while its state is not");
  if (view->status != "COMPLETED" && view->status != "FAILED" && view->status != "ROLLED_BACK") violated("closed as " + view->status);
  if (subject.listing && subject.listing->status != view->status) {
    violated(fmt::format("the listing says {}, the state {}", subject.listing->status, view->status));
  }
  CheckApprovals(subject, violations);
  int kept = 0;  // signals that came and that no step took; all have one name
  for (const Event& event : subject.events) {
    kept += event.type == workflow::event::kSignalReceived;
    scopes_ += event.type == workflow::event::kStepOpened;
    children_ += event.type == workflow::event::kChildStarted;
    if (event.type != workflow::event::kStepCompleted) continue;
    const Json payload = *ParseJson(*event.payload);
    signals_ += payload.contains("signal");
    kept -= payload.contains("number");
    if (payload.contains("signal") && !payload.contains("number") && kept > 0) violated("a step waited in vain for a signal that had come");
    if (!payload.contains("due_at")) continue;
    ++waits_;
    if (*ParseWallTime(payload["due_at"].get<std::string>()) > event.timestamp) violated("a wait ended early");
  }
  const auto skipped = std::count_if(view->steps.begin(), view->steps.end(), [](const auto& step) { return step.status == "SKIPPED"; });
  if (view->status == "COMPLETED" && view->steps_completed + skipped != view->steps_total) violated("COMPLETED with steps left");
  if (view->status == "ROLLED_BACK") {
    for (const auto& compensation : view->compensations) {
      if (compensation.status == "FAILED") violated("ROLLED_BACK though " + compensation.step_id + " failed");
    }
  }
  // 7: compensations in reverse order of completion, each at most once.
  std::map<std::string, int> completed_at;
  std::set<std::string> to_undo;
  int order = 0, last_undone = 1 << 30;
  std::set<std::string> undone;
  for (const Event& event : subject.events) {
    if (event.type == workflow::event::kStepCompleted || event.type == workflow::event::kStepResolved) {
      auto payload = ParseJson(*event.payload);
      completed_at[payload->at("step_id").get<std::string>()] = ++order;
      if (payload->contains("undo")) to_undo.insert("undo:" + payload->at("step_id").get<std::string>());
    }
    if (event.type != workflow::event::kCompensationCompleted && event.type != workflow::event::kCompensationFailed) continue;
    auto payload = ParseJson(*event.payload);
    const std::string undo = payload->value("step_id", "");
    if (!undone.insert(undo).second) violated("invariant 7: " + undo + " ended twice");
    auto forward = completed_at.find(undo.substr(undo.find(':') + 1));
    if (forward == completed_at.end()) continue;
    if (forward->second > last_undone) violated("invariant 7: " + undo + " ran out of order");
    last_undone = forward->second;
  }
  for (const std::string& undo : to_undo) {
    if (view->status == "ROLLED_BACK" && !undone.contains(undo)) violated("invariant 7: ROLLED_BACK without " + undo);
  }
}

}  // namespace acl::test
