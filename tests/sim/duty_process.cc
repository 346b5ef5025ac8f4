#include "tests/sim/duty_process.h"

#include <algorithm>

namespace acl::test {

using coordinator::LoopLeases;
using coordinator::PlannedDuty;

struct DutyProcess::Duty final : coordinator::DutyObserver {
  Duty(DutyProcess& of, std::string called) : process(of), name(std::move(called)) {}

  void Held(Token token) override { process.outside_.held(name, token); }
  void Lost() override {}
  void Turned() override {}
  void Failed(const Error& error, bool) override {
    if (error.code == Code::kUnavailable || error.code == Code::kOutcomeUnknown) process.Suspect();
  }
  void Recovered() override {}

  DutyProcess& process;
  const std::string name;
  std::unique_ptr<coordinator::DutyCore> core;
  std::uint64_t stops = 0;  // what is planned for an earlier stop does nothing
  bool idle = false, woken = false, turning = false;
  std::unique_ptr<Fiber> fiber;  // goes first
};

thread_local DutyProcess::Duty* DutyProcess::running_ = nullptr;

namespace {

std::vector<std::string> NamesOf(const std::vector<PlannedDuty>& planned) {
  std::vector<std::string> names;
  for (const PlannedDuty& one : planned) names.push_back(one.name);
  return names;
}

}  // namespace

DutyProcess::DutyProcess(std::vector<PlannedDuty> planned, SessionId session, milliseconds ttl, KernelStore& store, Outside outside)
    : session_(session), outside_(std::move(outside)), ttl_(ttl), leases_({ttl, session, NamesOf(planned)}, store, outside_.clock) {
  for (PlannedDuty& one : planned) {
    duties_.push_back(std::make_unique<Duty>(*this, one.name));
    Begin(*duties_.back(), std::move(one));
  }
}

DutyProcess::~DutyProcess() = default;

void DutyProcess::Begin(Duty& duty, PlannedDuty planned) {
  coordinator::DutyCore::Options options{planned.name, ttl_, {}, std::move(planned.on_lost)};
  options.turn = [this, &duty, turn = std::move(planned.turn)] {
    outside_.turn(duty.name);
    duty.turning = true;
    auto answer = turn();
    duty.turning = false;
    return answer;
  };
  duty.core = std::make_unique<coordinator::DutyCore>(
      std::move(options), [this, &duty](const std::string& name) { return Hold(duty, name); }, outside_.clock, outside_.random, duty);
  duty.fiber = std::make_unique<Fiber>([this, &duty] { Run(duty); });
  ResumeAfter(duty, Micros(outside_.random.Below(5'000)));
}

// As Duty::RunUntilStopped.
void DutyProcess::Run(Duty& duty) {
  for (;;) {
    if (!ready_) {
      ResumeAfter(duty, milliseconds(200));
      Stop(duty);
    }
    const auto wait = duty.core->Pass(ready_);
    if (!duty.woken) {
      duty.idle = true;
      ResumeAfter(duty, std::chrono::ceil<Micros>(wait) + Micros(outside_.random.Below(300)));  // a thread is never there at once
      Stop(duty);
      duty.idle = false;
    }
    if (std::exchange(duty.woken, false)) duty.core->Wake();
  }
}

// LoopLeases holds its mutex while the statement is under way. One thread cannot wait for itself, so its fibers wait before it.
Result<LoopLeases::Answer> DutyProcess::Hold(Duty& duty, const std::string& name) {
  while (asking_) {
    in_line_.push_back(&duty);
    Stop(duty);
  }
  asking_ = true;
  auto answer = leases_.Hold(name);
  asking_ = false;
  for (Duty* next : std::exchange(in_line_, {})) ResumeAfter(*next, Micros(0));
  return answer;
}

void DutyProcess::Suspect() {
  if (!std::exchange(ready_, false)) return;
  outside_.after(Micros(1'000 + outside_.random.Below(20'000)), [this] { Probe(); });
}

void DutyProcess::Probe() {
  if (!outside_.reaches_database()) {
    outside_.after(milliseconds(100 + outside_.random.Below(200)), [this] { Probe(); });
    return;
  }
  ready_ = true;  // whoever waits for it looks within its 200 ms
}

void DutyProcess::ResumeAfter(Duty& duty, Micros delay) {
  outside_.after(delay, [&duty, stop = duty.stops] {
    if (duty.stops != stop) return;
    running_ = &duty;
    duty.fiber->Resume();
    running_ = nullptr;
  });
}

void DutyProcess::Stop(Duty& duty) {
  duty.fiber->Suspend();
  ++duty.stops;
}

void DutyProcess::Await(Micros time) {
  Duty* duty = running_;
  if (duty == nullptr || time <= Micros(0)) return;
  duty->process.ResumeAfter(*duty, time);
  duty->process.Stop(*duty);
}

void DutyProcess::Wake(bool (*which)(const std::string& name)) {
  for (auto& duty : duties_) {
    if (!which(duty->name)) continue;
    duty->woken = true;
    if (duty->idle) ResumeAfter(*duty, Micros(0));
  }
}

bool DutyProcess::turning(const std::string& name) const {
  return std::any_of(duties_.begin(), duties_.end(), [&](const auto& duty) { return duty->name == name && duty->turning; });
}

}  // namespace acl::test
