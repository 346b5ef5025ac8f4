#pragma once
// The values of the kernel's protocols (docs/architecture.md#protocols). The kernel knows subjects: whatever has a journal and a lease.
// Events and state are opaque to it; each kind of subject brings its own decide and evolve (kind.h).

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/json.h"
#include "shared/journal/event.h"
#include "shared/journal/snapshot.h"

namespace acl {

using std::chrono::milliseconds;

// ---- sessions -------------------------------------------------------------------------------------------------------------------

// One incarnation of a worker process. Leases refer to it; only its row is renewed. Dead is for ever.
struct SessionRequest {
  std::string worker_name;  // for people; never decides anything
  std::string host;
  int pid = 0;
  int slots = 0;  // runs it may hold at once
  std::vector<std::string> queues;
  std::string version;
  milliseconds ttl{10'000};
};

struct SessionGrant {
  WorkerSessionId session;
  WallTime db_now;
};

struct HeartbeatAnswer {
  WallTime db_now;
  std::vector<SubjectId> woken;      // subjects of this session with unread inbox rows
  std::vector<DispatchId> unwanted;  // dispatches this session runs that should stop
};

struct SessionRow {
  WorkerSessionId session;
  std::string worker_name, host, version;
  int pid = 0, slots = 0;
  std::vector<std::string> queues;
  WallTime started_at, heartbeat_at, expires_at;
  bool dead = false;
  std::int64_t leases_held = 0;
};

// ---- rows of a subject ----------------------------------------------------------------------------------------------------------

// Effect classes of a step (document 000, 11.7.6).
enum class EffectClass { kPure, kRead, kIdempotent, kNonIdempotent };
std::string_view EffectName(EffectClass effect);
std::optional<EffectClass> ParseEffect(std::string_view name);
// Whether the row of an attempt, and what it is called with, are durable before it begins.
constexpr bool NeedsRowFirst(EffectClass effect) { return effect == EffectClass::kIdempotent || effect == EffectClass::kNonIdempotent; }

struct AttemptRow {
  std::string step_id;  // the instance: path/to/step[index]#round, compensations `undo:` + that; at most 100 characters
  int attempt_id = 0;   // counts rows, from 1
  Token token;          // filled by the store on reading; on writing it is the item's
  WallTime started_at;
  friend bool operator==(const AttemptRow&, const AttemptRow&) = default;
};

struct CompletionRow {
  std::string step_id;
  int attempt_id = 0;
  WallTime completed_at;
  Hash256 result_checksum{};   // SHA-256 over RFC 8785 of the outputs
  std::int64_t event_seq = 0;  // the event that carries the result: `result_snapshot_ref` is event:<seq>
  friend bool operator==(const CompletionRow&, const CompletionRow&) = default;
};

struct TimerRow {
  std::string timer_id;  // unique in the subject
  WallTime fire_at;
  friend bool operator==(const TimerRow&, const TimerRow&) = default;
};

struct OutboxRow {
  std::string topic, key, payload;
};

// A dispatched step (docs/architecture.md#dispatch): granted once per attempt, fenced by its own token. What the payload holds:
// dispatch_format.h.
struct DispatchRow {
  std::string step_id;
  int attempt_id = 0;
  std::string queue;
  int priority = 1;
  std::string payload;
  std::optional<WallTime> deadline;  // no attempt of the step is worth anything after it
  bool cancel_requested = false;     // wanted back by the very item that offers it
};
struct DispatchKey {
  std::string step_id;
  int attempt_id = 0;
};

// One line of compensation_log (document 002).
struct CompensationRow {
  std::string step_id, capability, inputs_json, status;  // status: pending, executed, failed
  std::string error;
  WallTime at;
};

// An outside input: approve, signal, cancel, pause, resume, timer fired, dispatch result.
struct InboxRow {
  InboxId id;
  std::string kind;
  std::string payload;  // JSON text
  WallTime created_at;
};

// What the API lists of a subject; for a workflow run the row of document 002's `workflows`. Written only when something in it changes.
struct ListingRow {
  std::string name, version, owner;
  std::string status;           // document 002's words, upper case
  std::string definition_text;  // as submitted
  std::string labels_json = "{}";
};

struct ListingChange {
  std::string status;
  std::optional<std::string> error_message;
  std::optional<WallTime> started_at, completed_at;
  friend bool operator==(const ListingChange&, const ListingChange&) = default;
};

// Why an open subject does not run now; nothing of it is needed for safety.
struct Waiting {
  std::string reason;  // "retry", "person", "timer", "uncertain", "paused", "dispatch"
  std::optional<WallTime> next_wake;
};

// ---- create ---------------------------------------------------------------------------------------------------------------------

struct CreateItem {
  SubjectId subject;
  ProjectId project = kDefaultProject;
  std::string kind;  // e.g. "workflow"
  std::string queue = "default";
  int priority = 1;                        // 0 (first) .. 3
  int required_version = 1;                // event schema a worker must know to claim it
  std::optional<std::string> request_key;  // idempotency key, unique in the project
  Hash256 request_hash{};                  // of the canonical request; another one under the same key is kConflict
  std::vector<Event> events;               // seq 1.. , type and payload; the store mints the token, stamps and seals
  Hash256 state_root{};
  std::optional<ListingRow> listing;
  milliseconds time_limit{0};  // from its creation on: for who looks whether anybody ever began it; 0: none
  std::vector<TimerRow> timers;
  std::vector<Hash256> contents;  // that the first events name: stored already, and kept from now on
  bool make_ready = true;
  // Set: granted to this session as it is made, if it lives, instead of made ready. Only what Grantable says yes to.
  std::optional<WorkerSessionId> grant_to;
  std::string traceparent;  // W3C, for messages that wake workers for it; empty: none
};

struct CreateOutcome {
  enum class Kind { kCreated, kReplayed, kKeyConflict } kind = Kind::kCreated;
  SubjectId subject;  // of the first request, if replayed
  Token token;
  bool granted = false;  // to the session that was named: tell it (KernelStore::ReadGrants)
  WallTime ready_at{};   // of the ready row that it left, as far as that is known: not of one with timers or contents
};

// Whether a session may be given it as it is made: what it then reads are its first events and nothing else.
bool Grantable(const CreateItem& item);

// ---- claim ----------------------------------------------------------------------------------------------------------------------

// Names a row of `ready`: what a queue's message carries. Shards spread a lane's rows over relays and claims.
struct ReadyKey {
  std::string queue = "default";
  int priority = 1, shard = 0;  // 0 .. 3 each
  WallTime ready_at;
  SubjectId subject;

  friend auto operator<=>(const ReadyKey& a, const ReadyKey& b) = default;
};
inline constexpr int kReadyShards = 4;
// By the last byte of its id, as SQL's ready_shard().
int ReadyShard(const SubjectId& subject);

struct ClaimRequest {
  WorkerSessionId session;
  std::vector<std::string> queues{"default"};
  int max = 1;
  int known_version = EventSchemaVersion();
  std::vector<std::string> kinds;  // kinds of subjects this process can run; empty = all
  int max_dispatches = 0;          // of the rows at most so many dispatches, whatever `kinds` says
  milliseconds min_age{0};         // only rows that have been ready for so long
  bool begun_only = false;         // only rows of runs that have begun, and dispatches
  // Set: these rows and no others; `max` and `begun_only` do not count, `queues` and `min_age` are what `begun_waits` is asked about.
  std::optional<std::vector<ReadyKey>> keys;
  // By keys only: the token under which this process last gave the subject back, if it still has its state; Token{} if not. May be empty,
  // is asked from the thread that claims.
  std::function<Token(const SubjectId&)> released_token;
  bool contents_later = false;  // leases alone; what is in the subjects is read by ReadClaimed
};

// A ready row as the relay sends it on; sequence and token are hints, of when it was read.
struct DueRow {
  ReadyKey key;
  std::string kind;
  int required_version = 1;
  std::int64_t event_seq = 0;
  Token token;
  std::string traceparent;  // CreateItem::traceparent; of a dispatch, its subject's
};
// What is asked about one shard: of a lane that `marks` names only rows behind the mark (its `ready_at` and subject).
struct DueLook {
  int shard = 0;
  std::vector<ReadyKey> marks;
};
struct DueAnswer {
  std::vector<DueRow> rows;
  WallTime db_now;
};

struct Head {
  std::int64_t seq = 0;
  Hash256 chain{}, state_root{};
  JournalId journal;
  WallTime last_timestamp;
  std::int64_t journal_first = 1;  // the sequence number that `journal` begins with
};

// Everything a new holder needs, read after the token was raised.
struct Claimed {
  SubjectId subject;
  ProjectId project;
  std::string kind, queue;
  int priority = 1;
  Token token;
  std::int64_t wake = 0;  // wake-up counter at the time of reading
  Head head;
  std::optional<Snapshot> snapshot;
  std::vector<Event> events;         // after the snapshot
  std::vector<AttemptRow> attempts;  // of steps that have no completion
  std::vector<InboxRow> inbox;       // unread, oldest first
  std::vector<TimerRow> timers;
  int takeovers_without_progress = 0;  // takeovers in a row without a completed step between, this one included
  int died_alone = 0;                  // of them, those for which this subject alone is to blame (suspicion.h)
  WallTime db_now;                     // the database's time of the grant
  bool inbox_left = false;             // there may be unread rows that were not read here; `wake` is of before them
  // Nobody held it since the claimer gave it back (ClaimRequest::released_token): snapshot, events and attempts are as they were, and not
  // read.
  bool sticky = false;
  bool unread = false;  // ClaimRequest::contents_later: token, wake-up counter and takeovers are known, the rest is not yet
};

// A dispatch, granted under a token of its own (scope `run/step`).
struct ClaimedDispatch {
  DispatchId id;
  SubjectId subject;
  ProjectId project;
  DispatchRow row;
  Token token;
};

struct ClaimAnswer {
  std::vector<Claimed> claimed;
  std::vector<ClaimedDispatch> dispatches;
  int dropped = 0;      // ready rows of held or closed subjects and of dispatches that are wanted back, deleted unclaimed
  int quarantined = 0;  // subjects quarantined by this claim: they killed too many workers alone
  int missing = 0;      // by keys only: rows that were gone, locked, not due or not for this program
  // By keys only, as of before them: a row of a run that has begun, or a dispatch, has been ready for `min_age`.
  bool begun_waits = false;
  WallTime db_now;
};

// ---- commit ---------------------------------------------------------------------------------------------------------------------

enum class Disposition { kKeep, kRelease, kClose };

// One subject's part of a group commit. A subject is at most once in a batch.
struct CommitItem {
  SubjectId subject;
  WorkerSessionId session;
  Token token;
  std::int64_t base_seq = 0;      // the head it was decided on
  std::vector<Event> events;      // base_seq + 1 .. , sealed
  Hash256 chain{}, state_root{};  // after the events
  WallTime last_timestamp;
  std::vector<AttemptRow> attempts;
  std::vector<CompletionRow> completions;
  std::vector<TimerRow> timers_set;
  std::vector<std::string> timers_cleared;
  std::vector<DispatchRow> dispatches;
  std::vector<DispatchKey>
      dispatches_cancelled;  // wanted back: ReapDispatches ends those nobody took, the heartbeat tells the others' workers
  std::vector<OutboxRow> outbox;
  std::vector<CompensationRow> compensations;
  std::vector<InboxId> consumed_inbox;
  std::vector<Hash256> contents;  // that the events name: stored already, and kept from now on (the snapshot's chunks are too)
  std::optional<ListingChange> listing;
  std::optional<Snapshot> snapshot;
  std::optional<JournalId> begins_journal;  // with its first event (roll.h)
  Disposition disposition = Disposition::kKeep;
  std::int64_t expected_wake = 0;  // release and close: compare-and-set against the wake-up counter
  bool requeue = false;            // release only: put a ready row (drain), from `not_before` on
  std::optional<WallTime> not_before;
  std::optional<Waiting> waiting;       // release only
  std::optional<int> required_version;  // release only: what was missing
};

struct CommitOutcome {
  enum class Kind {
    kCommitted,
    kFenced,    // the lease is somebody else's: drop everything of the subject, run nothing
    kBusy,      // the lease row is locked by another transaction: goes with the next batch
    kMoved,     // release or close refused: an inbox row came in; read the inbox, decide again
    kRejected,  // the item itself is bad (constraint, size): isolated, `error` says why
  } kind = Kind::kCommitted;
  std::int64_t wake = 0;  // current wake-up counter (committed, moved)
  std::string error;
  WallTime ready_at{};  // of the ready row that a release with `requeue` left; not told by ReadBack, nor for one with `not_before`
};

// ---- inbox, timers, reap, direct ------------------------------------------------------------------------------------------------

struct InboxPost {
  SubjectId subject;
  InboxId id;
  std::string kind, payload;
  std::optional<std::string> request_key;
};
struct PostAnswer {
  bool replayed = false;                  // the same request key was posted before
  std::optional<WorkerSessionId> holder;  // whom to ring; none: a ready row was put
  std::string queue;
};

// What a dispatch's taker says of it in the end.
struct DispatchReport {
  DispatchId dispatch;
  Token token;
  std::string state;    // "done", "failed" or "cancelled": what the row says from then on
  std::string payload;  // of the inbox row: capability/dispatch_format.h
};

// A dispatch a session has taken and not ended.
struct HeldDispatch {
  DispatchId dispatch;
  Token token;
  DispatchKey key;
};

struct ReapedDispatches {
  int lost = 0, withdrawn = 0;
  bool more = false;  // call again
};

struct ReapAnswer {
  int sessions_died = 0;
  int leases_freed = 0;
  int dispatches_lost = 0, dispatches_withdrawn = 0;
  bool more = false;  // call again
  // Until the first of the living sessions dies, by the database's clock, if nothing is heard of it. 0: one is over, or was just ended.
  std::optional<std::chrono::milliseconds> next_death = std::nullopt;
};

struct FireAnswer {
  int fired = 0;
  std::optional<WallTime> next_fire;  // of the earliest timer left
  bool more = false;
};

// Where a pass over all contents stands: by the time of their last use, then through the listing of the object store.
struct ContentMark {
  WallTime at;
  Hash256 hash{};
  bool listing = false;
  std::string listed;
};
struct CollectAnswer {
  std::int64_t contents = 0, objects = 0;  // removed; objects: of the object store
  ContentMark next;                        // from where to go on
  bool more = false;                       // the pass is not over
};

// Which journals retention dropped (KernelStore::DropSegments).
struct DropAnswer {
  std::int64_t segments = 0, events = 0;
  bool more = false;  // call again
};

// What retention removed: sessions long dead, request keys nobody repeats any more, dispatches that ended long ago.
struct RetainAnswer {
  std::int64_t sessions = 0, request_keys = 0, dispatches = 0;
};

// A job that one process at a time should do (scheduler, reaper, timers, relay): a lease of its own kind, with a token.
struct LeaderLease {
  std::string name;
  Token token;
  WallTime expires_at;
};

}  // namespace acl
