#include "worker/dispatch_runs.h"

#include <fmt/format.h>

#include <algorithm>

namespace acl {

using Outcome = StepResult::Outcome;

StepResult Dropped(EffectClass effect) {
  StepResult result;
  result.outcome = effect == EffectClass::kNonIdempotent ? Outcome::kUnknown : Outcome::kTimedOut;
  result.error = "the step did not stop at its deadline and was dropped";
  return result;
}

void SayWhyStopped(const std::string& why, StepResult* result) {
  if (why.empty() || (result->outcome != Outcome::kCancelled && result->outcome != Outcome::kUnknown)) return;
  result->error = why + (result->error.empty() ? "" : ": " + result->error);
}

SteadyTime DropAt(SteadyTime now, SteadyTime drop_at, const StopToken& stop, milliseconds timeout, milliseconds grace) {
  if (stop.waits()) return std::max(drop_at, now + timeout + grace);
  if (const auto begun = stop.begun()) return std::max(drop_at, *begun + timeout + grace);
  return drop_at;
}

void DispatchRuns::Take(SteadyTime, ClaimedDispatch grant, SteadyTime start_until) {
  ++counts_.taken;
  Dispatch dispatch;
  dispatch.order = ++order_;
  dispatch.start_until = start_until;
  auto offer = OfferFromText(grant.row.step_id, grant.row.payload);
  grant.row.payload.clear();
  observer_.OnDispatch(grant);
  dispatch.grant = std::move(grant);
  if (offer) {
    dispatch.offer = std::move(*offer);
  } else {
    EndWithoutBeginning(dispatch, Outcome::kFailed, offer.message(), false);
  }
  const DispatchId id = dispatch.grant.id;
  dispatches_.insert_or_assign(id, std::move(dispatch));
}

std::vector<DispatchRuns::Start> DispatchRuns::Begin(SteadyTime now, WallTime db_now, bool trusted, int slots) {
  std::vector<Dispatch*> waiting;
  for (auto& [id, dispatch] : dispatches_) {
    if (dispatch.state == Dispatch::State::kWaiting) waiting.push_back(&dispatch);
  }
  std::sort(waiting.begin(), waiting.end(), [](const Dispatch* a, const Dispatch* b) { return a->order < b->order; });
  std::vector<Start> starts;
  for (Dispatch* dispatch : waiting) {
    const auto& deadline = dispatch->grant.row.deadline;
    if (!trusted || now >= dispatch->start_until) {
      EndWithoutBeginning(*dispatch, Outcome::kNotStarted, "its worker could not be sure of its session");
      continue;
    }
    if (deadline && db_now >= *deadline) {
      EndWithoutBeginning(*dispatch, Outcome::kTimedOut, "its time was over before it was begun", false);
      continue;
    }
    if (int(starts.size()) >= slots) continue;
    StepCall call;
    call.subject = dispatch->grant.subject;
    call.project = dispatch->grant.project;
    call.token = dispatch->grant.token;
    call.scope = "run/step";
    call.attempt_id = dispatch->grant.row.attempt_id;
    call.step = dispatch->offer.step;
    call.state = dispatch->offer.files;
    call.trace = dispatch->offer.trace;
    if (deadline) {
      const auto left = std::max(std::chrono::duration_cast<milliseconds>(*deadline - db_now), milliseconds(1));
      call.step.timeout = call.step.timeout.count() > 0 ? std::min(call.step.timeout, left) : left;
    }
    dispatch->state = Dispatch::State::kRunning;
    dispatch->began = dispatch->offer.step.effect;
    dispatch->timeout = call.step.timeout;
    if (call.step.timeout.count() > 0) dispatch->drop_at = now + call.step.timeout + config_.runner_grace;
    observer_.OnStep(call);
    starts.push_back({std::move(call), dispatch->stop});
  }
  return starts;
}

void DispatchRuns::End(Dispatch& dispatch, StepResult result) {
  dispatch.state = Dispatch::State::kEnded;
  dispatch.drop_at.reset();
  dispatch.report.dispatch = dispatch.grant.id;
  dispatch.report.token = dispatch.grant.token;
  dispatch.report.state = result.outcome == Outcome::kSucceeded ? "done" : result.outcome == Outcome::kCancelled ? "cancelled" : "failed";
  DispatchResult said;
  said.step_id = dispatch.grant.row.step_id;
  said.attempt_id = dispatch.grant.row.attempt_id;
  said.result = std::move(result);
  said.repeatable = dispatch.offer.step.effect != EffectClass::kNonIdempotent;
  said.worker = config_.worker_name;
  said.token = dispatch.grant.token.value;
  dispatch.report.payload = ResultToText(said);
  dispatch.offer = {};
}

void DispatchRuns::EndWithoutBeginning(Dispatch& dispatch, Outcome outcome, const std::string& why, bool retryable) {
  StepResult result;
  result.outcome = outcome;
  result.error = why;
  result.retryable = retryable;
  if (outcome == Outcome::kNotStarted) ++counts_.released;
  End(dispatch, std::move(result));
}

bool DispatchRuns::OnStepDone(SteadyTime, const SubjectId& subject, Token token, const std::string& step_id, int attempt_id,
                              StepResult result) {
  if (!lost_.empty() && lost_.erase({DispatchIdOf(subject, step_id, attempt_id), token}) > 0) return true;
  auto it = dispatches_.find(DispatchIdOf(subject, step_id, attempt_id));
  if (it == dispatches_.end() || it->second.grant.token != token) return false;
  Dispatch& dispatch = it->second;
  if (dispatch.state != Dispatch::State::kRunning) return true;  // dropped by the watchdog before
  SayWhyStopped(dispatch.stopped_why, &result);
  observer_.OnStepDone({subject, token, step_id, attempt_id, dispatch.offer.trace.trace_id}, result);
  End(dispatch, std::move(result));
  return true;
}

void DispatchRuns::OnUnwanted(const DispatchId& id) {
  auto it = dispatches_.find(id);
  if (it == dispatches_.end()) return;
  if (it->second.state == Dispatch::State::kWaiting) {
    EndWithoutBeginning(it->second, Outcome::kNotStarted, "cancelled before it was begun");
    it->second.report.state = "cancelled";
  }
  if (it->second.state == Dispatch::State::kRunning) it->second.stop.Stop();
}

void DispatchRuns::Forget(SteadyTime now, std::map<DispatchId, Dispatch>::iterator dispatch) {
  if (dispatch->second.began) {
    const auto old = [&](const EndedKey& key) { return ended_.at(key).at + config_.remembered_for < now; };
    while (!ended_order_.empty() && (ended_order_.size() >= config_.remembered || old(ended_order_.front()))) {
      if (!old(ended_order_.front())) forgot_at_ = ended_.at(ended_order_.front()).at + config_.remembered_for;
      ended_.erase(ended_order_.front());
      ended_order_.pop_front();
    }
    const EndedKey key{dispatch->first, dispatch->second.grant.token};
    if (ended_.insert({key, {*dispatch->second.began, now}}).second) ended_order_.push_back(key);
  }
  dispatches_.erase(dispatch);
}

void DispatchRuns::OnHeld(SteadyTime now, const std::vector<HeldDispatch>& held) {
  for (const HeldDispatch& row : held) {
    auto it = dispatches_.find(row.dispatch);
    if (it != dispatches_.end() && it->second.grant.token == row.token) continue;
    const auto ended = ended_.find({row.dispatch, row.token});
    Dispatch dispatch;
    dispatch.grant.id = row.dispatch;
    dispatch.grant.token = row.token;
    dispatch.grant.row.step_id = row.key.step_id;
    dispatch.grant.row.attempt_id = row.key.attempt_id;
    const bool known = ended != ended_.end();
    if (known ? ended->second.effect == EffectClass::kNonIdempotent : now < forgot_at_) {
      dispatch.offer.step.effect = EffectClass::kNonIdempotent;
      StepResult result;
      result.outcome = Outcome::kUnknown;
      result.error = "it ran to its end, and the database has lost that it did";
      End(dispatch, std::move(result));
    } else {
      const char* why = known ? "the database has lost that it ended" : "its grant was never heard of by its worker";
      EndWithoutBeginning(dispatch, Outcome::kNotStarted, why);
    }
    dispatches_.insert_or_assign(row.dispatch, std::move(dispatch));
  }
}

SubjectId DispatchRuns::OnDelivered(SteadyTime now, const DispatchId& id, Token token, const Result<PostAnswer>& answer) {
  auto it = dispatches_.find(id);
  if (it == dispatches_.end() || it->second.grant.token != token || !it->second.sending) return {};
  Dispatch& dispatch = it->second;
  const SubjectId subject = dispatch.grant.subject;
  dispatch.sending = false;
  if (answer) {
    ++(answer->replayed ? counts_.replayed : counts_.delivered);
    observer_.OnDispatchDelivered(dispatch.grant, *answer);
    Forget(now, it);
    return subject;
  }
  const Code code = answer.code();
  if (code == Code::kUnavailable || code == Code::kTimeout || code == Code::kOutcomeUnknown || code == Code::kCancelled) {
    ++counts_.kept;
    const auto limit = std::min<std::int64_t>(config_.retry_max.count(), config_.retry_min.count() << std::min(dispatch.failures++, 10));
    dispatch.retry_at = now + config_.retry_min / 2 + milliseconds(std::int64_t(double(limit) * random_.Unit()));
    return subject;
  }
  if (code == Code::kLeaseLost || code == Code::kNotFound || code == Code::kConflict || dispatch.second_text) {
    ++counts_.refused;
    observer_.OnDispatchRefused(dispatch.grant, answer.error());
    Forget(now, it);
    return subject;
  }
  // The text itself does not go in: that is said instead, once.
  StepResult failed;
  failed.outcome = Outcome::kFailed;
  failed.retryable = false;
  failed.error = "its result could not be stored: " + answer.message();
  End(dispatch, std::move(failed));
  dispatch.second_text = true;
  return subject;
}

void DispatchRuns::ReleaseWaiting(const std::string& why) {
  for (auto& [id, dispatch] : dispatches_) {
    if (dispatch.state == Dispatch::State::kWaiting) EndWithoutBeginning(dispatch, Outcome::kNotStarted, why);
  }
}

void DispatchRuns::StopRunning(const std::string& why, bool all) {
  for (auto& [id, dispatch] : dispatches_) {
    if (dispatch.state != Dispatch::State::kRunning || dispatch.stop.stopped()) continue;
    if (!all && dispatch.began == EffectClass::kNonIdempotent) continue;
    dispatch.stopped_why = why;
    dispatch.stop.Stop();
  }
}

void DispatchRuns::StopNotBegun() {
  for (auto& [id, dispatch] : dispatches_) {
    if (dispatch.state == Dispatch::State::kRunning && dispatch.stop.waits()) dispatch.stop.Stop();
  }
}

bool DispatchRuns::RunsEffect() const {
  return std::any_of(dispatches_.begin(), dispatches_.end(), [](const auto& entry) {
    return entry.second.state == Dispatch::State::kRunning && entry.second.began == EffectClass::kNonIdempotent;
  });
}

void DispatchRuns::ForgetRunning() {
  StopRunning();
  StepResult result;
  result.outcome = Outcome::kCancelled;
  result.error = "its worker's session was lost";
  for (auto& [id, dispatch] : dispatches_) {
    if (dispatch.state != Dispatch::State::kRunning) continue;
    const ClaimedDispatch& grant = dispatch.grant;
    observer_.OnStepDone({grant.subject, grant.token, grant.row.step_id, grant.row.attempt_id, dispatch.offer.trace.trace_id}, result);
  }
  std::erase_if(dispatches_, [](const auto& entry) { return entry.second.state != Dispatch::State::kEnded; });
}

std::vector<DispatchReport> DispatchRuns::TakeReports(SteadyTime now) {
  std::vector<DispatchReport> reports;
  for (auto& [id, dispatch] : dispatches_) {
    if (dispatch.state != Dispatch::State::kEnded || dispatch.sending || (dispatch.retry_at && *dispatch.retry_at > now)) continue;
    dispatch.sending = true;
    dispatch.retry_at.reset();
    reports.push_back(dispatch.report);
  }
  return reports;
}

void DispatchRuns::OnTime(SteadyTime now) {
  for (auto& [id, dispatch] : dispatches_) {
    if (!dispatch.drop_at) continue;
    dispatch.drop_at = DropAt(now, *dispatch.drop_at, dispatch.stop, dispatch.timeout, config_.runner_grace);
    if (*dispatch.drop_at > now) continue;
    dispatch.stop.Stop();
    lost_.emplace(id, dispatch.grant.token);
    StepResult result = Dropped(dispatch.offer.step.effect);
    observer_.OnStepDone({dispatch.grant.subject, dispatch.grant.token, dispatch.grant.row.step_id, dispatch.grant.row.attempt_id,
                          dispatch.offer.trace.trace_id},
                         result);
    End(dispatch, std::move(result));
  }
}

std::optional<SteadyTime> DispatchRuns::NextWake() const {
  std::optional<SteadyTime> next;
  auto consider = [&next](const std::optional<SteadyTime>& at) {
    if (at && (!next || *at < *next)) next = at;
  };
  for (const auto& [id, dispatch] : dispatches_) {
    consider(dispatch.drop_at);
    consider(dispatch.retry_at);
    if (dispatch.state == Dispatch::State::kWaiting) consider(dispatch.start_until);
  }
  return next;
}

int DispatchRuns::running() const {
  return int(std::count_if(dispatches_.begin(), dispatches_.end(),
                           [](const auto& entry) { return entry.second.state == Dispatch::State::kRunning; }));
}

int DispatchRuns::busy() const {
  return int(std::count_if(dispatches_.begin(), dispatches_.end(),
                           [](const auto& entry) { return entry.second.state != Dispatch::State::kEnded; }));
}

}  // namespace acl
