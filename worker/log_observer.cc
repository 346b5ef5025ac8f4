#include "worker/log_observer.h"

#include "shared/kernel/ending.h"
#include "shared/kernel/suspicion.h"

namespace acl {

namespace {
// The fields of a line that nobody writes are not worked out, where there is one a step.
bool Tells() { return GetLogLevel() <= LogLevel::kInfo; }

bool IsOfContents(std::string_view what) { return what == call::kReadClaimed || what == call::kStoreLarge; }
}  // namespace

LogObserver::LogObserver(Metrics& metrics, const Clock& clock)
    : metrics_(metrics),
      all_(metrics),
      completed_(metrics.counter(names::kRunsEnded, {{"ending", "completed"}})),
      failed_(metrics.counter(names::kRunsEnded, {{"ending", "failed"}})),
      rolled_back_(metrics.counter(names::kRunsEnded, {{"ending", "rolled_back"}})),
      cancelled_(metrics.counter(names::kRunsEnded, {{"ending", "cancelled"}})),
      log_("worker"),
      database_(log_, clock, {"cannot reach the database, trying again", "the database is reached again"}),
      contents_(log_, clock, {"large contents cannot be read or stored, trying again", "large contents are read and stored again"}) {}

const Clock& LogObserver::RealClock() {
  static const SystemClock clock{};
  return clock;
}

std::string_view StepOutcomeName(StepResult::Outcome outcome) {
  switch (outcome) {
    case StepResult::Outcome::kSucceeded: return "succeeded";
    case StepResult::Outcome::kFailed: return "failed";
    case StepResult::Outcome::kTimedOut: return "timed_out";
    case StepResult::Outcome::kCancelled: return "cancelled";
    case StepResult::Outcome::kNotStarted: return "not_started";
    case StepResult::Outcome::kUnknown: return "unknown";
  }
  return "unknown";
}

void LogObserver::OnRestore(double restore_ms, std::int64_t events_replayed) {
  all_.restore_time_ms.Observe(restore_ms);
  all_.events_replayed.Observe(double(events_replayed));
}

void LogObserver::OnSession(const WorkerSessionId& session) {
  database_.Worked();
  log_.Info("session opened", {{"session", session}});
}

void LogObserver::OnSessionLost(const std::string& why, int subjects_held) {
  log_.Warn("session lost: what is finished is offered once, the rest is dropped, others may take it over",
            {{"why", why}, {"subjects", subjects_held}});
}

void LogObserver::OnLost(const SubjectId& subject, Token token, const char* why) {
  all_.lease_losses.Add();
  log_.Warn("lease lost", {{"run_id", subject}, {"token", token}, {"why", why}});
}

void LogObserver::OnUnavailable(const char* what, const Error& error) {
  (IsOfContents(what) ? contents_ : database_).Failed({{"call", what}, {"error", error}});
}

void LogObserver::OnReached(const char* what) { (IsOfContents(what) ? contents_ : database_).Worked(); }

void LogObserver::OnClaim(const Claimed& claimed, const Restored& restored, const SubjectKind& kind) {
  all_.claims.Add();
  if (claimed.sticky) all_.sticky_claims.Add();
  all_.journal_since_snapshot_bytes.Observe(double(restored.delta_bytes_since_snapshot));
  if (claimed.snapshot) {
    all_.time_since_snapshot_sec.Observe(std::chrono::duration<double>(claimed.db_now - claimed.snapshot->created_at).count());
  }
  if (IsSuspect(claimed.takeovers_without_progress)) {
    log_.Warn("a suspect: workers in a row died holding it, and no step of it completed",
              {{"run_id", claimed.subject}, {"deaths", claimed.takeovers_without_progress}, {"alone", claimed.died_alone}});
  }
  if (!Tells()) return;
  log_.Info(claimed.takeovers_without_progress > 0 ? "claimed again after a takeover without progress" : "claimed",
            {{"run_id", claimed.subject},
             {"token", claimed.token},
             {"head", claimed.head.seq},
             {"replayed", claimed.sticky ? 0 : restored.replayed},
             {"open_attempts", claimed.attempts.size()},
             {"inbox", claimed.inbox.size()},
             {"takeovers_without_progress", claimed.takeovers_without_progress},
             {"trace_id", kind.Trace(restored.state).parent.trace_id}});
}

void LogObserver::OnClaimMissed(int dropped, int quarantined) {
  all_.lease_acquisition_failures.Add(dropped + quarantined);
  if (quarantined > 0) {
    metrics_.counter(names::kQuarantines, {{"reason", kKillsItsWorker}}).Add(quarantined);
    log_.Error(
        "quarantined: one worker after another died of it; `airun workflow quarantine list` says which, nothing of it runs "
        "until a person releases it",
        {{"runs", quarantined}, {"reason", kKillsItsWorker}});
  }
  if (dropped > 0) log_.Debug("ready rows of held or closed runs dropped", {{"rows", dropped}});
}

void LogObserver::OnStep(const StepCall& call) {
  if (!Tells()) return;
  log_.Info("step started", {{"run_id", call.subject},
                             {"step", call.step.step_id},
                             {"attempt", call.attempt_id},
                             {"token", call.token},
                             {"effect", EffectName(call.step.effect)},
                             {"trace_id", call.trace.trace_id}});
}

void LogObserver::OnStepDone(const StepEnd& end, const StepResult& result) {
  switch (result.outcome) {
    case StepResult::Outcome::kSucceeded: all_.steps_succeeded.Add(); break;
    case StepResult::Outcome::kFailed: all_.steps_failed.Add(); break;
    case StepResult::Outcome::kTimedOut: all_.steps_timed_out.Add(); break;
    case StepResult::Outcome::kCancelled: all_.steps_cancelled.Add(); break;
    case StepResult::Outcome::kNotStarted: all_.steps_not_started.Add(); break;
    case StepResult::Outcome::kUnknown: all_.steps_unknown.Add(); break;
  }
  if (!Tells()) return;
  // Not the error's text, which quotes what the step was given and what it was answered: the journal has it, with whoever may read that.
  log_.Info("step ended", {{"run_id", end.subject},
                           {"step", end.step_id},
                           {"attempt", end.attempt_id},
                           {"token", end.token},
                           {"outcome", StepOutcomeName(result.outcome)},
                           {"duration_ms", result.duration.count()},
                           {"trace_id", end.trace_id}});
}

void LogObserver::OnOutcome(const CommitItem& item, const CommitOutcome& outcome) {
  switch (outcome.kind) {
    case CommitOutcome::Kind::kCommitted:
      all_.committed.Add();
      if (item.listing && item.listing->completed_at) CountEnd(*item.listing);
      break;
    case CommitOutcome::Kind::kFenced:
      all_.fenced.Add();
      all_.fence_refusals.Add();
      log_.Warn("commit refused: the lease is somebody else's", {{"run_id", item.subject}, {"token", item.token}});
      break;
    case CommitOutcome::Kind::kBusy: all_.busy.Add(); break;
    case CommitOutcome::Kind::kMoved: all_.moved.Add(); break;
    case CommitOutcome::Kind::kRejected:
      all_.rejected.Add();
      // The database's own words show the row that it refused; they are kept with the quarantine that follows.
      log_.Error("commit rejected", {{"run_id", item.subject}, {"token", item.token}});
      break;
  }
}

void LogObserver::CountEnd(const ListingChange& listing) {
  const std::string_view ending = EndingOf(listing);
  (ending == "completed" ? completed_ : ending == "rolled_back" ? rolled_back_ : ending == "cancelled" ? cancelled_ : failed_).Add();
}

void LogObserver::OnBatch(std::size_t items, SteadyTime::duration took) {
  database_.Worked();
  all_.commit_batch_size.Observe(double(items));
  all_.commit_seconds.Observe(std::chrono::duration<double>(took).count());
}

void LogObserver::OnFoundRecorded(std::size_t completions) { all_.idempotency_hits.Add(double(completions)); }

void LogObserver::OnRefused(const SubjectId& subject, Token token, const char* doing) {
  all_.fence_refusals.Add();
  log_.Warn("refused: the lease is somebody else's", {{"run_id", subject}, {"token", token}, {"doing", doing}});
}

void LogObserver::OnUnknownCommit(std::size_t items) {
  all_.unknown.Add(double(items));
  log_.Warn("the answer of a commit was lost: reading back, nothing runs again", {{"items", items}});
}

void LogObserver::OnQuarantine(const SubjectId& subject, Token token, const std::string& reason, const std::string&) {
  metrics_.counter(names::kQuarantines, {{"reason", reason}}).Add();
  log_.Error("quarantined: nothing of it runs until a person releases it; `airun workflow quarantine inspect` says more",
             {{"run_id", subject}, {"token", token}, {"reason", reason}});
}

void LogObserver::OnReleased(const SubjectId& subject, Token token, const std::string& why) {
  all_.lease_losses.Add();
  log_.Warn("lease released", {{"run_id", subject}, {"token", token}, {"why", why}});
}

void LogObserver::OnDispatch(const ClaimedDispatch& dispatch) {
  metrics_.counter(names::kDispatches, {{"outcome", "taken"}}).Add();
  log_.Info("took a dispatch", {{"run_id", dispatch.subject},
                                {"step", dispatch.row.step_id},
                                {"attempt", dispatch.row.attempt_id},
                                {"queue", dispatch.row.queue},
                                {"token", dispatch.token}});
}

void LogObserver::OnDispatchDelivered(const ClaimedDispatch&, const PostAnswer&) {
  metrics_.counter(names::kDispatches, {{"outcome", "delivered"}}).Add();
}

void LogObserver::OnDispatchRefused(const ClaimedDispatch& dispatch, const Error& error) {
  metrics_.counter(names::kDispatches, {{"outcome", "refused"}}).Add();
  log_.Warn("the result of a dispatch was refused: it ended otherwise meanwhile", {{"run_id", dispatch.subject},
                                                                                   {"step", dispatch.row.step_id},
                                                                                   {"attempt", dispatch.row.attempt_id},
                                                                                   {"token", dispatch.token},
                                                                                   {"error", error}});
}

void LogObserver::OnShortage(const std::string& of) {
  log_.Warn("short of something: steps are released without counting as attempts, and nothing is claimed for a while", {{"of", of}});
}

void LogObserver::OnShortageOver() { log_.Info("not short of anything any more"); }

void LogObserver::OnDrain() { log_.Info("draining: what runs is finished, nothing new starts"); }

}  // namespace acl
