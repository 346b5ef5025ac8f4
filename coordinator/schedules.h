#pragma once
// The job "schedules": starts the runs of fire times that have come (shared/schedule/due.h decides, this does it).
//
//   look -> for each due schedule and fire time: say that it starts (it becomes the one that waits) -> make its run, under a request key
//   of its fire time -> write down what became of it and move on; each word of it by compare-and-set
//
// A process may end between any two of these, and two may do them at once: the request key makes one run of a fire time, until the schedule
// has moved on somebody looks again, and what was said to start nobody calls missed or skipped, however late the request for its run
// arrives. What the database's clock does not call due is not started.

#include "coordinator/jobs.h"
#include "coordinator/run_maker.h"
#include "shared/schedule/store.h"

namespace acl::coordinator {

struct ScheduleContext {
  schedule::ScheduleStore& schedules;
  RunMaker maker;
  Metrics& metrics;
  Bell bell;
};

Tick SchedulesJob(const ScheduleContext& context, std::chrono::milliseconds longest);

// One run of a schedule. `nominal` (RFC 3339) is its input `scheduled_time`, if the workflow declares one. Errors as MakeRun's, and
// kInvalid if the workflow does not load any more. `asked_by`: who wants it now, and counts as who asks where it asks for an approval.
Result<MadeRun> StartScheduled(const RunMaker& maker, const schedule::ScheduleRow& row, const std::string& nominal, const std::string& key,
                               const Hash256& hash, const std::string& asked_by = "");
// What such a run is made of, not made: for checks before anything is stored.
Result<workflow::CreateRequest> ScheduledRequest(const WorkflowDefinition& definition, const schedule::ScheduleRow& row,
                                                 const std::string& nominal);

inline std::int64_t SecondsOf(WallTime time) { return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count(); }
inline WallTime WallTimeFromSeconds(std::int64_t seconds) { return WallTimeFromMicros(seconds * 1'000'000); }

}  // namespace acl::coordinator
