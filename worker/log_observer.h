#pragma once
// The observer of production: log lines with run, step, attempt and token, and the kernel's metrics.

#include "shared/telemetry/kernel_metrics.h"
#include "shared/telemetry/log.h"
#include "shared/telemetry/outage.h"
#include "worker/observer.h"

namespace acl {

class LogObserver : public WorkerObserver {
 public:
  explicit LogObserver(Metrics& metrics, const Clock& clock = RealClock());

  // For WorkerShell's on_restore.
  void OnRestore(double restore_ms, std::int64_t events_replayed);

  void OnSession(const WorkerSessionId& session) override;
  void OnSessionLost(const std::string& why, int subjects_held) override;
  void OnLost(const SubjectId& subject, Token token, const char* why) override;
  void OnUnavailable(const char* what, const Error& error) override;
  void OnReached(const char* what) override;
  void OnClaim(const Claimed& claimed, const Restored& restored, const SubjectKind& kind) override;
  void OnClaimMissed(int dropped, int quarantined) override;
  void OnStep(const StepCall& call) override;
  void OnStepDone(const StepEnd& end, const StepResult& result) override;
  void OnOutcome(const CommitItem& item, const CommitOutcome& outcome) override;
  void OnBatch(std::size_t items, SteadyTime::duration took) override;
  void OnUnknownCommit(std::size_t items) override;
  void OnFoundRecorded(std::size_t completions) override;
  void OnRefused(const SubjectId& subject, Token token, const char* doing) override;
  void OnQuarantine(const SubjectId& subject, Token token, const std::string& reason, const std::string& detail) override;
  void OnReleased(const SubjectId& subject, Token token, const std::string& why) override;
  void OnDispatch(const ClaimedDispatch& dispatch) override;
  void OnDispatchDelivered(const ClaimedDispatch& dispatch, const PostAnswer& answer) override;
  void OnDispatchRefused(const ClaimedDispatch& dispatch, const Error& error) override;
  void OnShortage(const std::string& of) override;
  void OnShortageOver() override;
  void OnDrain() override;

 private:
  static const Clock& RealClock();
  void CountEnd(const ListingChange& listing);  // of a run

  Metrics& metrics_;
  KernelMetrics all_;
  Counter completed_, failed_, rolled_back_, cancelled_;  // runs
  Logger log_;
  // Large contents may lie in an object store, which goes away by itself.
  OutageLog database_, contents_;
};

std::string_view StepOutcomeName(StepResult::Outcome outcome);

}  // namespace acl
