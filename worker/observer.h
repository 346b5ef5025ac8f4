#pragma once
// What a worker tells the people who run it: told by the core as it happens, turned into log lines and metrics (log_observer.h).
// Called on the deciding thread; must not block.

#include "shared/kernel/step_runner.h"
#include "shared/kernel/store.h"
#include "shared/queue/step_message.h"

namespace acl {

// The calls that are told of by OnUnavailable and OnReached, as a log line names them.
namespace call {
inline constexpr const char *kOpenSession = "open a session", *kHeartbeat = "heartbeat", *kClaim = "claim", *kCommit = "commit",
                            *kReadClaimed = "read what was claimed", *kReadGranted = "read what was granted",
                            *kStoreLarge = "store a large result";
}  // namespace call

// One attempt, for a log line.
struct StepEnd {
  const SubjectId& subject;
  Token token;
  const std::string& step_id;
  int attempt_id = 0;
  const std::string& trace_id;
};

class WorkerObserver {
 public:
  virtual ~WorkerObserver() = default;
  virtual void OnSession(const WorkerSessionId&) {}
  // What it held is still offered once; every lease that is gone after that is told by OnLost.
  virtual void OnSessionLost(const std::string& /*why*/, int /*subjects_held*/) {}
  // A lease that was held and is lost: told once a lease.
  virtual void OnLost(const SubjectId&, Token, const char* /*why*/) {}
  // A call to the database, or to where large contents lie, did not go through; it is made again.
  virtual void OnUnavailable(const char* /*what*/, const Error&) {}
  // Such a call went through: told of each that may fail that way and is not told of otherwise (OnSession, OnBatch).
  virtual void OnReached(const char* /*what*/) {}
  virtual void OnClaim(const Claimed&, const Restored&, const SubjectKind&) {}
  // A claim found work and did not get it.
  virtual void OnClaimMissed(int /*dropped*/, int /*quarantined*/) {}
  virtual void OnStep(const StepCall&) {}
  virtual void OnStepDone(const StepEnd&, const StepResult&) {}
  // The attempt's end is in the journal, or nothing is to be said of it there; the state is the one after it.
  virtual void OnRecorded(const StepEnd&, const SubjectKind&, const Document& /*state*/) {}
  virtual void OnOutcome(const CommitItem&, const CommitOutcome&) {}
  // Released by one batch, and ready again: the messages that name the rows that were left. Not `all`: of some it is not known.
  virtual void OnReady(const std::vector<StepMessage>& /*rows*/, bool /*all*/) {}
  // Released or closed by this item: nothing of it is told after this.
  virtual void OnLetGo(const CommitItem&) {}
  // A batch is settled; `took` counts from when it was first sent.
  virtual void OnBatch(std::size_t /*items*/, SteadyTime::duration /*took*/) {}
  virtual void OnUnknownCommit(std::size_t /*items*/) {}
  // Completions of a commit of unknown outcome that were found recorded: not run, not sent again.
  virtual void OnFoundRecorded(std::size_t /*completions*/) {}
  // The fence refused a call that is no commit.
  virtual void OnRefused(const SubjectId&, Token, const char* /*doing*/) {}
  virtual void OnQuarantine(const SubjectId&, Token, const std::string& /*reason*/, const std::string& /*detail*/) {}
  virtual void OnReleased(const SubjectId&, Token, const std::string& /*why*/) {}
  // A dispatch was granted to this worker.
  virtual void OnDispatch(const ClaimedDispatch&) {}
  // Its result is an inbox row of its subject now: whom to wake.
  virtual void OnDispatchDelivered(const ClaimedDispatch&, const PostAnswer&) {}
  // Its result came too late: the dispatch had ended otherwise.
  virtual void OnDispatchRefused(const ClaimedDispatch&, const Error&) {}
  // So many runs may be granted to this session as they are made and not be heard of yet; told when it changes.
  virtual void OnRoom(const WorkerSessionId&, int /*room*/) {}
  // Steps are not begun, because this machine has not enough of something: told at the first, and when it has been over for a while.
  virtual void OnShortage(const std::string& /*of*/) {}
  virtual void OnShortageOver() {}
  virtual void OnDrain() {}
};

}  // namespace acl
