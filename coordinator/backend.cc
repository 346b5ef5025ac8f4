#include "coordinator/backend.h"

#include <fmt/ranges.h>

#include "shared/postgres/migrate.h"
#include "shared/postgres/pg_queries.h"
#include "shared/postgres/pg_store.h"

namespace acl::coordinator {
namespace {

Result<DatabaseState> Probe(const std::string& conninfo) {
  auto status = pg::ReadDatabaseStatus(conninfo);
  if (!status) return status.error();
  DatabaseState state{status->ready(), ""};
  if (state.migrated) return state;
  if (!status->pending.empty()) {
    state.detail = fmt::format("the database lacks {} migration{} ({}): run `airun db migrate`", status->pending.size(),
                               status->pending.size() == 1 ? "" : "s", fmt::join(status->pending, ", "));
  } else if (!status->unknown.empty()) {
    state.detail =
        fmt::format("the database is newer than this program (it has {}): start a newer version", fmt::join(status->unknown, ", "));
  } else if (!status->changed.empty()) {
    state.detail = fmt::format("migrations differ from what was applied ({}): this program is not the one that made the database",
                               fmt::join(status->changed, ", "));
  } else if (!status->right_cluster) {
    state.detail = "the database was restored or copied: run `airun db new-epoch` once, then it goes on";
  } else if (status->in_recovery) {
    state.detail = "this server is a standby: point database_url at the primary";
  }
  return state;
}

}  // namespace

Backend MakePgBackend(const Settings& settings) {
  Backend backend;
  PgStoreOptions options;
  options.conninfo = settings.database_url;
  options.application_name = "acl-coordinator";
  options.connections = settings.db_connections;
  options.commit_connections = 1;  // a coordinator creates, it does not commit steps
  auto store = std::make_unique<PgStore>(std::move(options));
  backend.queries = std::make_unique<PgQueries>(*store);
  backend.keys = std::make_unique<PgKeyStore>(store->pool());
  backend.store = std::move(store);
  backend.probe = [conninfo = settings.database_url] { return Probe(conninfo); };
  return backend;
}

}  // namespace acl::coordinator
