// Steps that run: begun, ended, dropped by the watchdog.
#include <utility>

#include "worker/worker_core.h"

namespace acl {

void WorkerCore::TellRecorded(LeasedSubject& run) {
  for (const LeasedSubject::Recorded& ended : run.TakeRecorded()) {
    observer_.OnRecorded({run.subject(), run.token(), ended.step_id, ended.attempt_id, run.trace().trace_id}, run.kind(), run.state());
  }
}

void WorkerCore::DispatchStarts(SteadyTime now, LeasedSubject& run) {
  for (StepCall& call : run.TakeStarts()) {
    if (!trust_.Holds(now) || state_ != State::kLive) {
      // The attempt is promised but its effect was never begun.
      ++counts_.steps_not_started;
      StepResult result;
      result.outcome = StepResult::Outcome::kNotStarted;
      run.OnStepDone(call.step.step_id, call.attempt_id, std::move(result));
      continue;
    }
    RunningStep step;
    step.token = call.token;
    step.attempt_id = call.attempt_id;
    step.effect = call.step.effect;
    step.trace = call.trace;
    step.timeout = call.step.timeout;
    if (call.step.timeout.count() > 0) {
      step.drop_at = now + call.step.timeout + config_.runner_grace;
      look_at_steps_ = std::min(look_at_steps_, *step.drop_at);
    }
    running_[{call.subject, call.step.step_id}] = step;
    ++counts_.steps_started;
    observer_.OnStep(call);
    commands_.push_back(command::RunStep{std::move(call), step.stop});
  }
}

void WorkerCore::OnStepDone(SteadyTime now, const SubjectId& subject, Token token, const std::string& step_id, int attempt_id,
                            StepResult result) {
  if (!result.short_of.empty()) NoteShortage(now, result.short_of);
  if (dispatches_.OnStepDone(now, subject, token, step_id, attempt_id, result)) {
    dispatch_ended_ = now;
    ++counts_.steps_finished;
    return;
  }
  if (!lost_.empty() && lost_.erase({subject, step_id, token, attempt_id}) > 0) return;  // its slot is free again
  auto running = running_.find({subject, step_id});
  if (running == running_.end() || running->second.token != token || running->second.attempt_id != attempt_id) return;
  const TraceContext trace = std::move(running->second.trace);
  if (running->second.drained) SayWhyStopped(kDrained, &result);
  running_.erase(running);
  ++counts_.steps_finished;
  observer_.OnStepDone({subject, token, step_id, attempt_id, trace.trace_id}, result);
  LeasedSubject* run = subjects_.Change(subject);
  if (!run || run->token() != token) return;
  if (!result.damaged.empty()) {
    QuarantineSubject(subject, "content damaged", result.damaged);
    return;
  }
  run->OnStepDone(step_id, attempt_id, std::move(result));
}

// What the machine has not got now, the next step would miss as well: each try costs its run a row. Others may have it.
void WorkerCore::NoteShortage(SteadyTime now, const std::string& of) {
  if (shortage_until_) return;  // begun before the pause
  shortage_pause_ = short_ ? std::min(shortage_pause_ * 2, config_.shortage_max) : config_.shortage_min;
  shortage_until_ = now + shortage_pause_;
  if (!std::exchange(short_, true)) observer_.OnShortage(of);
}

void WorkerCore::EndShortage(SteadyTime now) {
  if (Due(now, shortage_until_)) {
    shortage_until_.reset();
    shortage_over_ = now + shortage_pause_;
    pace_.Hint(now);
  }
  if (!short_ || shortage_until_ || now < shortage_over_) return;
  short_ = false;
  observer_.OnShortageOver();
}

// The runner did not come back: it is dropped.
void WorkerCore::DropLateSteps(SteadyTime now) {
  if (now < look_at_steps_) return;
  look_at_steps_ = SteadyTime::max();
  for (auto it = running_.begin(); it != running_.end();) {
    if (it->second.drop_at)
      it->second.drop_at = DropAt(now, *it->second.drop_at, it->second.stop, it->second.timeout, config_.runner_grace);
    if (!Due(now, it->second.drop_at)) {
      if (it->second.drop_at) look_at_steps_ = std::min(look_at_steps_, *it->second.drop_at);
      ++it;
      continue;
    }
    ++counts_.watchdog_drops;
    it->second.stop.Stop();
    auto [subject, step_id] = it->first;
    RunningStep step = it->second;
    it = running_.erase(it);
    lost_.emplace(subject, step_id, step.token, step.attempt_id);
    LeasedSubject* run = subjects_.Change(subject);
    if (!run) continue;
    StepResult result = Dropped(step.effect);
    observer_.OnStepDone({subject, step.token, step_id, step.attempt_id, step.trace.trace_id}, result);
    run->OnStepDone(step_id, step.attempt_id, std::move(result));
  }
}

}  // namespace acl
