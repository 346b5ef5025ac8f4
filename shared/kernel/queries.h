#pragma once
// Reading for people: what the API, the CLI and `verify` ask. Only Ends is on a hot path (whoever waits for runs); nothing here decides
// anything about leases.

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shared/kernel/types.h"

namespace acl {

// First of invariant 6 that holds.
enum class OpenState { kQuarantined, kLeased, kPaused, kReady, kWaiting, kClosed, kLost /* none: a violation */ };
std::string_view OpenStateName(OpenState state);

struct SubjectView {
  SubjectId subject;
  ProjectId project;
  std::string kind, queue;
  int priority = 1;
  std::optional<ListingRow> listing;
  std::string error_message;
  std::optional<WallTime> created_at, updated_at, started_at, completed_at;
  Head head;
  Token token;
  std::optional<WorkerSessionId> holder;
  std::string holder_name;
  OpenState state = OpenState::kLost;
  std::optional<WallTime> since;  // of `state`
  std::optional<WallTime> next_wake;
  std::string waiting_reason;
  int worker_deaths = 0;  // of a suspect (suspicion.h): workers in a row that died with it, without a completed step between; else 0
};

struct AttemptView {
  std::string step_id;
  int attempt_id = 0;
  Token token;
  WallTime started_at;
  std::optional<WallTime> completed_at;  // if this attempt completed the step
};

// A dispatch (dispatch.h).
struct DispatchView {
  DispatchId id;
  std::string step_id;
  int attempt_id = 0;
  std::string queue;
  int priority = 1;
  std::string state = "queued";  // queued started done failed cancelled lost
  bool cancel_requested = false;
  Token token;  // of its taker; 0: nobody took it
  std::optional<WorkerSessionId> session;
  std::string worker_name;
  WallTime created_at;
  std::optional<WallTime> deadline, started_at, ended_at;
};

struct LeaseView {
  SubjectId subject;
  WorkerSessionId session;
  std::string worker_name;
  Token token;
  WallTime acquired_at, expires_at;
};

struct GrantView {  // one row of lease_history
  Token token;
  WorkerSessionId session;
  std::string worker_name;
  std::int64_t head_seq = 0;
  int takeovers_without_progress = 0;  // takeovers in a row without a completed step between, this one included
  WallTime granted_at;
  int died_alone = 0;  // of them, those for which it alone is to blame
};

struct EndView {  // whether a subject has ended, and how
  SubjectId subject;
  bool closed = false;
  std::string status, error_message;  // of its listing
};

struct QuarantineView {
  SubjectId subject;
  std::string reason, detail;
  WallTime at;
  std::optional<WallTime> released_at;
  std::string released_by;
};

struct ListFilter {
  ProjectId project = kDefaultProject;
  std::optional<std::string> status, name, kind;
  std::map<std::string, std::string> labels;  // all of them
  std::string error_prefix;                   // of the listing's error
  bool needs_person = false;                  // quarantined, or nothing runs and a step is UNCERTAIN
  std::optional<SubjectId> before;            // cursor: ids are time-ordered, newest first
  int limit = 50;
};

// What waits to be done: for metrics.
struct Backlog {
  struct Queue {
    std::int64_t rows = 0;   // of the ready table
    std::int64_t ready = 0;  // runs and dispatches that a worker may take now: each once, none that is held or whose time has not come
    milliseconds oldest{0};  // how long the oldest of those has been ready
    int workers = 0;         // living sessions that take from it
  };
  std::map<std::string, Queue> queues;  // that have ready rows
  milliseconds outbox_oldest{0};        // age of the oldest message that was not sent; 0: there is none
  // Runs and dispatches that died with their workers twice or more without progress (suspicion.h): those that wait for a worker of their
  // own, and those that have one.
  std::int64_t suspects_waiting = 0, suspects_held = 0;
};

// A subject whose queue no worker serves and which has something to decide that needs none (coordinator/bookkeeper.h).
struct Undecided {
  SubjectId subject;
  std::vector<ReadyKey> rows;  // all of its ready rows that are due
  bool never_begun_in_time = false;
};

inline constexpr int kMaxGrants = 100;
inline constexpr std::size_t kAnyBytes = std::size_t(-1);

class Queries {
 public:
  virtual ~Queries() = default;
  virtual Result<SubjectView> GetSubject(const SubjectId& subject) = 0;  // kNotFound
  // Ids with this part (subject_part.h), the newest first, at most kMostIdCandidates: for people who type. Reads the ids of all subjects.
  // kInvalid if the text can be no part of an id.
  virtual Result<std::vector<SubjectId>> FindByPart(const std::string& part) = 0;
  virtual Result<std::vector<SubjectView>> List(const ListFilter& filter) = 0;
  // Of those that exist; in no order.
  virtual Result<std::vector<EndView>> Ends(std::span<const SubjectId> subjects) = 0;
  // From the oldest that is kept on (segment.h, DroppedText). At most `limit`, and none behind the one whose payload goes beyond so many
  // bytes in all: a page may be short of both.
  virtual Result<std::vector<Event>> Events(const SubjectId& subject, std::int64_t after_seq, int limit, std::size_t most_bytes) = 0;
  Result<std::vector<Event>> Events(const SubjectId& subject, std::int64_t after_seq, int limit) {
    return Events(subject, after_seq, limit, kAnyBytes);
  }
  // The newest of an event up to that one: of the last two that were taken, and those that end journals.
  virtual Result<std::optional<Snapshot>> SnapshotUpTo(const SubjectId& subject, std::int64_t seq) = 0;
  Result<std::optional<Snapshot>> NewestSnapshot(const SubjectId& subject) {
    return SnapshotUpTo(subject, std::numeric_limits<std::int64_t>::max());
  }
  virtual Result<std::vector<AttemptView>> Attempts(const SubjectId& subject) = 0;
  virtual Result<std::vector<DispatchView>> Dispatches(const SubjectId& subject) = 0;  // in the order of their offering
  virtual Result<std::vector<CompensationRow>> Compensations(const SubjectId& subject) = 0;
  virtual Result<std::vector<GrantView>> Grants(const SubjectId& subject) = 0;  // the last kMaxGrants, oldest first
  virtual Result<std::vector<LeaseView>> Leases(int limit) = 0;
  virtual Result<std::vector<SessionRow>> Sessions(bool include_dead) = 0;
  virtual Result<std::vector<QuarantineView>> Quarantined(bool include_released) = 0;
  virtual Result<std::vector<TimerRow>> Timers(const SubjectId& subject) = 0;
  virtual Result<std::vector<std::string>> ReadyQueues() = 0;  // those that have a ready row
  virtual Result<Backlog> ReadBacklog() = 0;
  virtual Result<std::vector<std::string>> ServedQueues() = 0;  // those that some living session takes from
  // Of these queues, subjects of this kind that are free and ready, and were told to cancel, or have begun and have an unread input, or
  // have not begun though their time limit is over. Only what this program may claim: none that needs a newer one, and no suspect
  // (suspicion.h), which is for workers that have proven themselves. At most `max` of either sort, first whoever waits longest.
  virtual Result<std::vector<Undecided>> FindUndecided(std::span<const std::string> queues, const std::string& kind, int max) = 0;
};

}  // namespace acl
