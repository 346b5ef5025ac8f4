#include "coordinator/backend.h"

#include "shared/objectstore/open_store.h"
#include "shared/postgres/migrate.h"
#include "shared/postgres/pg_approval_store.h"
#include "shared/postgres/pg_ask_rows.h"
#include "shared/postgres/pg_delivery_store.h"
#include "shared/postgres/pg_project_names.h"
#include "shared/postgres/pg_queries.h"
#include "shared/postgres/pg_schedule_store.h"
#include "shared/postgres/pg_store.h"

namespace acl::coordinator {
namespace {

Result<DatabaseState> Probe(const std::string& conninfo) {
  auto status = pg::ReadDatabaseStatus(conninfo);
  if (!status) return status.error();
  return DatabaseState{status->ready(), status->Problem()};
}

}  // namespace

Backend MakePgBackend(const Settings& settings) {
  Backend backend;
  PgStoreOptions options;
  options.conninfo = settings.database_url;
  options.application_name = "acl-coordinator";
  options.connections = settings.db_connections;
  options.lock_timeout = std::min(options.lock_timeout, settings.lease_ttl / 4);  // it waits for no lease longer than a worker does
  options.commit_connections = 1;                                                 // a coordinator creates, it does not commit steps
  static const SystemClock clock;
  auto objects = OpenObjectStore(settings, clock, backend.metrics.get());
  if (!objects) backend.sound = objects.error();
  if (objects) options.objects = std::move(*objects);
  auto memory = memory::OpenMemory(settings, clock);
  if (!memory) backend.sound = memory.error();
  if (memory) backend.memory = std::move(*memory);
  options.object_prefix = settings.s3_prefix;
  options.object_bytes = settings.large_value_bytes;
  auto store = std::make_unique<PgStore>(std::move(options));
  backend.queries = std::make_unique<PgQueries>(*store);
  backend.keys = std::make_unique<PgKeyStore>(store->pool());
  backend.coordinators = std::make_unique<PgCoordinatorStore>(store->pool());
  backend.schedules = std::make_unique<schedule::PgScheduleStore>(store->pool());
  backend.deliveries = std::make_unique<delivery::PgDeliveryStore>(store->pool());
  backend.approvals = std::make_unique<approval::PgApprovalStore>(store->pool());
  backend.project_names = std::make_unique<PgProjectNames>(store->pool());
  backend.ask_rows = std::make_unique<PgAskRows>(store->pool());
  backend.store = std::move(store);
  backend.probe = [conninfo = settings.database_url] { return Probe(conninfo); };
  return backend;
}

}  // namespace acl::coordinator
