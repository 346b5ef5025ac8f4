// The worker's session: opened, renewed, lost, drained, closed.

#include "shared/base/mutant.h"
#include "worker/worker_core.h"

namespace acl {

void WorkerCore::Start(SteadyTime now) {
  state_ = State::kNoSession;
  open_at_ = now;
}

void WorkerCore::Drain(SteadyTime now) {
  observer_.OnDrain();
  if (state_ == State::kLive) {
    state_ = State::kDraining;
    drain_until_ = now + config_.drain_deadline;
    effects_until_ = now + std::max(config_.drain_deadline, config_.drain_effects_deadline);
    // A program that waits for its place would begin only to be stopped.
    for (auto& [key, step] : running_) {
      if (step.stop.waits()) step.stop.Stop();
    }
    dispatches_.ReleaseWaiting("its worker drains");
    dispatches_.StopNotBegun();
  } else if (losing_) {
    ends_after_loss_ = true;
  } else if (state_ != State::kDraining && state_ != State::kClosing) {
    state_ = State::kFinished;  // holds nothing
  }
}

// What may be repeated is stopped at the first deadline, everything else at the second: its outcome is unknown then.
void WorkerCore::StopDrained(SteadyTime now) {
  const bool all = losing_ || now >= effects_until_;
  for (auto& [key, step] : running_) {
    if (step.stop.stopped() || (!all && step.effect == EffectClass::kNonIdempotent)) continue;
    step.drained = !losing_;
    step.stop.Stop();
  }
  dispatches_.StopRunning(losing_ ? "" : kDrained, all);
}

SteadyTime WorkerCore::Backoff(SteadyTime now, int& failures) {
  auto limit = std::min<std::int64_t>(config_.retry_max.count(), config_.retry_min.count() << std::min(failures, 10));
  ++failures;
  return now + config_.retry_min / 2 + milliseconds(std::int64_t(double(limit) * random_.Unit()));
}

// ---- session

void WorkerCore::OnSessionOpened(SteadyTime now, SteadyTime sent, Result<SessionGrant> answer) {
  if (state_ != State::kOpening) return;
  if (!answer) {
    observer_.OnUnavailable(call::kOpenSession, answer.error());
    state_ = State::kNoSession;
    open_at_ = Backoff(now, open_failures_);
    return;
  }
  open_failures_ = 0;
  state_ = State::kLive;
  session_ = answer->session;
  observer_.OnSession(session_);
  trust_.Granted(sent, now, answer->db_now);
  heartbeat_at_ = sent + config_.heartbeat_every;
  reconcile_at_ = now + config_.reconcile_every;
  heartbeat_in_flight_ = claim_in_flight_ = notified_in_flight_ = all_claimed_ = false;
  ForgetUnrestored();
  announced_room_ = 0;
  unheard_for_ = milliseconds(0);
  pace_.Hint(now);
}

void WorkerCore::OnHeartbeat(SteadyTime now, SteadyTime sent, const WorkerSessionId& session, Result<HeartbeatAnswer> answer) {
  if (session != session_ || losing_ || (state_ != State::kLive && state_ != State::kDraining)) return;
  heartbeat_in_flight_ = false;
  if (!answer) {
    // kConflict: the database came back as another one (a newer schema): whoever fits it takes over.
    if (answer.code() == Code::kLeaseLost || answer.code() == Code::kConflict) {
      LoseSession(now, answer.message());
    } else {
      observer_.OnUnavailable(call::kHeartbeat, answer.error());
      heartbeat_at_ = now + std::min(config_.heartbeat_every, config_.retry_min * 4);
    }
    return;
  }
  observer_.OnReached(call::kHeartbeat);
  trust_.Granted(sent, now, answer->db_now);
  heartbeat_at_ = sent + config_.heartbeat_every;
  for (const SubjectId& subject : answer->woken) OnSubjectHint(now, subject);
  for (const DispatchId& dispatch : answer->unwanted) dispatches_.OnUnwanted(dispatch);
}

// The session is dead, yet until a token is raised nobody else has started: what is finished is still offered (the fence decides), what
// runs is stopped, nothing starts. Then everything is dropped and a new session is opened.
void WorkerCore::LoseSession(SteadyTime now, const std::string& why) {
  if (losing_) return;
  ++counts_.sessions_lost;
  observer_.OnSessionLost(why, int(subjects_.size()));
  trust_.Lost();
  losing_ = true;
  ends_after_loss_ = state_ == State::kDraining;
  state_ = State::kDraining;
  drain_until_ = effects_until_ = now + kLossGrace;
  for (auto& [key, step] : running_) step.stop.Stop();
  dispatches_.ReleaseWaiting("its worker's session was lost");
  dispatches_.StopRunning();
}

void WorkerCore::LoseAll(SteadyTime now, std::string_view why) {
  if (state_ == State::kOpening) {  // whether it was asked for is not known: an answer of it is not heard
    state_ = State::kNoSession;
    open_at_ = now;
  }
  if (state_ == State::kClosing) state_ = State::kFinished;  // the session expires by itself
  if (state_ != State::kLive && state_ != State::kDraining) return;
  LoseSession(now, std::string(why));
  // The process lives: what it held is free at once, and no death is counted. If this is not heard, the session expires.
  commands_.push_back(command::CloseSession{session_});
  FinishLoss(now);
}

void WorkerCore::FinishLoss(SteadyTime now) {
  while (!subjects_.empty()) LeaseLost(SubjectId(subjects_.first().subject()), "the session was lost");
  batches_.clear();
  dispatches_.ForgetRunning();
  inbox_in_flight_.clear();
  grants_heard_.clear();
  grants_read_.clear();
  ForgetUnrestored();
  losing_ = claim_in_flight_ = heartbeat_in_flight_ = false;
  session_ = WorkerSessionId{};
  state_ = ends_after_loss_ ? State::kFinished : State::kNoSession;
  open_at_ = now;
}

void WorkerCore::OnSessionClosed(SteadyTime) {
  if (state_ == State::kClosing) state_ = State::kFinished;
}

// It was asked before the answer could tell it from others, or the answer took so long that what it granted since may be old enough.
bool WorkerCore::ClaimMayHave(SteadyTime now) const {
  return claim_in_flight_ && (claim_sent_ <= reconcile_sent_ || now - reconcile_sent_ >= config_.heard_within / 4);
}

void WorkerCore::OnReconciled(SteadyTime now, const WorkerSessionId& session, Result<std::vector<std::pair<SubjectId, Token>>> held) {
  if (session != session_) return;
  if (!held || ClaimMayHave(now)) {  // asked again, for what was asked for now
    reconcile_at_ = now + config_.heard_within;
    unheard_for_ = asked_unheard_for_;
    return;
  }
  reconcile_at_ = now + config_.reconcile_every;
  for (const auto& [subject, token] : *held) {
    const LeasedSubject* run = subjects_.Find(subject);
    if (run && run->token() == token) continue;
    if (const auto waits = unrestored_.find(subject); waits != unrestored_.end() && waits->second.token == token) continue;
    if (grants_heard_.contains(subject) || grants_read_.contains(subject) || Mutant("unheard_grant_kept")) continue;
    ++counts_.released;
    observer_.OnReleased(subject, token, "granted but never heard of");
    commands_.push_back(command::ReleaseLease{subject, session_, token, {}});
  }
}

}  // namespace acl
