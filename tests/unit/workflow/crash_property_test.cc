// Random workflows, random results, a crash at every event boundary: replaying the journal gives the same state and root, nothing runs
// twice that may not, and every run ends. RunDriver compares state and replay after every single event.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "shared/base/random.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using Outcome = StepResult::Outcome;

constexpr const char* kAnyCapability[] = {"do.pure",  "do.read",    "do.idempotent", "do.effect",
                                          "do.keyed", "file.write", "data.false",    "no.such"};

void AddSteps(WorkflowDefinition& definition, Random& random, int count, int parent, int branch, int depth);

// Of a step, the scopes around it up to a FOREACH, which is the last: its items know no other's steps.
std::vector<int> ScopesAround(const WorkflowDefinition& definition, int parent) {
  std::vector<int> around;
  for (; parent >= 0; parent = definition.steps[std::size_t(parent)].parent) {
    around.push_back(parent);
    if (definition.steps[std::size_t(parent)].foreach) break;
  }
  return around;
}

// Some of the steps before it, wherever they stand, that it may wait for.
std::vector<std::string> Across(const WorkflowDefinition& definition, Random& random, int parent) {
  const auto own = ScopesAround(definition, parent);
  const auto item = [&](const std::vector<int>& around) {
    return !around.empty() && definition.steps[std::size_t(around.back())].foreach ? around.back() : -1;
  };
  std::vector<std::string> on;
  for (std::size_t j = 0; j < definition.steps.size(); ++j) {
    const bool holds_it = std::find(own.begin(), own.end(), int(j)) != own.end();
    if (!holds_it && item(ScopesAround(definition, definition.steps[j].parent)) == item(own) && random.Below(6) == 0)
      on.push_back(definition.steps[j].name);
  }
  return on;
}

// One that holds others: what it says of itself, and the steps.
void MakeScope(WorkflowDefinition& definition, Random& random, std::size_t place, int depth) {
  StepDefinition scope = MakeStep(definition.steps[place].name, "", definition.steps[place].depends_on);
  scope.parent = definition.steps[place].parent;
  scope.branch = definition.steps[place].branch;
  scope.when = definition.steps[place].when;
  const StepType types[] = {StepType::kParallel, StepType::kSequence, StepType::kCondition, StepType::kForeach};
  scope.type = types[random.Below(4)];
  scope.fail_wait = random.Below(2) == 0;
  if (scope.type == StepType::kParallel || scope.type == StepType::kForeach) scope.max_concurrent = int(random.Below(3));
  int lists = 1;
  if (scope.type == StepType::kCondition) {
    for (std::uint64_t n = 1 + random.Below(3); n > 0; --n) scope.cases.push_back(random.Below(3) == 0 ? "true" : "false");
    if (random.Below(2) == 0) scope.cases.emplace_back();
    lists = int(scope.cases.size());
  }
  if (scope.type == StepType::kForeach) {
    scope.foreach.emplace();
    scope.foreach->list = Json::array();
    for (std::uint64_t n = random.Below(6); n > 0; --n) scope.foreach->list.push_back(random.Below(100));
    scope.foreach->max_failures = int(random.Below(3));
    scope.foreach->plain = random.Below(2) == 0;
  }
  definition.steps[place] = scope;
  if (scope.foreach && scope.foreach->plain) {
    StepDefinition body = MakeStep(scope.name + "[]", kAnyCapability[random.Below(7)]);
    body.parent = int(place);
    body.inputs = {{"item", "{{item}} {{item_index}}"}};
    body.retry.max_attempts = 1 + int(random.Below(2));
    if (random.Below(2) == 0) body.compensation = CompensationDefinition{kAnyCapability[random.Below(6)], {{"v", "{{item}}"}}, "", {}};
    definition.steps.push_back(std::move(body));
    return;
  }
  for (int list = 0; list < lists; ++list) AddSteps(definition, random, 1 + int(random.Below(3)), int(place), list, depth + 1);
}

void AddSteps(WorkflowDefinition& definition, Random& random, int count, int parent, int branch, int depth) {
  for (int i = 0; i < count; ++i) {
    const std::size_t place = definition.steps.size();
    StepDefinition step = MakeStep("s" + std::to_string(place), kAnyCapability[random.Below(random.Below(8) == 0 ? 8 : 7)]);
    step.parent = parent;
    step.branch = branch;
    if (depth != 3 && random.Below(8) == 0) step.when = random.Below(2) == 0 ? "true" : "false";
    if (parent >= 0 && random.Below(3) == 0) step.depends_on = Across(definition, random, parent);
    const bool scope = depth < 3 && random.Below(3) == 0;
    if (parent < 0 && i > 0 && random.Below(2) == 0) {
      for (std::size_t j = 0; j < place; ++j) {
        if (random.Below(3) == 0 && definition.steps[j].parent < 0) step.depends_on.push_back("s" + std::to_string(j));
      }
    }
    if (scope) {
      definition.steps.push_back(std::move(step));
      MakeScope(definition, random, place, depth);
      continue;
    }
    step.inputs = {{"text", "{{value}} of {{s0.value}}"}, {"step", i}};
    step.retry.max_attempts = 1 + int(random.Below(3));
    if (random.Below(3) == 0) step.retry.initial_delay = milliseconds(1 + std::int64_t(random.Below(500)));
    if (random.Below(4) == 0) step.step_timeout = std::chrono::seconds(1 + random.Below(5));
    if (random.Below(2) == 0) step.compensation = CompensationDefinition{kAnyCapability[random.Below(6)], {{"v", "{{value}}"}}, "", {}};
    step.on_unknown_outcome = UnknownOutcome(random.Below(3));
    if (random.Below(6) == 0) {  // one that waits: fixed, from the state (which may hold no length of time), until a point in time
      const Json times[] = {Json(double(random.Below(800)) / 1000), Json("{{value}}ms"), Json("2027-01-15T08:00:01Z")};
      const auto form = random.Below(3);
      const StepDefinition was = step;
      step = MakeStep(step.name, "", step.depends_on);
      step.parent = parent;
      step.branch = branch;
      step.when = was.when;
      step.type = StepType::kWait;
      step.wait = WaitDefinition{form == 2, times[form]};
      if (parent >= 0 && random.Below(2) == 0) {  // for a signal, perhaps not for ever
        step.type = StepType::kSignal;
        step.wait.reset();
        step.signal.emplace();
        step.signal->name = "x";
        if (random.Below(2) == 0) step.signal->timeout = Json("100ms");
        if (random.Below(2) == 0) step.signal->default_payload = Json(1);
      }
    }
    definition.steps.push_back(std::move(step));
  }
}

// Every second one has steps in steps.
WorkflowDefinition RandomDefinition(Random& random) {
  WorkflowDefinition definition = MakeDefinition({});
  const bool scopes = random.Below(2) == 0;
  AddSteps(definition, random, 1 + int(random.Below(scopes ? 4 : 9)), -1, 0, scopes ? 0 : 3);
  for (std::uint64_t g = random.Below(3); g > 0; --g) {
    definition.global_compensation_steps.push_back({kAnyCapability[random.Below(6)], {{"v", "{{value}}"}}, "", {}});
    definition.global_compensation_names.push_back("g");
  }
  definition.enable_auto_rollback = random.Below(5) != 0;
  definition.max_execution_time = std::chrono::seconds(random.Below(4) == 0 ? 3 : 3600);
  return definition;
}

StepResult RandomResult(Random& random, int fail_percent) {
  if (int(random.Below(100)) < fail_percent) {
    switch (random.Below(7)) {
      case 0: return Ends(Outcome::kTimedOut);
      case 1: return Ends(Outcome::kCancelled);
      case 2: return Ends(Outcome::kNotStarted);
      case 3: return Ends(Outcome::kUnknown);
      case 4: return Ok({{"success", false}, {"value", 1}});
      default: return Fails("no", random.Below(4) != 0);
    }
  }
  StepResult result = Ok({{"value", random.Below(100)}, {"s1", "over a step's name"}});
  if (random.Below(3) == 0) {
    FileChange change;
    change.path = "f" + std::to_string(random.Below(4));
    if (random.Below(4) != 0) change.hash = Hash256{std::uint8_t(random.Below(256))};
    result.files.push_back(change);
  }
  return result;
}

void RandomInbox(RunDriver& run, Random& random) {
  switch (random.Below(6)) {
    case 0: return run.Post("cancel", {{"compensate", random.Below(2) == 0}});
    case 1:
    case 2: return run.Post("pause");
    case 3: return run.Post("resume");
    case 4: return run.Post("signal", {{"name", "x"}});
    default: return run.Post("resolve", {{"step_id", "s" + std::to_string(random.Below(9))}, {"decision", "retry"}});
  }
}

// What would unblock a run that waits.
void Unblock(RunDriver& run, Random& random) {
  RunView view = run.View();
  if (view.status == "PAUSED") return run.Post("resume");
  if (!view.uncertain.empty()) {
    const char* decisions[] = {"completed", "failed", "retry"};
    return run.Post("resolve",
                    {{"step_id", view.uncertain[random.Below(view.uncertain.size())]}, {"decision", decisions[random.Below(3)]}});
  }
  if (view.waiting == "signal" || random.Below(4) == 0) run.Post("signal", {{"name", "x"}, {"payload", random.Below(9)}});
  run.FireNextTimer();
}

void CheckEnd(const RunDriver& run) {
  RunView view = run.View();
  ASSERT_TRUE(view.status == "COMPLETED" || view.status == "FAILED" || view.status == "ROLLED_BACK") << view.status;
  if (view.status == "COMPLETED") {
    for (const StepView& step : view.steps) ASSERT_TRUE(step.status == "COMPLETED" || step.status == "SKIPPED") << step.step_id;
    for (const StepView& step : view.items) ASSERT_NE(step.status, "PENDING") << step.step_id;
  }
  // Completions and execution orders agree: 1 .. n, each once.
  std::set<int> orders;
  for (const StepView& step : view.steps) {
    ASSERT_EQ(step.status == "COMPLETED", run.completions.contains(step.step_id)) << step.step_id;
    if (step.execution_order > 0) {
      ASSERT_TRUE(orders.insert(step.execution_order).second);
    }
    ASSERT_NE(step.status, "RUNNING");
    ASSERT_NE(step.status, "UNCERTAIN");
  }
  ASSERT_EQ(int(orders.size()), view.steps_completed);
  for (const StepView& step : view.items) {
    ASSERT_EQ(step.status == "COMPLETED", run.completions.contains(step.step_id)) << step.step_id;
    if (step.execution_order > 0) {
      ASSERT_TRUE(orders.insert(step.execution_order).second);
    }
  }
  ASSERT_EQ(view.items_left_out, 0);
  if (!orders.empty()) {
    ASSERT_EQ(*orders.rbegin(), int(orders.size()));
  }
  // Compensations in reverse order of completion, each ended at most once; all of them before ROLLED_BACK.
  std::vector<int> undone;
  std::set<std::string> ended;
  for (const Event& event : run.events) {
    if (event.type != "compensation.completed" && event.type != "compensation.failed") continue;
    std::string id = (*ParseJson(*event.payload))["step_id"];
    ASSERT_TRUE(ended.insert(id).second) << id << " undone twice";
    for (const auto* steps : {&view.steps, &view.items}) {
      for (const StepView& step : *steps) {
        if ("undo:" + step.step_id == id) undone.push_back(step.execution_order);
      }
    }
    if (view.status == "ROLLED_BACK") {
      ASSERT_EQ(event.type, "compensation.completed");
    }
  }
  ASSERT_TRUE(std::is_sorted(undone.rbegin(), undone.rend()));
  // Nothing waited less than it should.
  for (const Event& event : run.events) {
    if (event.type != "step.completed") continue;
    const Json facts = *ParseJson(*event.payload);
    if (facts.contains("due_at")) {
      ASSERT_LE(facts["due_at"].get<std::string>(), FormatWallTime(event.timestamp));
    }
  }
  if (view.status == "ROLLED_BACK") {
    for (const CompensationView& undo : view.compensations) ASSERT_EQ(undo.status, "COMPLETED") << undo.step_id;
  }
  // Once a non-repeatable effect's attempt was lost it never ran again unasked.
  ASSERT_TRUE(run.listing && run.listing->status == view.status);
  ASSERT_TRUE(run.listing->completed_at);
  ASSERT_FALSE(run.timers.contains("deadline"));
}

void RunOne(std::uint64_t seed, int crash_percent) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  SeededRandom random(seed);
  WorkflowDefinition definition = RandomDefinition(random);
  RunDriver run(definition);
  run.Claim();
  const int fail_percent = int(random.Below(50));
  const int slots = 1 + int(random.Below(4));
  for (int turn = 0; turn < 3000; ++turn) {
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    if (turn > 1000) crash_percent = 0;  // healing
    if (int(random.Below(100)) < crash_percent) run.Crash();
    if (turn < 1000 && random.Below(40) == 0) RandomInbox(run, random);
    if (random.Below(10) == 0) run.now += milliseconds(random.Below(200));
    run.Pump(std::max(0, slots - int(run.running.size())));
    if (int(random.Below(100)) < crash_percent) run.Crash();
    if (!run.running.empty()) {
      auto which = run.running.begin();
      std::advance(which, long(random.Below(run.running.size())));
      std::string step_id = which->first;
      run.Finish(step_id, RandomResult(random, turn > 1000 ? 5 : fail_percent));
      continue;
    }
    Next next = run.Ask();
    if (next.closed) return CheckEnd(run);
    if (!next.start.empty()) continue;
    ASSERT_TRUE(next.waiting) << "nothing runs, nothing starts, nothing is waited for";
    Unblock(run, random);
  }
  FAIL() << "the run does not end: " << DumpJson(ViewToJson(run.View()));
}

TEST(CrashProperty, EveryRunEndsAndReplayAgrees) {
  for (std::uint64_t seed = 0; seed < 1500 && !testing::Test::HasFailure(); ++seed) RunOne(seed, 0);
}

TEST(CrashProperty, WithCrashesAtEventBoundaries) {
  for (std::uint64_t seed = 100'000; seed < 101'500 && !testing::Test::HasFailure(); ++seed) RunOne(seed, 30);
}

RC_GTEST_PROP(CrashProperty, AnySeed, (std::uint64_t seed, bool crashes)) {
  RunOne(seed, crashes ? 20 : 0);
  RC_ASSERT(!testing::Test::HasFailure());
}

}  // namespace
}  // namespace acl::workflow::test
