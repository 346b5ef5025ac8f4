#pragma once
// The invariants of one subject (docs/architecture.md#invariants, 1 to 7) as a pure function over its rows. A store reads the rows in one
// repeatable-read transaction; nothing here knows SQL. The journal is fed event by event, so that a long one need not be in memory.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/journal/snapshot.h"
#include "shared/kernel/types.h"
#include "shared/verify/kind_checks.h"
#include "shared/verify/report.h"

namespace acl::verify {

struct CompletedRow {
  CompletionRow row;
  Token token;
};

struct GrantRow {
  Token token;
  std::int64_t head_seq = 0;               // read after the lock: nothing was written under this token up to here
  std::optional<WorkerSessionId> session;  // none: a direct command's
};

struct LeaseRow {
  Token token;
  std::optional<WorkerSessionId> session;
  enum class State { kOpen, kClosed, kQuarantined } state = State::kOpen;
  std::string waiting_reason;         // "person", "paused" ...; empty if it does not wait
  std::optional<WallTime> next_wake;  // of a timer that was set
  std::int64_t wake = 0;              // every inbox row raised it
};

struct SegmentRow {  // of a journal that is not the subject's first
  std::int64_t first_seq = 0;
  JournalId journal;
  Token token;
  bool dropped = false;  // what was before it is gone
};

struct SubjectRows {
  SubjectId subject;
  std::string kind;
  std::optional<Head> head;
  std::optional<LeaseRow> lease;
  std::vector<Event> events;           // by seq, from the oldest kept journal on; empty if they are fed one by one
  std::vector<Snapshot> snapshots;     // by last_event_seq
  std::vector<Token> snapshot_tokens;  // of each
  std::vector<SegmentRow> segments;    // by first_seq
  std::vector<AttemptRow> attempts;
  std::vector<CompletedRow> completions;
  std::vector<CompensationRow> compensations;  // in the order written
  std::vector<GrantRow> grants;                // lease_history by token
  std::optional<std::string> listed_status;    // none: not listed
  // Rows: ready ones that a claim would find, quarantine ones not released, dispatches queued or started.
  std::int64_t ready_rows = 0, timers = 0, unread_inbox = 0, open_dispatches = 0, open_quarantines = 0;
  std::optional<WallTime> first_timer;  // when the next of them fires
  std::vector<ShownRow> shown;          // of the kind's own tables
  std::vector<GivenAnswer> answers;     // key and sequence alone
};

// The content store.
struct ContentSource {
  ChunkReader read;                             // chunks of snapshots
  std::function<Status(const Hash256&)> check;  // is it there and whole, however large; none: not checked
};

class SubjectCheck {
 public:
  // Everything outlives the check. `kind` may be null.
  SubjectCheck(const SubjectRows& rows, const ContentSource& contents, const KindChecks* kind, Report& report);
  ~SubjectCheck();
  void Feed(const Event& event);  // in the order of the journal
  // After the last event: head, tokens, completions, compensations, open state, what the kind knows.
  void Finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// All of it over rows.events.
void CheckSubject(const SubjectRows& rows, const ContentSource& contents, Report& report, const KindChecks* kind = nullptr);

}  // namespace acl::verify
