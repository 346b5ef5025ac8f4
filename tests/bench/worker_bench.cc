// All that a worker does for a step but its threads and what the kernel and libpq do for it: 64 runs of ten sequential steps, restored
// from their first events as if they had just been granted; deciding, the steps themselves (test.effect), the commits' parameters, what
// their outcome changes. One item is one step. Run: ./dev bench micro worker
//
// Nothing is stored: every commit lands. What a database says to the same is held by the tests.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>

#include "shared/base/uuid7.h"
#include "shared/capability/runner.h"
#include "shared/capability/standard.h"
#include "shared/definition/loader.h"
#include "shared/kernel/fold.h"
#include "shared/postgres/commit_statement.h"
#include "shared/workflow/create_run.h"
#include "shared/workflow/workflow_kind.h"
#include "worker/worker_core.h"

namespace acl {
namespace {

constexpr int kSteps = 10;
constexpr std::size_t kInFlight = 64, kKnown = 4 * kInFlight;

std::string WorkflowText() {
  std::string text = "name: bench-10-steps\nsteps:\n";
  for (int i = 1; i <= kSteps; ++i) {
    text += "  - name: step_" + std::to_string(i) + "\n    capability: test.effect\n    inputs: {outputs: {step: " + std::to_string(i) +
            "}, size: 120}\n";
  }
  return text;
}

struct NoContents final : ContentStore {
  Result<std::string> Get(const Hash256&) override { return Error{Code::kNotFound, "none"}; }
  Status Put(const Hash256&, const std::string&) override { return {}; }
};

class Bench {
 public:
  Bench() {
    RegisterStandardCapabilities(*registry_, {});
    kind_ = workflow::MakeWorkflowKind(registry_);
    kinds_.Add(kind_);
    Loaded loaded = LoadWorkflow(WorkflowText(), *registry_, {});
    ACL_CHECK(loaded.ok(), "the bench's workflow does not load");
    Uuid7Maker ids(clock_, random_);
    for (std::size_t i = 0; i < kKnown; ++i) granted_.push_back(Granted(*loaded.definition, SubjectId{ids.Make()}));
    RunnerOptions options;
    options.work_folder = folder_;
    options.quick_here = 2 * kInFlight;
    auto runner = CapabilityRunner::Make(*registry_, contents_, {}, options);
    ACL_CHECK(runner.ok(), "the bench has no runner");
    runner_ = std::move(*runner);
    config_.step_slots = 512;
    config_.run_slots = 512;
    int oid = 100;
    for (const char* name : pg::kSentTypes) types_[name] = pg::Oid(oid++);
  }
  ~Bench() {
    runner_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // Until so many steps have been committed.
  void Run(std::int64_t steps) {
    WorkerCore core(config_, kinds_, random_, nullptr, nullptr);
    core.Start(Now());
    while (core.counts().steps_finished < steps) {
      std::vector<Command> commands = core.TakeCommands(Now());
      std::vector<StepRunner::Job> jobs;
      for (Command& command : commands) {
        if (auto* step = std::get_if<command::RunStep>(&command)) {
          jobs.push_back(JobOf(core, std::move(*step)));
        } else {
          ExecuteCommand(core, command);
        }
      }
      if (!jobs.empty()) runner_->RunMany(std::move(jobs));
      if (core.live() && core.held() < int(kInFlight)) Grant(core);
    }
  }

 private:
  SteadyTime Now() const { return clock_.Steady(); }

  Claimed Granted(const WorkflowDefinition& definition, SubjectId subject) const {
    workflow::CreateRequest request;
    request.subject = subject;
    request.definition_text = WorkflowText();
    request.submitter = "bench";
    auto item = workflow::MakeCreateItem(*kind_, definition, std::move(request));
    ACL_CHECK(item.ok(), "the bench's run cannot be created");
    Event& event = item->events.front();
    event.timestamp = clock_.Wall();
    event.token = {1};
    event.chain = ChainNext(ChainStart(item->subject), event);
    Claimed claimed;
    claimed.subject = subject;
    claimed.kind = "workflow";
    claimed.queue = "default";
    claimed.token = {1};
    claimed.head = {1, event.chain, item->state_root, {}, event.timestamp};
    claimed.events = item->events;
    claimed.db_now = clock_.Wall();
    return claimed;
  }

  void Grant(WorkerCore& core) {
    std::vector<LoadedSubject> loaded;
    for (int left = int(kInFlight) - core.held(); left > 0; --left) {
      Claimed claimed = granted_[next_++ % granted_.size()];
      auto restored = Restore(claimed.subject, std::nullopt, claimed.events, nullptr);
      ACL_CHECK(restored.ok(), "the bench's run does not restore");
      claimed.events.clear();
      loaded.push_back({std::move(claimed), std::move(restored), std::nullopt});
    }
    core.OnGrantsRead(Now(), core.session(), std::move(loaded));
  }

  StepRunner::Job JobOf(WorkerCore& core, command::RunStep step) const {
    auto done = [this, &core, subject = step.call.subject, token = step.call.token, step_id = step.call.step.step_id,
                 attempt_id = step.call.attempt_id](StepResult result) {
      core.OnStepDone(Now(), subject, token, step_id, attempt_id, std::move(result));
    };
    return {std::move(step.call), step.stop, std::move(done)};
  }

  void ExecuteCommand(WorkerCore& core, Command& command) {
    if (std::get_if<command::OpenSession>(&command)) {
      core.OnSessionOpened(Now(), Now(), SessionGrant{WorkerSessionId{NewUuid7()}, clock_.Wall()});
    } else if (auto* beat = std::get_if<command::Heartbeat>(&command)) {
      core.OnHeartbeat(Now(), Now(), beat->session, HeartbeatAnswer{clock_.Wall(), {}, {}});
    } else if (auto* claim = std::get_if<command::Claim>(&command)) {
      core.OnClaimed(Now(), claim->request.session, ClaimReport{{}, {}, {}, Now()});
    } else if (auto* commit = std::get_if<command::Commit>(&command)) {
      benchmark::DoNotOptimize(pg::BindCommit(*commit->items, pg::FormOf(*commit->items), false, types_));
      core.OnCommitted(Now(), commit->batch, std::vector<CommitOutcome>(commit->items->size()));
    }
  }

  const std::string folder_ = (std::filesystem::temp_directory_path() / ("acl-bench-worker-" + std::to_string(getpid()))).string();
  SystemClock clock_;
  SystemRandom random_;
  std::shared_ptr<CapabilityRegistry> registry_ = std::make_shared<CapabilityRegistry>();
  std::shared_ptr<const SubjectKind> kind_;
  KindRegistry kinds_;
  NoContents contents_;
  std::unique_ptr<CapabilityRunner> runner_;
  WorkerConfig config_;
  pg::RowTypes types_;
  std::vector<Claimed> granted_;
  std::size_t next_ = 0;
};

void WorkerSteps(benchmark::State& state) {
  constexpr std::int64_t kAtOnce = 20 * kInFlight * kSteps;
  Bench bench;
  for (auto _ : state) bench.Run(kAtOnce);
  state.SetItemsProcessed(state.iterations() * kAtOnce);
  state.counters["us_per_step"] =
      benchmark::Counter(double(state.iterations() * kAtOnce) / 1e6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(WorkerSteps)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace acl
