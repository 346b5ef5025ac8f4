#include "worker/shell.h"

#include <algorithm>
#include <optional>

#include "shared/base/memory.h"

namespace acl {

namespace {
constexpr int kCommitThreads = 2;  // WorkerConfig::commits_at_once
constexpr int kMostHelpers = 3;    // of the deciding thread
// Who brings the outcome of a commit of so many items decides what follows from it. What follows from more is decided by the thread that
// has decided before: waking it costs little beside them, and what their runs are made of lies in its processor's cache.
constexpr std::size_t kDecidedHere = 8;

bool IsCommit(const Command& command) {
  return std::holds_alternative<command::Commit>(command) || std::holds_alternative<command::ReadBack>(command);
}

bool IsLarge(const Command& command) {
  const auto* commit = std::get_if<command::Commit>(&command);
  return commit != nullptr && commit->items->size() > kDecidedHere;
}

// Of two processors the other one is needed by the commits that the helper would help with.
int Helpers() { return std::clamp(int(std::thread::hardware_concurrency()) / 2 - 1, 0, kMostHelpers); }
}  // namespace

WorkerShell::WorkerShell(WorkerConfig config, KernelStore& store, QueueDriver& queue, StepRunner& runner, const KindRegistry& kinds,
                         const Clock& clock, WorkerObserver* observer, std::function<void(double, std::int64_t)> on_restore)
    : clock_(clock),
      runner_(runner),
      ids_(clock, random_),
      helpers_(Helpers()),
      room_for_(std::size_t(config.run_slots) * 4 + std::size_t(config.step_slots)),
      core_(std::move(config), kinds, random_, observer, &helpers_),
      executor_{store, queue, clock, ids_, std::move(on_restore)},
      heartbeats_({.name = "heartbeat", .threads = 1, .max_queued = 64}),
      commits_({.name = "commit", .threads = kCommitThreads, .max_queued = 64 + room_for_}),
      others_({.name = "sql", .threads = 3, .max_queued = 4096 + room_for_}) {}

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

// Whoever decides on it reads it: one thread is woken, not two.
void WorkerShell::HintGranted(const WorkerSessionId& session, std::vector<SubjectId> subjects) {
  Report report = [session, subjects = std::move(subjects)](WorkerCore& core, SteadyTime now) { core.OnGrantHint(now, session, subjects); };
  {
    std::lock_guard lock(mutex_);
    if (deciding_ || !reports_.empty()) {  // whoever decides, or has been woken for it, takes this too
      reports_.push_back(std::move(report));
      return;
    }
  }
  const bool taken = others_.Post([this, report] { GoOn(DecideHere(report, Takes::kReads), others_); });
  if (!taken) Post(std::move(report));
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
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !deciding_; });
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
  bool tell;
  {
    std::lock_guard lock(mutex_);
    tell = reports_.empty() && !deciding_;
    reports_.push_back(std::move(report));
  }
  if (tell) changed_.notify_all();  // else the deciding thread has been told, or who decides looks again
}

void WorkerShell::RunUntilStopped() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (deciding_) {  // who decides wakes this thread at the end
      sleeps_until_ = SteadyTime::max();
      changed_.wait(lock);
    } else if (reports_.empty() && clock_.Steady() < wake_) {
      sleeps_until_ = wake_;
      changed_.wait_until(lock, sleeps_until_);
    } else {
      std::optional<Command> nothing;
      Decide(lock, Takes::kNothing, nothing);
    }
  }
}

void WorkerShell::Decide(std::unique_lock<std::mutex>& lock, Takes takes, std::optional<Command>& mine) {
  // Even an empty deque takes memory: without it nothing is decided yet, and what was reported stays.
  std::optional<std::deque<Report>> taken;
  UntilThereIsMemory([&] { taken.emplace(); });
  deciding_ = true;
  std::deque<Report>& reports = *taken;
  reports.swap(reports_);
  lock.unlock();
  bool enough = true;
  for (Report& report : reports) enough = WithinMemory([&] { report(core_, clock_.Steady()); }) && enough;
  enough = enough && WithinMemory([&] { HandOut(takes, mine); });
  // A run that cannot be decided on is given up inside. Here something between them was left half done: all of them are.
  if (!enough) UntilThereIsMemory([this] { core_.LoseAll(clock_.Steady(), kOutOfMemory); });
  const SteadyTime wake = core_.NextWake(clock_.Steady());
  lock.lock();
  deciding_ = false;
  wake_ = wake;
  status_ = {core_.counts(), core_.held(),     core_.running_steps(), core_.lost_slots(),
             core_.live(),   core_.finished(), core_.is_short(),      core_.session()};
  if (status_.finished || stopping_) changed_.notify_all();
}

void WorkerShell::HandOut(Takes takes, std::optional<Command>& mine) {
  std::vector<Command> commands = core_.TakeCommands(clock_.Steady());
  std::vector<StepRunner::Job> steps;
  for (Command& command : commands) {
    if (auto* step = std::get_if<command::RunStep>(&command)) {
      steps.push_back(JobOf(std::move(*step)));
    } else if (!mine && Fits(takes, command)) {
      mine = std::move(command);
    } else {
      Dispatch(std::move(command));
    }
  }
  if (!steps.empty()) runner_.RunMany(std::move(steps));
}

bool WorkerShell::Fits(Takes takes, const Command& command) {
  switch (takes) {
    case Takes::kNothing: return false;
    case Takes::kReads: return std::holds_alternative<command::ReadGrants>(command);
    case Takes::kSmallCommits: return IsCommit(command) && !IsLarge(command);
    case Takes::kCommits: return IsCommit(command);
  }
  return false;
}

std::optional<Command> WorkerShell::DecideHere(Report report, Takes takes) {
  std::optional<Command> mine;
  std::unique_lock lock(mutex_);
  UntilThereIsMemory([&] { reports_.push_back(std::move(report)); });
  if (deciding_) return mine;
  while (!stopping_ && !mine && (!reports_.empty() || core_.waits_a_round())) {
    Decide(lock, takes, mine);
    if (takes == Takes::kNothing || takes == Takes::kReads) break;
  }
  if (!reports_.empty() || wake_ < sleeps_until_) changed_.notify_all();
  return mine;
}

StepRunner::Job WorkerShell::JobOf(command::RunStep step) {
  const SubjectId subject = step.call.subject;
  const Token token = step.call.token;
  const std::string step_id = step.call.step.step_id;
  const int attempt_id = step.call.attempt_id;
  auto given = std::make_shared<StepResult>();
  return {std::move(step.call), step.stop, [this, subject, token, step_id, attempt_id, given](StepResult result) {
            *given = std::move(result);
            UntilThereIsMemory([&] {
              Post([=](WorkerCore& core, SteadyTime now) { core.OnStepDone(now, subject, token, step_id, attempt_id, std::move(*given)); });
            });
          }};
}

void WorkerShell::Dispatch(Command command) {
  BlockingPool& pool = std::holds_alternative<command::Heartbeat>(command) || std::holds_alternative<command::OpenSession>(command)
                           ? heartbeats_
                       : IsCommit(command) ? commits_
                                           : others_;
  auto first = std::make_shared<Command>(std::move(command));
  bool taken = false;
  UntilThereIsMemory([&] { taken = pool.Post([this, &pool, first] { GoOn(std::move(*first), pool); }); });
  ACL_CHECK(taken, "the core has a bounded number of commands in flight");
}

// Who read the one run that was granted sends its first commit too, and those that follow. Only one thread does so, and only while nobody
// waits for it.
WorkerShell::Takes WorkerShell::TakesOf(const BlockingPool& pool, bool& lent) {
  if (&pool == &commits_) return Takes::kCommits;
  if (&pool != &others_ || others_.queued() > 0) return Takes::kNothing;
  lent = lent || !lent_.exchange(true);
  return lent ? Takes::kSmallCommits : Takes::kNothing;
}

void WorkerShell::GoOn(std::optional<Command> next, BlockingPool& pool) {
  bool lent = false;
  while (next) {
    Report report;
    const SteadyTime sent = clock_.Steady();
    if (!WithinMemory([&] { report = ExecuteCommand(executor_, *next, sent); }))
      UntilThereIsMemory([&] { report = NotExecuted(*next, sent); });
    const bool large = IsLarge(*next);
    next.reset();  // what it shares with the core is the core's alone again, and freed by who decides
    if (large) {
      UntilThereIsMemory([&] { Post(std::move(report)); });
    } else {
      next = DecideHere(std::move(report), TakesOf(pool, lent));
    }
  }
  if (lent) lent_ = false;
}

}  // namespace acl
