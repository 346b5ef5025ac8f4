#include "worker/shell.h"

#include <algorithm>

namespace acl {

namespace {
constexpr int kCommitThreads = 2;  // WorkerConfig::commits_at_once
constexpr int kMostHelpers = 3;    // of the deciding thread

int Helpers() { return std::clamp(int(std::thread::hardware_concurrency()) - 1, 0, kMostHelpers); }
}  // namespace

WorkerShell::WorkerShell(WorkerConfig config, KernelStore& store, QueueDriver& queue, StepRunner& runner, const KindRegistry& kinds,
                         const Clock& clock, WorkerObserver* observer, std::function<void(double, std::int64_t)> on_restore)
    : clock_(clock),
      runner_(runner),
      ids_(clock, random_),
      crew_(Helpers()),
      core_(std::move(config), kinds, random_, observer, &crew_),
      carry_out_{store, queue, clock, ids_, std::move(on_restore)},
      heartbeats_({.name = "heartbeat", .threads = 1, .max_queued = 64}),
      commits_({.name = "commit", .threads = kCommitThreads, .max_queued = 64}),
      others_({.name = "sql", .threads = 3, .max_queued = 4096}) {}

WorkerShell::~WorkerShell() { Stop(); }

void WorkerShell::Start() {
  thread_ = std::thread([this] { RunUntilStopped(); });
  Post([](WorkerCore& core, SteadyTime now) { core.Start(now); });
}

void WorkerShell::Drain() {
  Post([](WorkerCore& core, SteadyTime now) { core.Drain(now); });
}

void WorkerShell::HintWork() {
  Post([](WorkerCore& core, SteadyTime now) { core.OnWorkHint(now); });
}

void WorkerShell::HintDoorbell(bool connected) {
  Post([connected](WorkerCore& core, SteadyTime now) { core.OnDoorbell(now, connected); });
}

void WorkerShell::HintSubject(const SubjectId& subject) {
  Post([subject](WorkerCore& core, SteadyTime now) { core.OnSubjectHint(now, subject); });
}

bool WorkerShell::WaitFinished(milliseconds at_most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, at_most, [this] { return status_.finished || stopping_; }) && status_.finished;
}

void WorkerShell::StopDeciding() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void WorkerShell::Stop() {
  StopDeciding();
  heartbeats_.Stop();
  commits_.Stop();
  others_.Stop();
}

WorkerShell::Status WorkerShell::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

void WorkerShell::Post(Report report) {
  bool first;
  {
    std::lock_guard lock(mutex_);
    first = reports_.empty();
    reports_.push_back(std::move(report));
  }
  if (first) changed_.notify_all();  // else the deciding thread has been told, or looks before it sleeps
}

void WorkerShell::RunUntilStopped() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    std::deque<Report> reports = std::exchange(reports_, {});
    lock.unlock();
    for (Report& report : reports) report(core_, clock_.Steady());
    std::vector<Command> commands = core_.TakeCommands(clock_.Steady());
    std::vector<StepRunner::Job> steps;
    for (Command& command : commands) {
      if (auto* step = std::get_if<command::RunStep>(&command)) {
        steps.push_back(JobOf(std::move(*step)));
      } else {
        Dispatch(std::move(command));
      }
    }
    if (!steps.empty()) runner_.RunMany(std::move(steps));
    const SteadyTime wake = core_.NextWake(clock_.Steady());
    lock.lock();
    status_ = {core_.counts(), core_.held(), core_.running_steps(), core_.live(), core_.finished(), core_.session()};
    if (status_.finished) changed_.notify_all();
    changed_.wait_until(lock, wake, [this] { return stopping_ || !reports_.empty(); });
  }
}

StepRunner::Job WorkerShell::JobOf(command::RunStep step) {
  const SubjectId subject = step.call.subject;
  const Token token = step.call.token;
  const std::string step_id = step.call.step.step_id;
  const int attempt_id = step.call.attempt_id;
  return {std::move(step.call), step.stop, [this, subject, token, step_id, attempt_id](StepResult result) {
            auto given = std::make_shared<StepResult>(std::move(result));
            Post([=](WorkerCore& core, SteadyTime now) { core.OnStepDone(now, subject, token, step_id, attempt_id, std::move(*given)); });
          }};
}

void WorkerShell::Dispatch(Command command) {
  BlockingPool& pool = std::holds_alternative<command::Heartbeat>(command) || std::holds_alternative<command::OpenSession>(command)
                           ? heartbeats_
                       : std::holds_alternative<command::Commit>(command) || std::holds_alternative<command::ReadBack>(command) ? commits_
                                                                                                                                : others_;
  bool taken = pool.Post([this, command = std::move(command)]() mutable {
    Report report = CarryOut(carry_out_, command, clock_.Steady());
    command = Command();  // what it shares with the core is the core's alone again, and freed by the thread that made it
    Post(std::move(report));
  });
  ACL_CHECK(taken, "the core has a bounded number of commands in flight");
}

}  // namespace acl
