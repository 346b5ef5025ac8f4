#pragma once
// Schedules as rows (migrations/0010_schedules.sql). PostgreSQL in production (shared/postgres/pg_schedule_store.h); in memory for unit
// tests (tests/support/memory_schedules.h); one conformance test. Only the store's clock says what is due.
//
// Errors of every function: kUnavailable, kTimeout, kOutcomeUnknown, kInternal as in shared/kernel/store.h. Others are named below.

#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/result.h"
#include "shared/schedule/due.h"

namespace acl::schedule {

using ScheduleId = Id<struct ScheduleTag>;

// What people say of a schedule.
struct Definition {
  std::string workflow;                      // the definition as it was submitted
  std::string inputs = "{}", labels = "{}";  // JSON objects
  std::string cron, zone = "UTC";
  Policy policy;
  friend bool operator==(const Definition&, const Definition&) = default;
};

struct ScheduleRow {
  ScheduleId id;
  ProjectId project = kDefaultProject;
  std::string name;
  Definition definition;
  std::string created_by, edited_by;  // `edited_by`: who changed what is run last; empty: nobody did, or nobody knows
  bool paused = false;
  std::string pause_reason;
  std::optional<WallTime> next_fire_at, waiting_at, last_fire_at;
  std::int64_t started = 0, skipped = 0, missed = 0, failed = 0;
  std::int64_t version = 1;  // of the definition and the pause; firing leaves it
  WallTime created_at, updated_at;
};

struct NewSchedule {
  ScheduleRow row;  // id, name, definition, created_by, paused, next_fire_at
  std::optional<std::string> request_key;
  Hash256 request_hash{};
};
struct CreateAnswer {
  enum class Kind { kCreated, kReplayed, kKeyConflict, kNameTaken } kind = Kind::kCreated;
  ScheduleRow row;  // as it is now; of the first request, if replayed
};

struct FireRow {
  WallTime nominal;
  std::string outcome;  // started skipped_overlap missed failed
  std::optional<SubjectId> run;
  std::string reason;
  WallTime recorded_at;
};

struct DueRow {
  ScheduleRow row;
  std::vector<SubjectId> open_runs;
  // Request keys of next_fire_at and waiting_at that exist: their runs were made and nobody said so.
  std::vector<std::int64_t> started;
};
struct DueAnswer {
  WallTime now;  // the store's
  std::vector<DueRow> due;
  bool more = false;                  // there are due ones beyond `max`
  std::optional<WallTime> next_fire;  // the earliest of all that is not due
  bool some_wait = false;             // for the end of an open run: look again soon
};

// What one look at a due schedule came to. Compare-and-set on the version and both times as they were read.
struct Advance {
  ScheduleId id;
  std::int64_t version = 0;
  std::optional<WallTime> was_next, was_waiting, next, waiting;
  std::vector<FireRow> fires;
  std::int64_t missed = 0;  // `fires` has one row for all of them
};

class ScheduleStore {
 public:
  virtual ~ScheduleStore() = default;
  virtual Result<WallTime> Now() = 0;
  virtual Result<CreateAnswer> Create(const NewSchedule& schedule) = 0;
  virtual Result<ScheduleRow> Get(const ProjectId& project, const std::string& name) = 0;  // kNotFound
  virtual Result<std::vector<ScheduleRow>> List(const ProjectId& project, const std::string& after_name, int limit) = 0;
  // Definition, paused and pause_reason of `row`, if its version is still that, and next_fire_at if it is a new one: firing moves it
  // without another version. What waited is dropped, unless its run has been made. kConflict, kNotFound.
  virtual Result<ScheduleRow> Replace(const ScheduleRow& row, bool new_next_fire) = 0;
  virtual Status Delete(const ProjectId& project, const std::string& name) = 0;     // kNotFound
  virtual Result<std::vector<FireRow>> Fires(const ScheduleId& id, int limit) = 0;  // newest first

  virtual Result<DueAnswer> Due(int max) = 0;  // those that only wait for open runs come last
  // False: somebody else was faster or a person changed it; only runs that were started are written down then.
  virtual Result<bool> Record(const Advance& advance) = 0;
  // A run that a person started.
  virtual Status RecordTriggered(const ScheduleId& id, const SubjectId& run, const std::string& reason) = 0;
};

// The request key under which a fire time starts its run.
inline std::string RequestKeyOf(const ScheduleId& id, std::int64_t nominal) {
  return "schedule:" + id.ToString() + ":" + std::to_string(nominal);
}

}  // namespace acl::schedule
