#pragma once
// What a worker process is told of its core: log lines and metrics, spans, what coordinators want to hear over the doorbell, and why
// there is no session, for /readyz.

#include <mutex>

#include "shared/queue/doorbell_client.h"
#include "worker/log_observer.h"
#include "worker/trace_observer.h"

namespace acl {

class AppObserver final : public LogObserver {
 public:
  // `traces` outlives the observer.
  AppObserver(Metrics& metrics, TraceObserver& traces) : LogObserver(metrics), traces_(traces) {}
  // Before the shell starts.
  void SetDoorbell(DoorbellClient* doorbell) { doorbell_ = doorbell; }
  // Why there is no session, as the database said it; from any thread.
  Error why_no_session() const {
    std::lock_guard lock(mutex_);
    return why_no_session_;
  }

  void OnUnavailable(const char* what, const Error& error) override;
  void OnSessionLost(const std::string& why, int subjects_held) override;
  void OnSession(const WorkerSessionId& session) override;
  void OnRoom(const WorkerSessionId& session, int room) override;
  void OnLost(const SubjectId& subject, Token token, const char* why) override;
  void OnClaim(const Claimed& claimed, const Restored& restored, const SubjectKind& kind) override;
  void OnStep(const StepCall& call) override;
  void OnStepDone(const StepEnd& end, const StepResult& result) override;
  void OnRecorded(const StepEnd& end, const SubjectKind& kind, const Document& state) override;
  void OnOutcome(const CommitItem& item, const CommitOutcome& outcome) override;
  void OnReady(const std::vector<StepMessage>& rows, bool all) override;
  void OnLetGo(const CommitItem& item) override;
  void OnBatch(std::size_t items, SteadyTime::duration took) override;
  void OnDispatchDelivered(const ClaimedDispatch& dispatch, const PostAnswer& answer) override;
  void OnQuarantine(const SubjectId& subject, Token token, const std::string& reason, const std::string& detail) override;

 private:
  TraceObserver& traces_;
  DoorbellClient* doorbell_ = nullptr;
  mutable std::mutex mutex_;
  Error why_no_session_{Code::kUnavailable, "not asked yet"};
};

}  // namespace acl
