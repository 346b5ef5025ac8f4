#include "shared/postgres/pg_store.h"

#include "shared/postgres/migrate.h"
#include "shared/postgres/pool.h"
#include "shared/postgres/seal_cache.h"

namespace acl {
namespace {

pg::ConnectionSettings SettingsOf(const PgStoreOptions& options, bool commits) {
  pg::ConnectionSettings settings;
  settings.conninfo = options.conninfo;
  settings.role = options.role;
  settings.application_name = options.application_name + (commits ? "-commit" : "");
  settings.statement_timeout = options.statement_timeout;
  settings.lock_timeout = options.lock_timeout;
  settings.idle_in_transaction_timeout = options.statement_timeout;
  settings.tcp_user_timeout = options.statement_timeout;
  settings.pinned_plans = true;
  settings.override_sql = options.override_sql;
  return settings;
}

pg::ConnectionSettings SessionSettings(const PgStoreOptions& options) {
  pg::ConnectionSettings settings = SettingsOf(options, false);
  if (options.check_database) settings.on_open = pg::CheckDatabase;
  return settings;
}

}  // namespace

PgStore::PgStore(PgStoreOptions options)
    : pool_(std::make_unique<pg::Pool>(SettingsOf(options, false), options.connections, options.wait_for_connection)),
      commit_pool_(std::make_unique<pg::Pool>(SettingsOf(options, true), options.commit_connections, options.wait_for_connection)),
      session_pool_(std::make_unique<pg::Pool>(SessionSettings(options), 1, options.wait_for_connection)),
      seal_(std::make_unique<SealCache>()),
      objects_(std::move(options.objects)),
      object_prefix_(std::move(options.object_prefix)),
      object_bytes_(options.object_bytes) {}

PgStore::~PgStore() = default;

}  // namespace acl
