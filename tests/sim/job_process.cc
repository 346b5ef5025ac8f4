#include "tests/sim/job_process.h"

#include <algorithm>

namespace acl::test {

using coordinator::LeaderLeases;
using coordinator::PlannedJob;

struct JobProcess::BackgroundJob final : coordinator::JobObserver {
  BackgroundJob(JobProcess& of, std::string called) : process(of), name(std::move(called)) {}

  void Held(Token token) override { process.outside_.held(name, token); }
  void Lost() override {}
  void Ticked() override {}
  void Failed(const Error& error, bool) override {
    if (error.code == Code::kUnavailable || error.code == Code::kOutcomeUnknown) process.Suspect();
  }
  void Recovered() override {}

  JobProcess& process;
  const std::string name;
  std::unique_ptr<coordinator::JobCore> core;
  std::uint64_t stops = 0;  // what is planned for an earlier stop does nothing
  bool idle = false, woken = false, turning = false;
  std::unique_ptr<Fiber> fiber;  // goes first
};

thread_local JobProcess::BackgroundJob* JobProcess::running_ = nullptr;

namespace {

std::vector<std::string> NamesOf(const std::vector<PlannedJob>& planned) {
  std::vector<std::string> names;
  for (const PlannedJob& one : planned) names.push_back(one.name);
  return names;
}

}  // namespace

JobProcess::JobProcess(std::vector<PlannedJob> planned, WorkerSessionId session, milliseconds ttl, KernelStore& store, Outside outside)
    : session_(session), outside_(std::move(outside)), ttl_(ttl), leases_({ttl, session, NamesOf(planned)}, store, outside_.clock) {
  for (PlannedJob& one : planned) {
    jobs_.push_back(std::make_unique<BackgroundJob>(*this, one.name));
    Begin(*jobs_.back(), std::move(one));
  }
}

JobProcess::~JobProcess() = default;

void JobProcess::Begin(BackgroundJob& job, PlannedJob planned) {
  coordinator::JobCore::Options options{planned.name, ttl_, {}, std::move(planned.on_lost)};
  options.tick = [this, &job, tick = std::move(planned.tick)] {
    outside_.tick(job.name);
    job.turning = true;
    auto answer = tick();
    job.turning = false;
    return answer;
  };
  job.core = std::make_unique<coordinator::JobCore>(
      std::move(options), [this, &job](const std::string& name) { return Hold(job, name); }, outside_.clock, outside_.random, job);
  job.fiber = std::make_unique<Fiber>([this, &job] { Run(job); });
  ResumeAfter(job, Micros(outside_.random.Below(5'000)));
}

// As Job::RunUntilStopped.
void JobProcess::Run(BackgroundJob& job) {
  for (;;) {
    if (!ready_) {
      ResumeAfter(job, milliseconds(200));
      Stop(job);
    }
    const auto wait = job.core->Pass(ready_);
    if (!job.woken) {
      job.idle = true;
      ResumeAfter(job, std::chrono::ceil<Micros>(wait) + Micros(outside_.random.Below(300)));  // a thread is never there at once
      Stop(job);
      job.idle = false;
    }
    if (std::exchange(job.woken, false)) job.core->Wake();
  }
}

// LeaderLeases holds its mutex while the statement is under way. One thread cannot wait for itself, so its fibers wait before it.
Result<LeaderLeases::Answer> JobProcess::Hold(BackgroundJob& job, const std::string& name) {
  while (asking_) {
    in_line_.push_back(&job);
    Stop(job);
  }
  asking_ = true;
  auto answer = leases_.Hold(name);
  asking_ = false;
  for (BackgroundJob* next : std::exchange(in_line_, {})) ResumeAfter(*next, Micros(0));
  return answer;
}

void JobProcess::Suspect() {
  if (!std::exchange(ready_, false)) return;
  outside_.after(Micros(1'000 + outside_.random.Below(20'000)), [this] { Probe(); });
}

void JobProcess::Probe() {
  if (!outside_.reaches_database()) {
    outside_.after(milliseconds(100 + outside_.random.Below(200)), [this] { Probe(); });
    return;
  }
  ready_ = true;  // whoever waits for it looks within its 200 ms
}

void JobProcess::ResumeAfter(BackgroundJob& job, Micros delay) {
  outside_.after(delay, [&job, stop = job.stops] {
    if (job.stops != stop) return;
    running_ = &job;
    job.fiber->Resume();
    running_ = nullptr;
  });
}

void JobProcess::Stop(BackgroundJob& job) {
  job.fiber->Suspend();
  ++job.stops;
}

void JobProcess::Await(Micros time) {
  BackgroundJob* job = running_;
  if (job == nullptr || time <= Micros(0)) return;
  job->process.ResumeAfter(*job, time);
  job->process.Stop(*job);
}

void JobProcess::Wake(bool (*which)(const std::string& name)) {
  for (auto& job : jobs_) {
    if (!which(job->name)) continue;
    job->woken = true;
    if (job->idle) ResumeAfter(*job, Micros(0));
  }
}

bool JobProcess::turning(const std::string& name) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& job) { return job->name == name && job->turning; });
}

}  // namespace acl::test
