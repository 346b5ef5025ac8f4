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

struct MemoryDispatch : DispatchView {
  std::string payload;  // empty once it has ended
  int deaths = 0;       // dispatches of its step that were lost before it was taken
};

// One subject with everything stored about it, as a checker wants it.
struct MemorySubject {
  SubjectId id;
  ProjectId project;
  std::string kind, queue;
  int priority = 1;
  int required_version = 1;
  WallTime created_at, updated_at;
  std::string traceparent;
  // the lease row
  std::optional<WorkerSessionId> holder;
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
  std::vector<MemoryDispatch> dispatches;
  std::vector<CompensationRow> compensations;
  std::vector<InboxRow> inbox;                      // unread
  std::map<InboxId, WorkerSessionId> inbox_holder;  // by row: who held the lease when it was put, and hears of it with a heartbeat
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
  enum class What { kCreated, kGranted, kReaped, kReleased, kDirect, kCommit, kQuarantined } what = What::kCreated;
  SubjectId subject;
  WorkerSessionId session;                                        // nil: create, direct
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
    bool no_dispatch_compare = false;     // a dispatch's result is taken whatever became of the dispatch
    bool closing_snapshot_lost = false;   // a snapshot that closes a journal goes when two newer ones are there
  };

  explicit MemoryStore(const Clock& clock) : MemoryStore(clock, Mutants{}) {}
  MemoryStore(const Clock& clock, Mutants mutants) : clock_(clock), mutants_(mutants) {}

  Result<SessionGrant> OpenSession(const SessionRequest& request) override;
  Result<HeartbeatAnswer> Heartbeat(const WorkerSessionId& session, milliseconds ttl) override;
  Status CloseSession(const WorkerSessionId& session) override;
  Result<std::vector<CreateOutcome>> Create(std::span<const CreateItem> items) override;
  Result<ClaimAnswer> Claim(const ClaimRequest& request) override;
  Status ReadClaimed(std::vector<Claimed>& granted) override;
  Result<std::vector<Claimed>> ReadGrants(const WorkerSessionId& session, std::span<const SubjectId> subjects) override;
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
  Result<PostAnswer> FinishDispatch(const DispatchReport& report) override;
  Result<ReapedDispatches> ReapDispatches(const std::optional<SubjectId>& subject, int max) override;
  Result<std::vector<HeldDispatch>> DispatchesOf(const WorkerSessionId& session, milliseconds older_than) override;
  Result<ReapAnswer> Reap(int max_leases) override;
  Result<FireAnswer> FireTimers(int max) override;
  Result<std::vector<std::pair<SubjectId, Token>>> HeldBy(const WorkerSessionId& session, milliseconds older_than) override;
  Status ReleaseLease(const SubjectId& subject, const WorkerSessionId& session, Token token) override;
  Status Quarantine(const SubjectId& subject, const WorkerSessionId& session, Token token, const std::string& reason,
                    const std::string& detail) override;
  Status ReleaseQuarantine(const SubjectId& subject, const std::string& by) override;
  Status PutContents(std::span<const std::pair<Hash256, std::string>> contents) override;
  Result<std::string> GetContent(const Hash256& hash) override;
  Result<CollectAnswer> CollectContents(milliseconds grace, const ContentMark& from, int max) override;
  Result<RetainAnswer> Retain(milliseconds sessions, milliseconds request_keys, int max) override;
  Result<DropAnswer> DropSegments(milliseconds keep, int max) override;
  Result<std::vector<std::optional<LeaderLease>>> HoldLeaderLeases(std::span<const std::string> names, const WorkerSessionId& session,
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
  void LockSession(const WorkerSessionId& session);
  void UnlockSession(const WorkerSessionId& session);
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
    int priority = 1;
    WallTime ready_at;
    SubjectId subject;  // a dispatch's id, of a dispatch
    int deaths = 0;     // of a suspect: granted with care
    bool begun = true;  // of a run that has begun, or a dispatch: goes before what has not
    friend auto operator<=>(const ReadyRow& a, const ReadyRow& b) {
      return std::tie(a.priority, a.ready_at, a.queue, a.subject) <=> std::tie(b.priority, b.ready_at, b.queue, b.subject);
    }
    friend bool operator==(const ReadyRow& a, const ReadyRow& b) { return (a <=> b) == 0; }
    ReadyKey key() const { return {queue, priority, ReadyShard(subject), ready_at, subject}; }
  };
  std::vector<ReadyRow> Ready() const;
  struct LeaderRow {
    WorkerSessionId session;
    LeaderLease lease;
  };
  std::optional<LeaderRow> LeaderOf(const std::string& name) const;
  // As if the database's clock had jumped past the end of every job's lease: whoever asks next has it, whatever its holder believes.
  void ExpireLeaders();
  bool HasRequestKey(const std::string& key) const;  // of the default project

 private:
  struct Session {
    SessionRow row;
    bool died_with_fleet = false;  // over half of the live sessions died in the same reap
    bool closed = false;           // a clean end
    WallTime died_at;
    std::optional<Uuid> blamed;  // what killed it: a subject or a dispatch
    milliseconds ttl() const { return std::chrono::duration_cast<milliseconds>(row.expires_at - row.heartbeat_at); }
  };
  WallTime Now() const { return clock_.Wall(); }
  std::string NameOf(const WorkerSessionId& session) const {
    auto it = sessions_.find(session);
    return it == sessions_.end() ? "" : it->second.row.worker_name;
  }
  Uuid NewId();
  Token Mint(Token old) const;
  std::optional<LeaderLease> HoldOne(const std::string& name, const WorkerSessionId& session, milliseconds ttl);
  MemorySubject* Find(const SubjectId& subject);
  bool Locked(const SubjectId& subject) const { return locked_.contains(subject); }
  static bool HasBegun(const MemorySubject& subject) { return subject.head.seq > 1; }
  void PutReady(const MemorySubject& subject, WallTime at, bool begun = true, int deaths = 0) {
    ready_.insert({subject.queue, subject.priority, at, subject.id, deaths, begun});
  }
  Claimed Read(const MemorySubject& subject) const;
  Claimed Grant(MemorySubject& subject, const WorkerSessionId& session, const Suspicion& suspicion);
  void PutGrant(MemorySubject& subject, const WorkerSessionId& session, const Suspicion& suspicion);
  void GrantPicked(const ReadyRow& row, const ClaimRequest& request, ClaimAnswer& answer);
  // -- memory_store_suspicion.cc
  Suspicion NextSuspicionOf(const MemorySubject& subject) const;
  // Suspects of this session without progress.
  std::vector<Suspect> SuspectsOf(const WorkerSessionId& session) const;
  bool HasSuspectOnTrial(const WorkerSessionId& session) const;
  int SuspectsAdmittedTo(const WorkerSessionId& session, int worst) const;
  // The places of the suspects that this claim may have, the worst first; they are in admitted_ from now on.
  std::vector<ReadyRow> PickSuspects(const ClaimRequest& request, const std::vector<std::string>& queues, int limit);
  void TakeNamedSuspects(const std::set<ReadyKey>& keys, const ClaimRequest& request, ClaimAnswer& answer);
  // A suspect that was not admitted stays ready, and is granted with care from now on. False: it is none, or was admitted.
  bool Refused(ReadyRow row, int deaths);
  std::optional<Uuid> BlameOf(const Session& session) const;
  LeaseEnd EndOf(const Session& session, const Uuid& held) const;
  // A ready row this request may have; of a dispatch, its subject tells nothing.
  bool MayHave(const ReadyRow& row, const ClaimRequest& request, int dispatches_left) const;
  bool Waits(const ReadyRow& row, const ClaimRequest& request) const;  // in one of its queues, for as long as it asks
  // The rows a look takes, suspects apart: priority by priority, what has begun first; every fourth look the other way round.
  std::vector<ReadyRow> PickWaiting(const ClaimRequest& request, int most, int dispatches_left);
  void Picked(const ReadyRow& row, const ClaimRequest& request, ClaimAnswer& answer);
  void TakeDispatch(const ReadyRow& row, const WorkerSessionId& session, ClaimAnswer& answer);
  MemoryDispatch* FindDispatch(const DispatchId& id);
  void OfferDispatches(MemorySubject& subject, const CommitItem& item);
  void EndDispatch(MemorySubject& subject, MemoryDispatch& dispatch, const std::string& state, std::string payload);
  std::int64_t RetainDispatches(milliseconds keep, int max);
  ReapedDispatches ReapNow(const std::optional<SubjectId>& subject, int max);
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
  std::map<WorkerSessionId, Session> sessions_;
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
  std::map<DispatchId, SubjectId> dispatch_subjects_;
  std::set<SubjectId> locked_;
  std::set<WorkerSessionId> locked_sessions_;
  struct StoredContent {
    std::string bytes;
    WallTime used_at;
    std::set<SubjectId> subjects;   // whose events refer to it
    std::set<SubjectId> snapshots;  // of which a kept snapshot has it
  };
  std::map<Hash256, StoredContent> contents_;
  std::map<std::string, LeaderRow> loops_;
  std::map<WorkerSessionId, std::set<std::pair<SubjectId, Token>>> proved_;  // the mutant whose fence is tested in a transaction before
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
