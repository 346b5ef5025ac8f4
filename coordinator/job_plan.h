#pragma once
// Which jobs a coordinator has, and their ticks: one list for the process (app.cc) and for the simulator.

#include "coordinator/commands/command_service.h"
#include "coordinator/deliveries/deliveries.h"
#include "coordinator/relay.h"
#include "coordinator/schedules.h"

namespace acl::coordinator {

struct JobPlan {
  milliseconds timers{1'000}, reap{1'000}, ready{1'000};
  Retention keep{};
  milliseconds content_grace{};
  milliseconds keep_journals{0},
      look_at_journals{3'600'000};  // how long journals stay after the next began, 0: for ever; and how often to look
  // Ready work goes to a message queue: how (RelayOptions::send). Empty: there is none, and no relays.
  RelayOptions::Send send;
  milliseconds unserved{4'000};  // how often to look for what no worker is there to decide
  // Of projects, and how often to look for what was posted to them. Null: there are none.
  CommandService* projects = nullptr;
  CommandService *asks = nullptr, *ledgers = nullptr;  // with the projects; null: there are none
  milliseconds inbox_every{3'000};
  milliseconds posts{3'000};         // how often to look for what subjects say to each other
  Deliveries* deliveries = nullptr;  // null: nothing is sent to the outside
};

struct PlannedJob {
  std::string name;  // of its lease
  Tick tick;
  std::function<void()> on_lost;  // may be empty
};

inline constexpr const char* kSchedulesJob = "schedules";
inline constexpr const char* kProjectsJob = "projects";
inline bool IsRelay(const PlannedJob& job) { return job.name.starts_with("relay-"); }

struct PlannedJobs {
  std::vector<PlannedJob> each;
  ReadyHints hinted;  // empty without relays
};

PlannedJobs PlanJobs(const JobContext& context, const ScheduleContext& schedules, const JobPlan& plan);

}  // namespace acl::coordinator
