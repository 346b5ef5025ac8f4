// What a worker's deciding thread spends on a step, without database, threads or capability: a run of ten sequential steps of class
// idempotent, restored from its first event and driven to its end. One item is one step. Run: ./dev bench micro decide

#include <benchmark/benchmark.h>

#include "shared/base/uuid7.h"
#include "shared/capability/standard.h"
#include "shared/definition/loader.h"
#include "shared/workflow/create_run.h"
#include "shared/workflow/first_event_template.h"
#include "shared/workflow/workflow_kind.h"
#include "worker/leased_subject.h"

namespace acl {
namespace {

constexpr int kSteps = 10;

std::string WorkflowText() {
  std::string text = "name: bench-steps\nversion: '1.0.0'\nsteps:\n";
  for (int i = 0; i < kSteps; ++i) text += "  - {name: s" + std::to_string(i) + ", capability: test.effect, inputs: {size: 130}}\n";
  return text;
}

WallTime Time(int micros) { return WallTime(std::chrono::microseconds(1'750'000'000'000'000 + micros)); }

constexpr std::int64_t kBeforeSnapshot = 60;

struct Bench {
  std::shared_ptr<CapabilityRegistry> registry = std::make_shared<CapabilityRegistry>();
  std::shared_ptr<const SubjectKind> kind;
  WorkflowDefinition definition;
  CreateItem created;

  Bench() {
    RegisterStandardCapabilities(*registry, {});
    kind = workflow::MakeWorkflowKind(registry);
    Loaded loaded = LoadWorkflow(WorkflowText(), *registry, {});
    ACL_CHECK(loaded.ok(), "the bench's workflow does not load");
    definition = *loaded.definition;
    created = Create();
  }

  CreateItem Create(workflow::FirstEventTemplates* event_templates = nullptr) const {
    workflow::CreateRequest request;
    request.subject.uuid.bytes[0] = 1;
    request.definition_text = WorkflowText();
    request.submitter = "bench";
    auto item = workflow::MakeCreateItem(*kind, definition, std::move(request), event_templates);
    ACL_CHECK(item.ok(), "the bench's run cannot be created");
    Event& event = item->events.front();
    event.timestamp = Time(0);
    event.token = {1};
    event.chain = ChainNext(ChainStart(item->subject), event);
    return std::move(*item);
  }

  Claimed Claim() const {
    Claimed claimed;
    claimed.subject = created.subject;
    claimed.kind = "workflow";
    claimed.queue = "default";
    claimed.token = {2};
    claimed.head = {1, created.events.front().chain, created.state_root, {}, Time(0)};
    claimed.events = created.events;
    claimed.db_now = Time(10);
    return claimed;
  }
};

// The claim's part: the first event verified and replayed.
void RestoreRun(benchmark::State& state) {
  const Bench bench;
  const Claimed claimed = bench.Claim();
  for (auto _ : state) {
    auto restored = Restore(claimed.subject, std::nullopt, claimed.events, nullptr);
    if (!restored.ok()) state.SkipWithError("the run does not restore");
    benchmark::DoNotOptimize(restored);
  }
}
BENCHMARK(RestoreRun);

// A takeover's part: a run of many steps with 150 kB of state, from its snapshot and so many events after it.
void RestoreFromSnapshot(benchmark::State& state) {
  const auto events = std::int64_t(state.range(0));
  SubjectId subject;
  subject.uuid.bytes[0] = 1;
  Document document;
  Json held = Json::object();
  held["held"] = std::string(150'000, 'x');
  const auto add = [](const std::string& path, Json value) { return Json{{"op", "add"}, {"path", path}, {"value", std::move(value)}}; };
  ACL_CHECK(document.Apply(Json::array({add("/var:held", held), add("/progress", {{"done", 0}})})).ok(), "a state");
  std::vector<Event> journal;
  Hash256 chain = ChainStart(subject);
  std::optional<EncodedSnapshot> snapshot;
  for (std::int64_t seq = 1; seq <= kBeforeSnapshot + events; ++seq) {
    const std::string step = std::to_string(seq), at = "2026-11-23T07:49:18.568459Z";
    Json delta = Json::array({add("/step:s" + step, {{"attempt", 1}, {"status", "COMPLETED"}, {"started_at", at}, {"completed_at", at}}),
                              add("/progress", {{"done", seq}}), add("/var:s" + step, {{"text", std::string(130, 'a')}})});
    ACL_CHECK(document.Apply(delta).ok(), "a step");
    Event event;
    event.subject = subject, event.seq = seq, event.type = "step.completed", event.token = {1}, event.timestamp = Time(seq);
    event.payload = DumpJson(Json{{"step_id", "s" + step}, {kDeltaKey, std::move(delta)}, {kRootKey, ToHex(document.Root())}});
    Seal(event, chain);
    chain = event.chain;
    if (seq == kBeforeSnapshot) snapshot = EncodeSnapshot(document, seq, chain);
    if (seq > kBeforeSnapshot) journal.push_back(std::move(event));
  }
  const std::map<Hash256, std::string> contents(snapshot->contents.begin(), snapshot->contents.end());
  const ChunkReader read = [&](const Hash256& hash) -> Result<std::string> { return contents.at(hash); };
  for (auto _ : state) {
    auto restored = Restore(subject, snapshot->snapshot, journal, read);
    if (!restored.ok()) state.SkipWithError("the run does not restore");
    benchmark::DoNotOptimize(restored);
  }
}
BENCHMARK(RestoreFromSnapshot)->Arg(0)->Arg(100);

// The coordinator's part: the first event made and sealed.
void CreateRun(benchmark::State& state) {
  const Bench bench;
  for (auto _ : state) benchmark::DoNotOptimize(bench.Create());
}
BENCHMARK(CreateRun);

// The same of the third run of a workflow and later.
void CreateRunFromTemplate(benchmark::State& state) {
  const Bench bench;
  workflow::FirstEventTemplates event_templates;
  for (auto _ : state) benchmark::DoNotOptimize(bench.Create(&event_templates));
}
BENCHMARK(CreateRunFromTemplate);

void TenSteps(benchmark::State& state) {
  const Bench bench;
  const Claimed claimed = bench.Claim();
  auto restored = Restore(claimed.subject, std::nullopt, claimed.events, nullptr);
  ACL_CHECK(restored.ok(), "the run does not restore");
  const Json outputs = {{"text", std::string(130, 'x')}, {"count", 1}};
  std::int64_t steps = 0;
  for (auto _ : state) {
    LeasedSubject run(claimed, *restored, *bench.kind, WorkerSessionId{}, {});
    BuildContext context;
    context.free_slots = 64;
    for (int micros = 100;; micros += 100) {
      context.now = Time(micros);
      auto built = run.BuildItem(context);
      if (!built.ok() || !built->has_value()) return state.SkipWithError("no item");
      benchmark::DoNotOptimize(**built);
      const bool closes = (**built).disposition == Disposition::kClose;
      if (run.OnOutcome({CommitOutcome::Kind::kCommitted, 0, {}}) == LeasedSubject::After::kGone || closes) break;
      for (StepCall& call : run.TakeStarts()) {
        StepResult result;
        result.outputs = outputs;
        run.OnStepDone(call.step.step_id, call.attempt_id, std::move(result));
        ++steps;
      }
      run.TakeRecorded();
    }
  }
  state.SetItemsProcessed(steps);
}
BENCHMARK(TenSteps);

}  // namespace
}  // namespace acl
