#pragma once
// The kernel's protocols, each a function of its own (docs/architecture.md#protocols). Two implementations under one conformance
// suite: MemoryStore (unit tests, simulator) and PgStore (shared/postgres). Calls block; PgStore is called from a BlockingPool.
//
// Errors of every function: kUnavailable (the database cannot be reached, nothing happened), kTimeout (lock or statement timeout,
// nothing happened), kOutcomeUnknown (the answer was lost after the request was sent: read back), kInternal. Others are named below.

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "shared/kernel/command.h"
#include "shared/kernel/create.h"
#include "shared/kernel/types.h"

namespace acl {

// Given what a direct command's subject holds, the item to append (session nil, disposition ignored), or the refusal.
using DirectDecider = std::function<Result<CommitItem>(const Claimed&)>;

// What became of posts.
struct DeliverAnswer {
  std::vector<std::pair<SubjectId, PostAnswer>> posted;
  int dropped = 0;    // to subjects that are closed or that do not exist
  bool more = false;  // call again
};

class KernelStore {
 public:
  virtual ~KernelStore() = default;

  // -- sessions
  virtual Result<SessionGrant> OpenSession(const SessionRequest& request) = 0;
  // Locks the row first, tests the clock in a second statement. kLeaseLost once expired or dead: open a new session.
  virtual Result<HeartbeatAnswer> Heartbeat(const WorkerSessionId& session, milliseconds ttl) = 0;
  // A clean end: marks the session dead; leases it still holds are freed by the reaper. No error if it is dead already.
  virtual Status CloseSession(const WorkerSessionId& session) = 0;

  // -- subjects
  // One transaction for all items; one outcome per item. Idempotent by request key. An item with `grant_to` goes to that session if it
  // lives, with its first token, a row of history and no ready row; else it becomes ready.
  virtual Result<std::vector<CreateOutcome>> Create(std::span<const CreateItem> items) = 0;
  // Token first, reading in a later statement. kLeaseLost if the session is dead. A subject whose journal does not load is the caller's
  // to quarantine.
  virtual Result<ClaimAnswer> Claim(const ClaimRequest& request) = 0;
  // Reads what a claim with `contents_later` left; as it is now, for the lease may be gone by now, and then the fence decides. On an error
  // nothing is changed. One that is not there any more stays unread.
  virtual Status ReadClaimed(std::vector<Claimed>& granted) = 0;
  // Of these subjects those that were granted to this session as they were made, with nothing written since, as a claim reads them but for
  // the inbox (Claimed::inbox_left). The others are left out: the hint that named them was wrong, late, or came twice.
  virtual Result<std::vector<Claimed>> ReadGrants(const WorkerSessionId& session, std::span<const SubjectId> subjects) = 0;
  // Ready rows of these shards that are due, each lane's (shard, queue and priority) in the order of their keys, at most `max` of it. What
  // the relays to a message queue send.
  virtual Result<DueAnswer> DueReady(std::span<const DueLook> looks, int max) = 0;
  Result<DueAnswer> DueReadyOf(int shard, std::vector<ReadyKey> marks, int max) {
    const DueLook one{shard, std::move(marks)};
    return DueReady({&one, 1}, max);
  }
  // Set-based group commit: one item per subject, one outcome per item, in the order of the items.
  virtual Result<std::vector<CommitOutcome>> Commit(std::span<const CommitItem> items) = 0;
  // After kOutcomeUnknown: did these items land? kCommitted (head is base + n under my token), kBusy (head is base: send again) or kFenced.
  virtual Result<std::vector<CommitOutcome>> ReadBack(std::span<const CommitItem> items) = 0;
  // Unread inbox rows and the wake-up counter, for a holder that was woken. kLeaseLost if the token is not the lease's.
  struct InboxView {
    std::vector<InboxRow> rows;
    std::int64_t wake = 0;
  };
  virtual Result<InboxView> ReadInbox(const SubjectId& subject, Token token) = 0;
  // Inserts an inbox row and raises the wake-up counter. kNotFound; kConflict if the subject is closed.
  virtual Result<PostAnswer> Post(const InboxPost& post) = 0;
  // Posts of subjects to others (post.h), at most `max`: each becomes an inbox row exactly once, in the order in which it was said.
  virtual Result<DeliverAnswer> DeliverPosts(int max) = 0;
  // Subjects that others asked for (create.h) and that nobody has forgotten, at most `max`, in the order in which they were asked for. Who
  // makes them makes each once by the request key, then forgets them.
  virtual Result<std::vector<AskedSubject>> AskedSubjects(int max) = 0;
  virtual Status ForgetAsked(std::span<const std::int64_t> outbox_ids) = 0;
  // A synchronous command (command.h): mints a token, reads, decides and appends in one transaction, what was unread included; the lease
  // stays free. kConflict if it is held, closed or quarantined; kNotFound. An error of `decide` is passed on, and nothing is written.
  virtual Result<CommitOutcome> Command(const CommandRequest& request, const CommandDecider& decide) = 0;
  // The same of an item alone, if nothing is unread (else kConflict: post to the inbox instead).
  Result<CommitOutcome> Direct(const SubjectId& subject, const DirectDecider& decide);

  // -- dispatches (dispatch.h); queued with a commit, taken with a claim
  // The taker's result becomes an inbox row of the subject. Said again it is `replayed`. kLeaseLost if the dispatch ended otherwise (its
  // taker was taken for dead): the step is somebody else's. kConflict if the subject is closed, kNotFound.
  virtual Result<PostAnswer> FinishDispatch(const DispatchReport& report) = 0;
  // Queued dispatches that are wanted back become inbox rows: of this subject, or of all; of all, dispatches of dead sessions too.
  virtual Result<ReapedDispatches> ReapDispatches(const std::optional<SubjectId>& subject, int max) = 0;
  // Dispatches this session took longer ago than `older_than` and has not ended: what the worker does not know it ends as not started.
  virtual Result<std::vector<HeldDispatch>> DispatchesOf(const WorkerSessionId& session, milliseconds older_than) = 0;

  // -- upkeep; any process may call these
  // Dead sessions: their leases are freed, their dispatches lost; and ReapDispatches.
  virtual Result<ReapAnswer> Reap(int max_leases) = 0;
  virtual Result<FireAnswer> FireTimers(int max) = 0;
  // Subjects the table says this session holds for longer than `older_than`: what the worker does not know it releases.
  virtual Result<std::vector<std::pair<SubjectId, Token>>> HeldBy(const WorkerSessionId& session, milliseconds older_than) = 0;
  // Frees a lease without a commit (a grant that was never heard, a drop after an error): ready row put, token kept. No error if not held.
  virtual Status ReleaseLease(const SubjectId& subject, const WorkerSessionId& session, Token token) = 0;

  // -- quarantine (fail closed)
  // The holder's: clears the lease, nothing runs until released. kLeaseLost if the token is not the lease's.
  virtual Status Quarantine(const SubjectId& subject, const WorkerSessionId& session, Token token, const std::string& reason,
                            const std::string& detail) = 0;
  // A person's: back to ready, takeover count reset. Leaves an inbox row `quarantine_released {reason, by}`, which the kind turns into an
  // event: the journal itself is not touched while it may be damaged. kNotFound if it is not quarantined.
  virtual Status ReleaseQuarantine(const SubjectId& subject, const std::string& by) = 0;

  // -- contents by hash (files, snapshot chunks, large payloads); unfenced, write-once
  // Each is there whole when this returns, and stays for the collector's grace time at least: commit what names it before. kUnavailable
  // also if an object store that is to hold them cannot be reached.
  virtual Status PutContents(std::span<const std::pair<Hash256, std::string>> contents) = 0;
  // kNotFound: never put, or collected. kCorrupt: it is there and its bytes are not what was put, or its object is gone.
  virtual Result<std::string> GetContent(const Hash256& hash) = 0;
  // Many at once, verified. May leave some out (what is missing, damaged, large, or lies in an object store): GetContent has it or says
  // why.
  virtual Result<std::map<Hash256, std::string>> GetContents(std::span<const Hash256> hashes);  // one by one, unless a store can do better
  // Removes contents that no subject refers to and nobody has put for `grace`, at most `max` looked at, from `from` on.
  virtual Result<CollectAnswer> CollectContents(milliseconds grace, const ContentMark& from, int max) = 0;

  // At most `max` of each: sessions dead for longer than `sessions` that no lease names, and dispatches that ended as long ago, whose end
  // was consumed and whose step needs them no more (completed, offered again, or its subject closed); request keys older than
  // `request_keys` (the same key is a new request from then on).
  virtual Result<RetainAnswer> Retain(milliseconds sessions, milliseconds request_keys, int max) = 0;

  // Drops journals that ended longer ago than `keep` (kInvalid below an hour), the oldest first, at most `max` of them: their events go,
  // what they completed and attempted stays. Never a subject's last journal, one without the snapshot that closes it, or one in quarantine.
  virtual Result<DropAnswer> DropSegments(milliseconds keep, int max) = 0;

  // -- jobs of a coordinator
  // Takes or renews each; one answer per name, in their order: nullopt if another process has it. Tokens only grow.
  virtual Result<std::vector<std::optional<LeaderLease>>> HoldLeaderLeases(std::span<const std::string> names,
                                                                           const WorkerSessionId& session, milliseconds ttl) = 0;
  Result<std::optional<LeaderLease>> HoldLeaderLease(const std::string& name, const WorkerSessionId& session, milliseconds ttl) {
    auto held = HoldLeaderLeases({&name, 1}, session, ttl);
    if (!held) return held.error();
    return std::move(held->front());
  }
};

}  // namespace acl
