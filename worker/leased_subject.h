#pragma once
// One leased subject in a worker's memory: the only place where its inputs become events (docs/architecture.md#commit).
//
//   inputs --> BuildItem (decide, evolve, fold, seal) --> [committer] --> OnOutcome --> attempts that may now run --> inputs ...
//
// Pure bookkeeping: no clock, no I/O, no threads. At most one item of a subject is in flight; inputs that arrive meanwhile wait for the
// next item. No attempt of an effect runs before its attempt row is committed. The state is a persistent Document, so the old value stays
// available: if an input arrives beside an item that releases the lease, the item fails and is decided again on that value.

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shared/kernel/fast_path.h"
#include "shared/kernel/item_builder.h"
#include "shared/kernel/kind.h"
#include "shared/kernel/roll.h"
#include "shared/kernel/step_runner.h"
#include "shared/kernel/store.h"
#include "shared/queue/step_message.h"
#include "worker/sticky_cache.h"

namespace acl {

// After so many items in a row a busy subject gives way (docs/architecture.md#commit).
struct SubjectLimits {
  milliseconds hold_wait{1'000};                 // a wait shorter than this keeps the lease
  int fairness_items = 256;                      // items in a row before the lease is released while others wait
  std::int64_t segment_events = kSegmentEvents;  // of a journal; then the next one begins (roll.h)
  bool go_on = true;                             // false: released after each step that ended, so that the next one goes through the queue
};

// What the worker asks of a subject when it builds the next item.
struct BuildContext {
  WallTime now;               // database time + own steady clock
  int free_slots = 1;         // steps this process may still start
  bool start_allowed = true;  // false while the worker does not trust its lease
  bool draining = false;      // nothing new starts; released once nothing runs
  bool others_wait = false;   // the worker is full: what is queued may wait for it, the fairness bound applies
  bool release_now = false;   // release now, whatever runs (drain deadline) ...
  bool effects_wait = false;  // ... but for a subject of which something runs that may not be repeated
};

class LeasedSubject {
 public:
  LeasedSubject(Claimed claimed, Restored restored, const SubjectKind& kind, const WorkerSessionId& session, SubjectLimits limits);

  const SubjectId& subject() const { return subject_; }
  Token token() const { return token_; }
  const std::string& queue() const { return queue_; }
  const TraceContext& trace() const { return trace_; }
  const SubjectKind& kind() const { return kind_; }

  // -- inputs
  void OnStepDone(const std::string& step_id, int attempt_id, StepResult result);
  void OnInbox(const KernelStore::InboxView& view);
  // A dispatch's worker found a content of this subject gone or changed, and no person has released it since: quarantine it, build nothing.
  const std::string& damaged() const { return damaged_; }
  // True if the wake-up counter moved past what was read: the caller reads the inbox.
  bool NoteWake(std::int64_t wake);
  void WantInbox() { inbox_wanted_ = true; }
  void BeginReadingInbox() const { read_from_ = landings_; }  // it is asked for now
  bool inbox_wanted() const { return inbox_wanted_; }
  void OnSnapshot(Snapshot snapshot);
  void SnapshotFailed() {
    snapshot_running_ = rolling_ = false;
    snapshot_failed_ = true;
    idle_ = false;
  }

  // -- the next item
  // True if an item could be built now: nothing in flight and something to say (inputs, a due timer, a start, a release).
  bool Ready(const BuildContext& context) const;
  // Whether an item could be built without a timer, a drain or slots that it does not have now.
  bool Restless() const { return Hears() && (!inputs_.empty() || !idle_); }
  // Whether it would take up anything now: nothing of it is on its way.
  bool Hears() const { return !in_flight_ && !inbox_wanted_; }
  // The item to commit; nullopt if there is nothing to commit (then `TakeStarts` may still have steps whose effect needs no row first).
  // kInternal: the kind contradicts itself; quarantine the subject.
  Result<std::optional<CommitItem>> BuildItem(const BuildContext& given);

  // Without what was heard since the last commit: gives the lease back, to be claimed later (item_builder.h).
  CommitItem ReleaseForMemory(WallTime now, int failures) const;
  bool cancel_asked() const { return cancel_asked_; }

  enum class After { kGoOn, kGone, kReject };
  // kGone: released, closed or fenced; forget the subject (stop what runs if fenced). kReject: the item can never land; quarantine.
  After OnOutcome(const CommitOutcome& outcome);
  bool in_flight() const { return in_flight_.has_value(); }
  // Steps that begin when it lands.
  int promised() const { return in_flight_ ? int(in_flight_->starts.size()) : 0; }

  // Attempts whose promise is durable now. The caller runs them, or answers OnStepDone(kNotStarted).
  std::vector<StepCall> TakeStarts();
  // Running attempts that a decision wants stopped.
  std::vector<std::string> TakeCancels();
  // Attempts whose outcome is recorded now.
  struct Recorded {
    std::string step_id;
    int attempt_id = 0;
  };
  std::vector<Recorded> TakeRecorded();

  // -- what the worker wants to know
  bool running() const { return !running_.empty(); }
  bool RunsEffect() const;  // something runs that may not be repeated
  int running_count() const { return int(running_.size()); }
  std::optional<WallTime> NextTimer() const;
  // Set when a snapshot is due: the state as of the last committed event. Cleared by taking it.
  struct SnapshotJob {
    Document state;
    std::int64_t last_event_seq = 0;
    Hash256 chain{};
    Snapshot previous;  // the newest one stored: its chunks need not be sent again; without its text
    WallTime taken_at;  // database time
  };
  std::optional<SnapshotJob> TakeSnapshotJob(WallTime now);
  // Given back: what whoever holds it next would restore. nullopt while attempts are without a completion: whether they ran is the
  // database's to say.
  std::optional<StickyCache::State> KeepState() const;
  // Given back and ready again since then, as a message says it. Nothing if that is not known (CommitOutcome::ready_at).
  std::optional<StepMessage> MessageFor(WallTime ready_at) const;
  std::int64_t events_since_snapshot() const { return events_since_snapshot_; }
  const Document& state() const { return state_; }

 private:
  struct Running {
    int attempt_id = 0;
    EffectClass effect = EffectClass::kPure;
    WallTime started_at;
    bool row_written = false;
    Json note;
  };
  // What an item takes with it, and becomes true when it lands.
  struct InFlight {
    std::int64_t last_seq = 0;
    Hash256 chain{};
    WallTime last_timestamp;
    Disposition disposition = Disposition::kKeep;
    Document next_state;
    std::vector<Input> inputs;  // of an item that gives the lease back: it may have to be decided again
    std::vector<StartStep> starts;
    std::map<std::string, int> start_attempts;
    std::map<std::string, int> dispatched;  // step id -> attempt id
    std::vector<std::string> cancels;
    std::set<std::string> finished;                                // running steps that this item ends
    std::vector<std::string> completed;                            // steps: no attempt of them follows
    std::map<std::string, std::optional<WallTime>> timer_changes;  // nullopt = cleared
    std::size_t delta_bytes = 0;
    std::vector<InboxId> consumed;
    bool took_snapshot = false;
    std::optional<JournalId> begins_journal;
  };
  // An item that is being built.
  struct Work : InFlight {
    explicit Work(ItemBuilder begun) : made(std::move(begun)) {}
    ItemBuilder made;
    std::set<std::string> rows_written;
  };

  static bool IsEmpty(const CommitItem& item);
  // What follows from the inputs, and what begins next.
  Status Follow(Work& work, const BuildContext& context, Next& next);
  // The same of the usual turn, at once. False: it is not the usual one, and nothing was taken.
  bool TryFastPath(Work& work, const BuildContext& context, Next& next);
  bool MayTakeFastPath(const BuildContext& context) const;
  // Aborts if the two do not say the same.
  static void MustSayTheSame(const Work& fast_path, const Work& at_length);
  bool IsRunning(const std::string& step_id, int attempt_id) const;
  void TakeDueTimers(WallTime now);
  Status Decide(Work& work, const Input& input, WallTime now);
  Status PlanStarts(Work& work, const BuildContext& context, Next& next);
  Status PlanStart(Work& work, const BuildContext& context, NextContext& next_context, Next& next, bool& dispatched);
  bool SnapshotComes(const Work& work, std::int64_t events) const;
  // Whether the journal ends once it has so many events more.
  bool JournalEnds(std::int64_t events) const;
  // Its next item begins the next journal: the snapshot that closes this one is stored, and of the head.
  bool RollsNow() const;
  bool GivesWay(const BuildContext& context) const;
  void ChooseDisposition(Work& work, const BuildContext& context, const Next& next);
  void RecordAttempt(Work& work, const std::string& step_id);
  void Adopt(InFlight& work);
  void KeepStored(Snapshot snapshot);

  ItemBase Base() const { return {subject_, session_, token_, head_seq_, chain_, journal_, last_timestamp_}; }

  const SubjectKind& kind_;
  const SubjectId subject_;
  const ProjectId project_;
  const Token token_;
  const WorkerSessionId session_;
  const std::string queue_;
  const int priority_;
  const TraceContext trace_;
  const SubjectLimits limits_;

  Document state_;
  std::shared_ptr<FastPathCursor> cursor_;  // of state_, if a fast path led there
  std::int64_t head_seq_ = 0;
  Hash256 chain_{};
  JournalId journal_;
  std::int64_t journal_first_ = 1;
  WallTime last_timestamp_;
  // The latest time of the database this run was told of. The worker's own count of it lags by what an answer takes, and a timer that the
  // database fired must not be decided on at a time before its own.
  WallTime db_seen_;
  std::int64_t read_wake_ = 0;  // the counter up to which the inbox was read
  std::string damaged_;
  bool inbox_wanted_ = false;
  bool cancel_asked_ = false;
  std::deque<Input> inputs_;
  // Inbox rows that came, and with which landing each was consumed. One that is read again afterwards was brought back by a failover.
  static constexpr std::int64_t kNotConsumed = -1;
  std::map<InboxId, std::int64_t> seen_inbox_;
  std::int64_t landings_ = 0;           // items that landed
  mutable std::int64_t read_from_ = 0;  // how many had when the inbox was last asked for
  std::map<std::string, Running> running_;
  std::map<std::string, int> attempt_counts_;  // of steps without a completion
  std::map<std::string, WallTime> timers_;
  std::optional<InFlight> in_flight_;
  std::vector<StepCall> starts_;
  std::vector<std::string> cancels_;
  std::vector<Recorded> recorded_;
  std::optional<Snapshot> snapshot_ready_;
  Snapshot stored_snapshot_;    // the newest that is committed; its text is dropped
  bool snapshot_shows_ = true;  // in the head: it came with events, or before some
  bool snapshot_running_ = false;
  bool snapshot_failed_ = false;  // no release waits for one any more
  bool rolling_ = false;          // the snapshot that is made closes the journal: nothing is said before it is stored
  std::int64_t events_since_snapshot_ = 0;
  std::size_t delta_bytes_since_snapshot_ = 0;
  int items_in_a_row_ = 0;
  bool step_ended_ = false;
  bool idle_ = false;  // WhatNext said: nothing to do until an input
};

}  // namespace acl
