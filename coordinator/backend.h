#pragma once
// What a coordinator stands on: the store, its readers, the keys, and how to ask whether all of it is there. PostgreSQL in production,
// memory in unit tests.

#include <functional>
#include <memory>

#include "coordinator/database_watch.h"
#include "shared/approval/store.h"
#include "shared/config/settings.h"
#include "shared/delivery/store.h"
#include "shared/kernel/ask_rows.h"
#include "shared/kernel/project_names.h"
#include "shared/kernel/queries.h"
#include "shared/kernel/store.h"
#include "shared/memory/memory.h"
#include "shared/postgres/pg_coordinator_store.h"
#include "shared/postgres/pg_key_store.h"
#include "shared/schedule/store.h"
#include "shared/telemetry/metrics.h"

namespace acl::coordinator {

struct Backend {
  std::unique_ptr<Metrics> metrics = std::make_unique<Metrics>();  // of the process; the store counts in it
  std::unique_ptr<KernelStore> store;
  std::unique_ptr<Queries> queries;  // may read through the store: destroyed first
  std::unique_ptr<KeyStore> keys;
  std::unique_ptr<schedule::ScheduleStore> schedules;   // as queries
  std::unique_ptr<delivery::DeliveryStore> deliveries;  // as queries; null: nothing is sent to the outside
  std::unique_ptr<approval::ApprovalStore> approvals;   // as queries; null: nobody lists approvals
  std::unique_ptr<ProjectNames> project_names;          // as queries; null: there are no projects
  std::unique_ptr<AskRows> ask_rows;                    // as queries; null: no language model is asked
  std::unique_ptr<CoordinatorStore> coordinators;       // as queries; null: this one is not announced
  std::unique_ptr<memory::Memory> memory;               // null: none is configured
  DatabaseWatch::Probe probe;
  Status sound;  // an error: the settings cannot work, do not start

  Backend() = default;
  Backend(Backend&&) = default;
  Backend& operator=(Backend&&) = delete;
  ~Backend() {
    coordinators.reset();
    keys.reset();
    schedules.reset();
    deliveries.reset();
    approvals.reset();
    project_names.reset();
    ask_rows.reset();
    queries.reset();
  }
};

Backend MakePgBackend(const Settings& settings);

}  // namespace acl::coordinator
