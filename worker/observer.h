#pragma once
// What a worker tells the people who run it: told by the core as it happens, turned into log lines and metrics (log_observer.h).
// Called on the deciding thread; must not block.

#include "shared/kernel/step_runner.h"
#include "shared/kernel/store.h"

namespace acl {

class WorkerObserver {
 public:
  virtual ~WorkerObserver() = default;
  virtual void OnSession(const SessionId&) {}
  virtual void OnSessionLost(const std::string& /*why*/, int /*subjects_dropped*/) {}
  virtual void OnUnavailable(const char* /*what*/, const Error&) {}
  virtual void OnClaim(const Claimed&, const Restored&) {}
  virtual void OnStep(const StepCall&) {}
  virtual void OnStepDone(const SubjectId&, Token, const std::string& /*step_id*/, int /*attempt_id*/, const StepResult&) {}
  virtual void OnOutcome(const CommitItem&, const CommitOutcome&) {}
  virtual void OnBatch(std::size_t /*items*/) {}
  virtual void OnUnknownCommit(std::size_t /*items*/) {}
  virtual void OnQuarantine(const SubjectId&, Token, const std::string& /*reason*/, const std::string& /*detail*/) {}
  virtual void OnGiveBack(const SubjectId&, Token, const char* /*why*/) {}
  virtual void OnDrain() {}
};

}  // namespace acl
