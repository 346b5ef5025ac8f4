#pragma once
// The kernel's protocols in memory, for unit tests and the simulator ONLY: nothing survives the process, no process links it in
// production. It does exactly what PgStore does (one conformance suite runs on both, tests/support/store_conformance.h), with time
// from the Clock it is given and ids and tokens that are the same on every run.
//
// Every function is one atomic step under one mutex, so the interleavings inside a PostgreSQL transaction do not exist here (the
// isolation tests cover those); what exists is every order of whole calls. Mutants bring the famous mistakes back, for the tests that
// prove that the checkers notice.

#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "shared/kernel/queries.h"
#include "shared/kernel/roll.h"
#include "shared/kernel/store.h"
#include "shared/kernel/suspicion.h"

namespace acl {

struct MemoryTask : TaskView {
  std::string payload;  // empty once it has ended
  int deaths = 0;       // tasks of its step that were lost before it was taken
};

// One subject with everything stored about it, as a checker wants it.
struct MemorySubject {
  SubjectId id;
  ProjectId project;
  std::string kind, queue;
  int band = 1;
  int required_version = 1;
  WallTime created_at, updated_at;
  std::string traceparent;
  // the lease row
  std::optional<SessionId> holder;
  Token token;
  std::int64_t wake = 0;
  bool closed = false;
  WallTime acquired_at;
  // the head row
  Head head;
  std::optional<WallTime> run_deadline;
  std::optional<Waiting> waiting;  // of the last release; gone with the next grant
  WallTime waiting_since;
  // everything else
  std::vector<Event> events;        // of the journals that are kept
  std::vector<Event> dropped;       // those before: for checkers alone
  std::vector<Snapshot> snapshots;  // the last two and those that close journals, oldest first
  struct Segment {
    std::int64_t first_seq = 0;
    JournalId journal;
    WallTime began_at;
  };
  std::vector<Segment> segments;  // journals but the first, of those whose beginning is kept
  std::vector<AttemptRow> attempts;
  std::map<std::string, CompletionRow> completions;
  std::map<std::string, WallTime> timers;
  std::vector<MemoryTask> tasks;
  std::vector<CompensationRow> compensations;
  std::vector<InboxRow> inbox;                // unread
  std::map<InboxId, SessionId> inbox_holder;  // by row: who held the lease when it was put, and hears of it with a heartbeat
  struct PostKey {
    Hash256 hash;
    WallTime at;
  };
  std::map<std::string, PostKey> post_keys;    // every request key posted and not pruned, and what was posted under it
  std::map<std::string, GivenAnswer> answers;  // of commands, by request key
  std::map<std::pair<std::string, std::string>, std::string> rows_shown;  // by table and id
  std::optional<ListingRow> listing;
  std::string error_message;
  std::optional<WallTime> started_at, completed_at;
  std::vector<GrantView> grants;  // lease_history
  std::vector<QuarantineView> quarantines;
  LeaseEnd ended = LeaseEnd::kOwnWill;  // the last lease

  std::vector<Event> AllEvents() const {
    std::vector<Event> all = dropped;
    all.insert(all.end(), events.begin(), events.end());
    return all;
  }
  bool quarantined() const { return !quarantines.empty() && !quarantines.back().released_at; }
};

// What happened to leases and commits, in order: the checkers' evidence.
struct MemoryRecord {
  enum class What { kCreated, kGranted, kReaped, kGivenBack, kDirect, kCommit, kQuarantined } what = What::kCreated;
  SubjectId subject;
  SessionId session;                                              // nil: create, direct
  Token token;                                                    // of the writer or the one minted
  Token lease_token;                                              // the lease row's when it happened (commit: what the fence compared with)
  std::int64_t base_seq = 0;                                      // head before
  std::int64_t events = 0;                                        // appended
  CommitOutcome::Kind outcome = CommitOutcome::Kind::kCommitted;  // commits only
  Disposition disposition = Disposition::kKeep;
  bool wake_moved = false;  // commit: the wake-up counter was not the expected one
  bool held = false;        // commit: the lease named this very session and token; reap: of a session that lived
  WallTime at;
};

class MemoryStore : public KernelStore {
 public:
  // Known mistakes, switched on by tests that prove that the checkers have teeth. Never otherwise.
  struct Mutants {
    bool no_fence = false;                // a commit does not compare session and token
    bool stale_claim = false;             // a takeover reads the subject as it was before the old holder's last commit
    bool no_wake_check_at_close = false;  // release and close do not look at the wake-up counter
    bool no_task_compare = false;         // a task's result is taken whatever became of the task
    bool closing_snapshot_lost = false;   // a snapshot that closes a journal goes when two newer ones are there
  };

  explicit MemoryStore(const Clock& clock) : MemoryStore(clock, Mutants{}) {}
  MemoryStore(const Clock& clock, Mutants mutants) : clock_(clock), mutants_(mutants) {}

  Result<SessionGrant> OpenSession(const SessionRequest& request) override;
  Result<HeartbeatAnswer> Heartbeat(const SessionId& session, milliseconds ttl) override;
  Status CloseSession(const SessionId& session) override;
  Result<std::vector<CreateOutcome>> Create(std::span<const CreateItem> items) override;
  Result<ClaimAnswer> Claim(const ClaimRequest& request) override;
  Status ReadClaimed(std::vector<Claimed>& granted) override;
  Result<std::vector<Claimed>> ReadGrants(const SessionId& session, std::span<const SubjectId> subjects) override;
  Result<DueAnswer> DueReady(std::span<const DueLook> looks, int max) override;
  Result<std::vector<CommitOutcome>> Commit(std::span<const CommitItem> items) override;
  Result<std::vector<CommitOutcome>> ReadBack(std::span<const CommitItem> items) override;
  Result<InboxView> ReadInbox(const SubjectId& subject, Token token) override;
  Result<PostAnswer> Post(const InboxPost& post) override;
  Result<DeliverAnswer> DeliverPosts(int max) override;
  Result<std::vector<AskedSubject>> AskedSubjects(int max) override;
  Status ForgetAsked(std::span<const std::int64_t> outbox_ids) override;
  // `decide` is called under the store's mutex: it must not call the store.
  Result<CommitOutcome> Command(const CommandRequest& request, const CommandDecider& decide) override;
  Result<PostAnswer> FinishTask(const TaskReport& report) override;
  Result<SettleAnswer> SettleTasks(const std::optional<SubjectId>& subject, int max) override;
  Result<std::vector<HeldTask>> TasksOf(const SessionId& session, milliseconds older_than) override;
  Result<ReapAnswer> Reap(int max_leases) override;
  Result<FireAnswer> FireTimers(int max) override;
  Result<std::vector<std::pair<SubjectId, Token>>> HeldBy(const SessionId& session, milliseconds older_than) override;
  Status GiveBack(const SubjectId& subject, const SessionId& session, Token token) override;
  Status Quarantine(const SubjectId& subject, const SessionId& session, Token token, const std::string& reason,
                    const std::string& detail) override;
  Status ReleaseQuarantine(const SubjectId& subject, const std::string& by) override;
  Status PutContents(std::span<const std::pair<Hash256, std::string>> contents) override;
  Result<std::string> GetContent(const Hash256& hash) override;
  Result<CollectAnswer> CollectContents(milliseconds grace, const ContentMark& from, int max) override;
  Result<RetainAnswer> Retain(milliseconds sessions, milliseconds request_keys, int max) override;
  Result<DropAnswer> DropSegments(milliseconds keep, int max) override;
  Result<std::vector<std::optional<LoopLease>>> HoldLoops(std::span<const std::string> names, const SessionId& session,
                                                          milliseconds ttl) override;

  // ---- for simulator and checkers

  // Journals may be dropped this soon after they ended: virtual time is short.
  void SetLeastJournalRetention(milliseconds least) { least_journal_retention_ = least; }
  // A failover of the database: tokens minted from now on are of this epoch.
  void SetEpoch(std::int64_t epoch);
  // As if another transaction had the lease row locked: commits are busy, claims, reaps and timers pass it by.
  void LockLease(const SubjectId& subject);
  void UnlockLease(const SubjectId& subject);
  // The same for a session's row: a reap passes it by.
  void LockSession(const SessionId& session);
  void UnlockSession(const SessionId& session);
  // Copies, so that a checker may look while others go on.
  std::vector<SubjectId> Subjects() const;  // in the order of their ids
  std::optional<MemorySubject> Inspect(const SubjectId& subject) const;
  bool IsOpen(const SubjectId& subject) const;
  bool AnyOpen() const;
  std::vector<MemoryRecord> Records() const;
  std::vector<OutboxRow> Outbox() const;
  std::optional<WallTime> OutboxSince() const;  // when its first message was put
  std::vector<SessionRow> SessionRows() const;  // in the order of opening
  // Earliest ready row from now on, timer or session end: when a simulator with nothing else to do should look again.
  std::optional<WallTime> NextDue() const;
  struct ReadyRow {
    std::string queue;
    int band = 1;
    WallTime ready_at;
    SubjectId subject;  // a task's id, of a task
    int deaths = 0;     // of a suspect: granted with care
    bool begun = true;  // of a run that has begun, or a task: goes before what has not
    friend auto operator<=>(const ReadyRow& a, const ReadyRow& b) {
      return std::tie(a.band, a.ready_at, a.queue, a.subject) <=> std::tie(b.band, b.ready_at, b.queue, b.subject);
    }
    friend bool operator==(const ReadyRow& a, const ReadyRow& b) { return (a <=> b) == 0; }
    ReadyKey key() const { return {queue, band, ReadyShard(subject), ready_at, subject}; }
  };
  std::vector<ReadyRow> Ready() const;
  struct LoopRow {
    SessionId session;
    LoopLease lease;
  };
  std::optional<LoopRow> LoopOf(const std::string& name) const;
  // As if the database's clock had jumped past the end of every duty's lease: whoever asks next has it, whatever its holder believes.
  void ExpireLoops();
  bool HasRequestKey(const std::string& key) const;  // of the default project

 private:
  struct Session {
    SessionRow row;
    bool died_with_fleet = false;  // over half of the live sessions died in the same reap
    bool closed = false;           // a clean end
    WallTime died_at;
    std::optional<Uuid> blamed;  // what killed it: a subject or a task
    milliseconds ttl() const { return std::chrono::duration_cast<milliseconds>(row.expires_at - row.heartbeat_at); }
  };
  WallTime Now() const { return clock_.Wall(); }
  std::string NameOf(const SessionId& session) const {
    auto it = sessions_.find(session);
    return it == sessions_.end() ? "" : it->second.row.worker_name;
  }
  Uuid NewId();
  Token Mint(Token old) const;
  std::optional<LoopLease> HoldOne(const std::string& name, const SessionId& session, milliseconds ttl);
  MemorySubject* Find(const SubjectId& subject);
  bool Locked(const SubjectId& subject) const { return locked_.contains(subject); }
  static bool HasBegun(const MemorySubject& subject) { return subject.head.seq > 1; }
  void PutReady(const MemorySubject& subject, WallTime at, bool begun = true, int deaths = 0) {
    ready_.insert({subject.queue, subject.band, at, subject.id, deaths, begun});
  }
  Claimed Read(const MemorySubject& subject) const;
  Claimed Grant(MemorySubject& subject, const SessionId& session, const Suspicion& suspicion);
  void PutGrant(MemorySubject& subject, const SessionId& session, const Suspicion& suspicion);
  void GrantPicked(const ReadyRow& row, const ClaimRequest& request, ClaimAnswer& answer);
  // -- memory_store_suspicion.cc
  Suspicion NextSuspicionOf(const MemorySubject& subject) const;
  // Suspects of this session without progress.
  std::vector<Suspect> SuspectsOf(const SessionId& session) const;
  bool HasSuspectOnTrial(const SessionId& session) const;
  int SuspectsAdmittedTo(const SessionId& session, int worst) const;
  // The places of the suspects that this claim may have, the worst first; they are in admitted_ from now on.
  std::vector<ReadyRow> PickSuspects(const ClaimRequest& request, const std::vector<std::string>& queues, int limit);
  void TakeNamedSuspects(const std::set<ReadyKey>& keys, const ClaimRequest& request, ClaimAnswer& answer);
  // A suspect that was not admitted stays ready, and is granted with care from now on. False: it is none, or was admitted.
  bool Refused(ReadyRow row, int deaths);
  std::optional<Uuid> BlameOf(const Session& session) const;
  LeaseEnd EndOf(const Session& session, const Uuid& held) const;
  // A ready row this request may have; of a task, its subject tells nothing.
  bool MayHave(const ReadyRow& row, const ClaimRequest& request, int tasks_left) const;
  bool Waits(const ReadyRow& row, const ClaimRequest& request) const;  // in one of its queues, for as long as it asks
  // The rows a look takes, suspects apart: band by band, what has begun first; every fourth look the other way round.
  std::vector<ReadyRow> PickWaiting(const ClaimRequest& request, int most, int tasks_left);
  void Picked(const ReadyRow& row, const ClaimRequest& request, ClaimAnswer& answer);
  void TakeTask(const ReadyRow& row, const SessionId& session, ClaimAnswer& answer);
  MemoryTask* FindTask(const TaskId& id);
  void OfferTasks(MemorySubject& subject, const CommitItem& item);
  void EndTask(MemorySubject& subject, MemoryTask& task, const std::string& state, std::string payload);
  std::int64_t RetainTasks(milliseconds keep, int max);
  SettleAnswer Settle(const std::optional<SubjectId>& subject, int max);
  CreateOutcome CreateOne(const CreateItem& item);
  CommitOutcome CommitOne(const CommitItem& item);
  void Apply(MemorySubject& subject, const CommitItem& item);
  void KeepSnapshot(MemorySubject& subject, const Snapshot& snapshot);
  // Removes the snapshots for which `goes` holds; what only they had of the content store is released.
  void RemoveSnapshots(MemorySubject& subject, const std::function<bool(const Snapshot&)>& goes);
  static bool Closes(const MemorySubject& subject, const Snapshot& snapshot);
  std::optional<std::string> MissingContent(const std::vector<Hash256>& hashes) const;
  CommitOutcome ReadBackOne(const CommitItem& item);
  void PutInbox(MemorySubject& subject, InboxRow row);
  void PutQuarantine(MemorySubject& subject, const std::string& reason, const std::string& detail);
  MemoryRecord& Note(MemoryRecord::What what, const MemorySubject& subject);

  const Clock& clock_;
  const Mutants mutants_;
  mutable std::mutex mutex_;
  std::int64_t epoch_ = 1;
  milliseconds least_journal_retention_ = kLeastJournalRetention;
  std::uint64_t ids_ = 0;
  std::map<SessionId, Session> sessions_;
  std::map<SubjectId, MemorySubject> subjects_;
  std::map<SubjectId, MemorySubject> before_last_commit_;  // the stale_claim mutant only
  struct CreateKey {
    Hash256 hash;
    SubjectId subject;
    WallTime at;
  };
  std::map<std::pair<ProjectId, std::string>, CreateKey> request_keys_;
  std::set<ReadyRow> ready_;
  std::set<Uuid> admitted_;  // suspects that the claim being answered may have
  std::uint64_t looks_ = 0;
  std::map<TaskId, SubjectId> task_subjects_;
  std::set<SubjectId> locked_;
  std::set<SessionId> locked_sessions_;
  struct StoredContent {
    std::string bytes;
    WallTime used_at;
    std::set<SubjectId> subjects;   // whose events refer to it
    std::set<SubjectId> snapshots;  // of which a kept snapshot has it
  };
  std::map<Hash256, StoredContent> contents_;
  std::map<std::string, LoopRow> loops_;
  std::map<SessionId, std::set<std::pair<SubjectId, Token>>> proved_;  // the mutant whose fence is tested in a transaction before
  std::map<SubjectId, bool> seen_dead_;  // the mutant whose reap frees in a transaction after the one that looked
  struct SentRow {
    SubjectId sender;
    OutboxRow row;
    std::int64_t id = 0;
  };
  std::int64_t last_outbox_id_ = 0;
  std::vector<SentRow> outbox_;
  std::optional<WallTime> outbox_since_;
  std::vector<MemoryRecord> records_;
};

}  // namespace acl
