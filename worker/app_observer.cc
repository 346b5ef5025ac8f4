#include "worker/app_observer.h"

#include <set>

namespace acl {

void AppObserver::OnUnavailable(const char* what, const Error& error) {
  LogObserver::OnUnavailable(what, error);
  std::lock_guard lock(mutex_);
  why_no_session_ = error;
}

void AppObserver::OnSessionLost(const std::string& why, int subjects_held) {
  LogObserver::OnSessionLost(why, subjects_held);
  std::lock_guard lock(mutex_);
  why_no_session_ = {Code::kLeaseLost, why};
}

void AppObserver::OnSession(const WorkerSessionId& session) {
  LogObserver::OnSession(session);
  if (doorbell_) doorbell_->SetSession(session);
}

void AppObserver::OnRoom(const WorkerSessionId& session, int room) {
  if (doorbell_) doorbell_->SetRoom(session, room);
}

void AppObserver::OnLost(const SubjectId& subject, Token token, const char* why) {
  LogObserver::OnLost(subject, token, why);
  traces_.OnLost(subject, token, why);
}

void AppObserver::OnClaim(const Claimed& claimed, const Restored& restored, const SubjectKind& kind) {
  LogObserver::OnClaim(claimed, restored, kind);
  traces_.OnClaim(claimed, restored, kind);
}

void AppObserver::OnStep(const StepCall& call) {
  LogObserver::OnStep(call);
  traces_.OnStep(call);
}

void AppObserver::OnStepDone(const StepEnd& end, const StepResult& result) {
  LogObserver::OnStepDone(end, result);
  traces_.OnStepDone(end, result);
}

void AppObserver::OnRecorded(const StepEnd& end, const SubjectKind& kind, const Document& state) { traces_.OnRecorded(end, kind, state); }

void AppObserver::OnOutcome(const CommitItem& item, const CommitOutcome& outcome) {
  LogObserver::OnOutcome(item, outcome);
  traces_.OnOutcome(item, outcome);
  if (!doorbell_ || outcome.kind != CommitOutcome::Kind::kCommitted) return;
  if (item.disposition == Disposition::kClose) doorbell_->TellClosed(item.subject);
  std::set<std::string> queues;
  for (const DispatchRow& dispatch : item.dispatches) queues.insert(dispatch.queue);
  for (const std::string& queue : queues) doorbell_->TellWork(queue);
}

void AppObserver::OnDispatchDelivered(const ClaimedDispatch& dispatch, const PostAnswer& answer) {
  LogObserver::OnDispatchDelivered(dispatch, answer);
  if (!doorbell_) return;
  if (answer.holder) {
    doorbell_->TellWoken(dispatch.subject, *answer.holder);
  } else {
    doorbell_->TellWork(answer.queue);
  }
}

void AppObserver::OnReady(const std::vector<StepMessage>& rows, bool all) {
  if (!doorbell_) return;
  doorbell_->TellReady(rows);
  if (!all) doorbell_->TellWork();
}

void AppObserver::OnLetGo(const CommitItem& item) { traces_.OnLetGo(item); }

void AppObserver::OnBatch(std::size_t items, SteadyTime::duration took) {
  LogObserver::OnBatch(items, took);
  traces_.OnBatch(items, took);
}

void AppObserver::OnQuarantine(const SubjectId& subject, Token token, const std::string& reason, const std::string& detail) {
  LogObserver::OnQuarantine(subject, token, reason, detail);
  traces_.OnQuarantine(subject, token, reason, detail);
}

}  // namespace acl
