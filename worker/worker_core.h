#pragma once
// The worker's whole behaviour as one machine without I/O: session, claims, group commits, heartbeats, drain
// (docs/architecture.md#protocols). A shell (worker/app in production, tests/sim in simulation) carries out the commands it hands out and
// reports back; both run this code. Lives on one thread. Every method takes `now` of the process's own steady clock.
//
//   kNoSession --OpenSession--> kLive --(heartbeat refused)--> kNoSession      (what is finished is offered once, the fence decides; the
//   rest is dropped)
//       kLive --Drain--> kDraining --(all released, session closed)--> kFinished
//
// What it never does: start an effect after request_sent_at + ttl - margin of its last granted heartbeat; start an effect whose attempt
// row is not committed; send a batch again before its unknown outcome was read back; touch a subject it was fenced from.

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "shared/base/random.h"
#include "shared/kernel/kind.h"
#include "shared/kernel/step_runner.h"
#include "shared/kernel/store.h"
#include "worker/dispatch_runs.h"
#include "worker/held_subjects.h"
#include "worker/helper_threads.h"
#include "worker/observer.h"
#include "worker/poll_pace.h"
#include "worker/sticky_cache.h"
#include "worker/trust.h"

namespace acl {

struct WorkerConfig {
  SessionRequest session;            // name, queues, ttl ...
  milliseconds trust_margin{1'000};  // stops starting effects this long before the lease could be taken
  milliseconds heartbeat_every{2'500};
  int run_slots = 64;  // runs held at once
  int step_slots = 8;  // steps running at once
  int claim_batch = 32;
  int largest_claim = 256;   // claims double up to this while they find all that they ask for: after a takeover much is waiting
  int granted_unheard = 64;  // runs that may be granted unasked and not heard of yet (create and grant); 0: none ever
  int commit_batch = 128;    // items of one group commit
  int commits_at_once = 2;   // group commits on their way; what one decides on the other writes
  std::size_t sticky_bytes = 16 * 1024 * 1024;  // of states of runs that were released; 0: none is kept
  std::size_t offload_bytes = 256 * 1024;       // a payload larger than this goes to the content store, before its item is committed
  milliseconds poll_min{20}, poll_max{1'000};   // idle polling backs off from min to max
  milliseconds retry_min{50}, retry_max{2'000};
  milliseconds reconcile_every{60'000};
  milliseconds heard_within{2'000};  // a grant that was not heard of for so long after a doorbell's line was lost never will be
  milliseconds shortage_min{3'000}, shortage_max{60'000};  // a worker that is short of something begins nothing for so long
  milliseconds runner_grace{5'000};                        // a runner this long past its deadline is dropped
  milliseconds drain_deadline{25'000};
  milliseconds drain_effects_deadline{60'000};  // of running steps that may not be repeated, if longer
  SubjectLimits subject;
};

struct LoadedSubject {
  Claimed claimed;
  Result<Restored> restored;
  // Set if a newer program's events end the journal: the event schema a worker must know to go on with it.
  std::optional<int> required_version;
};

// A claim's whole answer: what was granted, and the work that was found but not got.
struct ClaimReport {
  std::vector<LoadedSubject> loaded;
  std::vector<Claimed> unread;  // instead of `loaded`: restored when the claims that follow are answered
  std::vector<ClaimedDispatch> dispatches;
  SteadyTime sent;      // when it was asked for: what was granted is not older than that
  int dropped = 0;      // held or closed by then
  int quarantined = 0;  // they killed too many workers alone: this claim quarantined them
};

// ---- commands, in the order they were decided
namespace command {
struct OpenSession {
  SessionRequest request;
};
struct Heartbeat {
  WorkerSessionId session;
  milliseconds ttl;
};
struct Claim {
  ClaimRequest request;
  std::shared_ptr<StickyCache> cache;
  bool room_for_more = false;  // than it asks for: if it finds as much, the next claim comes before what this one was granted is restored
};
// What claims were granted and did not restore. Carried out once: it is handed on, not copied.
struct Restore {
  WorkerSessionId session;
  std::shared_ptr<std::vector<Claimed>> granted;
  std::shared_ptr<StickyCache> cache;
};
using Items = std::shared_ptr<const std::vector<CommitItem>>;  // shared with the core, which keeps them until their outcome is known
// Runs that were granted to this session as they were made, says a hint.
struct ReadGrants {
  WorkerSessionId session;
  std::vector<SubjectId> subjects;
};
struct Commit {
  std::int64_t batch = 0;
  Items items;
};
struct ReadBack {
  std::int64_t batch = 0;
  Items items;
};
struct ReadInbox {
  SubjectId subject;
  Token token;
};
struct RunStep {
  StepCall call;
  StopToken stop;
};
struct TakeSnapshot {
  SubjectId subject;
  Token token;
  LeasedSubject::SnapshotJob job;
};
// Payloads too large for a row, to be stored before the item that names them is committed.
struct StorePayloads {
  SubjectId subject;
  Token token;
  std::vector<std::pair<Hash256, std::string>> contents;
};
struct Quarantine {
  SubjectId subject;
  WorkerSessionId session;
  Token token;
  std::string reason, detail;
};
struct ReleaseLease {
  SubjectId subject;
  WorkerSessionId session;
  Token token;
  // Instead of just freeing the lease: a release that says which version the next holder needs.
  std::optional<CommitItem> release;
};
struct Reconcile {
  WorkerSessionId session;
  milliseconds older_than;
};
struct ReconcileDispatches {
  WorkerSessionId session;
  milliseconds older_than;
};
struct FinishDispatch {
  DispatchReport report;
};
// Dispatches of the subject that are wanted back and that nobody took: ended now instead of by the reaper.
struct ReapDispatches {
  SubjectId subject;
};
struct CloseSession {
  WorkerSessionId session;
};
}  // namespace command
using Command = std::variant<command::OpenSession, command::Heartbeat, command::Claim, command::Restore, command::ReadGrants,
                             command::Commit, command::ReadBack, command::ReadInbox, command::RunStep, command::TakeSnapshot,
                             command::StorePayloads, command::Quarantine, command::ReleaseLease, command::Reconcile,
                             command::ReconcileDispatches, command::FinishDispatch, command::ReapDispatches, command::CloseSession>;

// Counted for metrics and for the simulator's report.
struct WorkerCounts {
  std::int64_t claimed = 0, takeovers = 0, commits = 0, items_committed = 0, fenced = 0, busy = 0, moved = 0, rejected = 0;
  std::int64_t unknown_commits = 0, unknown_landed = 0, steps_started = 0, steps_finished = 0, steps_not_started = 0, watchdog_drops = 0;
  std::int64_t sessions_lost = 0, subjects_lost = 0, quarantined = 0, released = 0, snapshots = 0, claim_failures = 0, events_replayed = 0;
  std::int64_t claimed_sticky = 0;                          // of `claimed`: not restored, the state was still here
  std::int64_t claims_dropped = 0, claims_quarantined = 0;  // found by a claim and not got
};

class WorkerCore {
 public:
  // `observer` and `helpers` may be null. All outlive the core.
  WorkerCore(WorkerConfig config, const KindRegistry& kinds, Random& random, WorkerObserver* observer = nullptr,
             HelperThreads* helpers = nullptr);

  void Start(SteadyTime now);
  // Finish what runs, start nothing new, give everything back, close the session.
  void Drain(SteadyTime now);

  // -- answers to commands. `sent` is when the request was sent: the lease counts from there.
  void OnSessionOpened(SteadyTime now, SteadyTime sent, Result<SessionGrant> answer);
  void OnHeartbeat(SteadyTime now, SteadyTime sent, const WorkerSessionId& session, Result<HeartbeatAnswer> answer);
  void OnClaimed(SteadyTime now, const WorkerSessionId& session, Result<ClaimReport> answer);
  void OnRestored(const WorkerSessionId& session, std::vector<LoadedSubject> loaded);
  // Drops everything at once, as if it had never been held, and opens a new session: something could not be done and nobody knows what was
  // left half done. The journals say what is true.
  void LoseAll(SteadyTime now, std::string_view why);
  void OnNotRestored(SteadyTime now, const command::Restore& restore, const Status& why);  // asked for again
  void OnGrantsRead(SteadyTime now, const WorkerSessionId& session, Result<std::vector<LoadedSubject>> answer);
  void OnCommitted(SteadyTime now, std::int64_t batch, Result<std::vector<CommitOutcome>> answer);
  void OnReadBack(SteadyTime now, std::int64_t batch, Result<std::vector<CommitOutcome>> answer);
  void OnInbox(SteadyTime now, const SubjectId& subject, Token token, Result<KernelStore::InboxView> answer);
  void OnStepDone(SteadyTime now, const SubjectId& subject, Token token, const std::string& step_id, int attempt_id, StepResult result);
  void OnSnapshot(SteadyTime now, const SubjectId& subject, Token token, Result<Snapshot> answer);
  void OnOffloaded(SteadyTime now, const SubjectId& subject, Token token, const Status& answer);
  void OnReconciled(SteadyTime now, const WorkerSessionId& session, Result<std::vector<std::pair<SubjectId, Token>>> held);
  void OnDispatchesHeld(SteadyTime now, const WorkerSessionId& session, const Result<std::vector<HeldDispatch>>& held);
  void OnDispatchDelivered(SteadyTime now, const DispatchId& dispatch, Token token, const Result<PostAnswer>& answer);
  void OnDispatchesReaped(SteadyTime now, const SubjectId& subject, const Result<ReapedDispatches>& answer);
  void OnSessionClosed(SteadyTime now);

  // -- hints (doorbell): may be lost, repeated, wrong
  void OnWorkHint(SteadyTime now);
  // Whether every coordinator's doorbell is connected: then looking for work is rarer.
  void OnDoorbell(SteadyTime now, bool connected);
  void OnSubjectHint(SteadyTime now, const SubjectId& subject);
  void OnGrantHint(SteadyTime now, const WorkerSessionId& session, const std::vector<SubjectId>& subjects);

  // Whatever is due by the clock. Call at NextWake at the latest.
  void OnTime(SteadyTime now);
  SteadyTime NextWake(SteadyTime now) const;

  // Decides what to do now and returns it. Call after every report.
  std::vector<Command> TakeCommands(SteadyTime now);

  bool finished() const { return state_ == State::kFinished; }
  bool live() const { return state_ == State::kLive; }
  bool waits_a_round() const { return waits_a_round_; }  // the next round follows at once
  const WorkerCounts& counts() const { return counts_; }
  int held() const { return int(subjects_.size() + unrestored_.size()); }
  const DispatchCounts& dispatch_counts() const { return dispatches_.counts(); }
  int running_steps() const { return int(running_.size()) + dispatches_.busy(); }
  bool is_short() const { return short_; }  // of disk, descriptors, processes or memory
  // Slots of steps that were dropped and whose runner has not come back: their threads are not to be had.
  int lost_slots() const { return int(lost_.size()) + dispatches_.lost(); }
  const WorkerSessionId& session() const { return session_; }

 private:
  // For what is finished when a session is lost, and again for the database to answer.
  static constexpr milliseconds kLossGrace{1'000};
  // After so many failures in a row for want of memory, a run that is to be cancelled is quarantined: nobody would hear of it otherwise.
  static constexpr int kMemoryTriesOfACancel = 3;
  static constexpr int kMemoryTriesAlone = 8;       // of a run that cannot even be read, beside no other one
  static constexpr milliseconds kStopGrace{2'000};  // what was stopped has so long to say how it ended

  enum class State { kNew, kNoSession, kOpening, kLive, kDraining, kClosing, kFinished };
  struct RunningStep {
    Token token;
    int attempt_id = 0;
    StopToken stop;
    std::optional<SteadyTime> drop_at;  // deadline + grace
    EffectClass effect = EffectClass::kNonIdempotent;
    TraceContext trace;
    milliseconds timeout{0};
    bool drained = false;  // stopped because its worker ends
  };
  using StepKey = std::pair<SubjectId, std::string>;
  struct Batch {
    command::Items items;
    bool unknown = false;                // to be read back
    bool busy = false;                   // others hold what is in it: it waits beside those on their way, and holds up none
    std::optional<SteadyTime> retry_at;  // waits after an error
    std::optional<SteadyTime> first_sent;
    bool sent = false;
    int starts = 0;  // steps that begin when it has landed
    bool waits_unsent() const { return busy && !sent; }
  };

  // A lease that is held, of a subject whose state is not here yet.
  struct Unrestored {
    Token token;
    bool hinted = false;  // an input may have come since it was read
  };

  // An item whose large payloads are on their way to the content store. Its subject waits for it; nothing else does.
  struct Offloading {
    CommitItem item;
    int starts = 0;  // steps that begin when it has landed
    bool sent = false, stored = false;
    std::optional<SteadyTime> retry_at;
    int failures = 0;
  };

  void LoseSession(SteadyTime now, const std::string& why);
  void FinishLoss(SteadyTime now);
  void Forget(const SubjectId& subject, bool stop_steps);
  // Drop, and say so: the lease was ours and is not any more, or may not be.
  void LeaseLost(const SubjectId& subject, const char* why);
  void AdoptGrant(LoadedSubject& loaded);
  void ReleaseGrant(const Claimed& claimed, const std::string& why, std::optional<CommitItem> release = {});
  void GiveUp(const SubjectId& subject, WallTime now);
  // How often in a row the run did not fit into this worker's memory, this time included.
  int CountStarved(const SubjectId& subject);
  void QuarantineStarved(const SubjectId& subject, Token token, const std::string& why);
  void QuarantineIfDamaged(const LeasedSubject& run);
  void QuarantineSubject(const SubjectId& subject, const std::string& reason, const std::string& detail);
  void DispatchStarts(SteadyTime now, LeasedSubject& run);
  void TellRecorded(LeasedSubject& run);
  void FormBatch(SteadyTime now);
  // Calls work(0) ... work(count - 1), on the helper threads as well if there are any and the count is worth waking them.
  void SideBySide(std::size_t count, const std::function<void(std::size_t)>& work);
  // What these subjects have to say, in their order.
  std::vector<Result<std::optional<CommitItem>>> BuildItems(const std::vector<LeasedSubject*>& runs, const BuildContext& context);
  // The claim that is out may have granted what a reconciliation was just told of.
  bool ClaimMayHave(SteadyTime now) const;
  int OnTheirWay() const;  // batches, but for those that others hold up
  // Whether another group commit may go besides those on their way: only if it is not much smaller.
  bool WorthABatch(const BuildContext& context) const;
  // Whether it waits until the next round for steps that begin in this one.
  bool WorthARound(const BuildContext& context) const;
  void SendBatches(SteadyTime now);
  // True if it has large payloads: it goes into a batch when they are stored.
  bool Offload(CommitItem& item, int starts);
  void SendOffloads(SteadyTime now);
  void ApplyOutcomes(SteadyTime now, std::int64_t id, const std::vector<CommitOutcome>& outcomes);
  void WantInbox(const LeasedSubject& run);
  void DropLateSteps(SteadyTime now);
  int FreeSlots() const { return CannotBegin() ? 0 : config_.step_slots - int(running_.size()) - dispatches_.busy() - lost_slots(); }
  // Nothing can be begun here now: nothing is claimed, and what is held is released to be claimed by others.
  bool CannotBegin() const { return shortage_until_.has_value() || lost_slots() >= config_.step_slots; }
  void NoteShortage(SteadyTime now, const std::string& of);
  void EndShortage(SteadyTime now);
  // Dispatches that could be taken now.
  int DispatchRoom() const { return std::max(0, std::min(config_.claim_batch, FreeSlots())); }
  int FreeRuns() const { return CannotBegin() ? 0 : std::max(0, config_.run_slots - int(subjects_.size() + unrestored_.size())); }
  int RunRoom() const { return std::min(claim_size_, FreeRuns()); }
  int GrantRoom(SteadyTime now) const;
  void TellRoom(SteadyTime now);
  void ReadGrants();
  void RestoreNext(SteadyTime now);
  void ReadOneByOne(std::vector<Claimed> granted, const std::string& why);
  void ForgetUnrestored();
  void BeginDispatches(SteadyTime now);
  void Claim(SteadyTime now);
  BuildContext ContextFor(SteadyTime now) const;
  bool Due(SteadyTime now, const std::optional<SteadyTime>& at) const { return at && *at <= now; }
  void StopDrained(SteadyTime now);
  SteadyTime Backoff(SteadyTime now, int& failures);

  const WorkerConfig config_;
  const KindRegistry& kinds_;
  Random& random_;
  WorkerObserver silent_;
  WorkerObserver& observer_;
  HelperThreads* const helpers_;

  // The session.
  State state_ = State::kNew;
  WorkerSessionId session_;
  Trust trust_;
  std::optional<SteadyTime> open_at_, heartbeat_at_;
  bool heartbeat_in_flight_ = false;
  int open_failures_ = 0;
  bool losing_ = false;           // the session is dead; finished work is offered once more
  bool ends_after_loss_ = false;  // and the worker ends then
  // A drain: when leases are released whatever runs, how long running steps that may not be repeated have, and when the last dispatch ended
  // (its result has a moment to be delivered).
  std::optional<SteadyTime> drain_until_;
  SteadyTime effects_until_{}, dispatch_ended_{};

  // Claims.
  PollPace pace_;
  bool claim_in_flight_ = false;
  bool notified_in_flight_ = false;  // a hint came while a claim was in flight: the worker claims again at once
  int claim_size_;                   // the most rows that the next claim asks for
  int claim_asked_ = 0;              // the rows that the claim in flight asked for
  SteadyTime claim_sent_{};          // when the last claim was sent
  bool all_claimed_ = false;  // the last claim found less than it asked for, so no waiting row is passed by if a run is granted unasked
  int announced_room_ = 0;    // the runs that coordinators were last told this worker may be granted unasked
  std::set<SubjectId> grants_heard_, grants_read_;  // granted unasked: still to be read; being read
  const std::shared_ptr<StickyCache> sticky_;       // read by claims, on their threads

  // Leases whose state is not in memory yet.
  std::map<SubjectId, Unrestored> unrestored_;  // all of them
  std::deque<std::vector<Claimed>> unread_;     // those whose restore has not begun, one entry a claim
  bool restore_in_flight_ = false;
  std::optional<SteadyTime> restore_retry_at_;
  int restore_failures_ = 0;
  std::map<SubjectId, int> starved_;  // runs that did not fit into memory: how often since a step of theirs completed here

  // Reconciliation with the table of leases.
  std::optional<SteadyTime> reconcile_at_;
  SteadyTime reconcile_sent_{};
  milliseconds asked_unheard_for_{0};  // the age of unheard grants that the reconciliation in flight asked for
  milliseconds unheard_for_{0};        // the age that the next one asks for, if shorter than the lease's life

  // Leased subjects, their inboxes and steps.
  HeldSubjects subjects_;
  std::set<SubjectId> inbox_in_flight_;
  std::optional<SteadyTime> inbox_retry_at_;
  std::map<StepKey, RunningStep> running_;
  std::set<std::tuple<SubjectId, std::string, Token, int>> lost_;  // dropped steps whose runner has not come back; the last is the attempt
  SteadyTime look_at_steps_ = SteadyTime::max();                   // no running step is past its deadline before this time
  DispatchRuns dispatches_;

  // A shortage of disk, descriptors, processes or memory.
  bool short_ = false;                        // as the observer was last told
  std::optional<SteadyTime> shortage_until_;  // no step begins before this time
  SteadyTime shortage_over_{};                // the shortage is over at this time unless it is met again
  milliseconds shortage_pause_{0};

  // Group commits.
  std::map<std::int64_t, Batch> batches_;  // in flight, or waiting to be sent again; no subject is in two
  std::map<SubjectId, Offloading> offloading_;
  std::int64_t batch_id_ = 0;
  int commit_failures_ = 0;
  bool waits_a_round_ = false;  // the next batch waits one round for steps that have just begun
  SubjectId next_in_turn_;      // the subject with which the next batch begins, so that every subject gets its turn

  std::vector<Command> commands_;
  WorkerCounts counts_;
};

}  // namespace acl
