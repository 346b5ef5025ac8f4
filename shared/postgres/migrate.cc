#include "shared/postgres/migrate.h"

#include <algorithm>
#include <map>

#include "shared/base/sha256.h"
#include "shared/postgres/connection.h"
#include "shared/postgres/migrate_step.h"

namespace acl::pg {
namespace {

constexpr const char* kLock = "SELECT pg_advisory_lock(hashtext('acl.migrate'))";
constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS public.schema_migrations (version varchar(128) PRIMARY KEY);"
    "CREATE TABLE IF NOT EXISTS public.migration_checksums (version text PRIMARY KEY, file text NOT NULL, checksum text NOT NULL,"
    " applied_at timestamptz NOT NULL DEFAULT clock_timestamp());"
    "CREATE TABLE IF NOT EXISTS public.schema_objects (name text PRIMARY KEY, version int NOT NULL, checksum text NOT NULL,"
    " applied_at timestamptz NOT NULL DEFAULT clock_timestamp());"
    "GRANT SELECT ON public.schema_migrations, public.migration_checksums, public.schema_objects TO PUBLIC";
constexpr const char* kHasTables =
    "SELECT to_regclass('public.schema_migrations') IS NOT NULL AND to_regclass('public.migration_checksums') IS NOT NULL";
constexpr const char* kApplied =
    "SELECT m.version, c.checksum FROM public.schema_migrations m LEFT JOIN public.migration_checksums c USING (version) ORDER BY "
    "m.version";

ConnectionSettings AdminSettings(const std::string& conninfo) {
  ConnectionSettings settings;
  settings.conninfo = conninfo;
  settings.application_name = "acl-admin";
  settings.statement_timeout = milliseconds(600'000);
  settings.lock_timeout = milliseconds(60'000);
  settings.idle_in_transaction_timeout = milliseconds(60'000);
  return settings;
}

std::string Checksum(const Migration& migration) { return ToHex(Sha256(migration.text)); }

// What stands between `-- migrate:up` and `-- migrate:down`.
Result<std::string> UpPart(const Migration& migration) {
  std::size_t up = migration.text.find("-- migrate:up");
  if (up == std::string::npos) return Error{Code::kInvalid, migration.file + ": no line '-- migrate:up'"};
  std::size_t down = migration.text.find("-- migrate:down", up);
  return migration.text.substr(up, down == std::string::npos ? down : down - up);
}

Result<std::map<std::string, std::string>> ReadApplied(Connection& connection) {
  std::map<std::string, std::string> applied;
  auto rows = connection.RunScript(kApplied);
  if (!rows) return rows.error();
  for (int i = 0; i < rows->size(); ++i) applied[rows->Text(i, 0)] = rows->MaybeText(i, 1).value_or("");
  return applied;
}

struct Comparison {
  std::vector<const Migration*> pending;
  std::vector<std::string> unknown, changed, unverified;
};

Comparison Compare(const std::vector<Migration>& migrations, const std::map<std::string, std::string>& applied) {
  Comparison out;
  std::map<std::string, const Migration*> known;
  for (const Migration& migration : migrations) known[migration.Version()] = &migration;
  for (const auto& [version, checksum] : applied) {
    auto it = known.find(version);
    if (it == known.end()) {
      out.unknown.push_back(version);
    } else if (checksum.empty()) {
      out.unverified.push_back(version);  // applied by dbmate
    } else if (checksum != Checksum(*it->second)) {
      out.changed.push_back(it->second->file);
    }
  }
  for (const Migration& migration : migrations) {
    if (applied.count(migration.Version()) == 0) out.pending.push_back(&migration);
  }
  return out;
}

std::string Joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

Status Record(Connection& connection, const Migration& migration, bool both) {
  std::string sql;
  if (both) sql = "INSERT INTO public.schema_migrations (version) VALUES (" + Quoted(migration.Version()) + ");";
  sql += "INSERT INTO public.migration_checksums (version, file, checksum) VALUES (" + Quoted(migration.Version()) + ", " +
         Quoted(migration.file) + ", " + Quoted(Checksum(migration)) + ")";
  auto done = connection.RunScript(sql);
  return done ? Status() : Status(done.error());
}

Status Apply(Connection& connection, const Migration& migration, const MigrateLimits& limits) {
  auto up = UpPart(migration);
  if (!up) return up.error();
  auto step = [&]() -> Status {
    if (auto ran = connection.RunScript(*up); !ran) {
      return Error{ran.code(), "migration " + migration.file + " failed and was rolled back: " + ran.message()};
    }
    return Record(connection, migration, true);
  };
  return RunMigrationStep(connection, "", step, limits);
}

Status RefuseIfUnfit(const Comparison& compared, const ObjectComparison& objects) {
  if (!compared.unknown.empty()) {
    return Error{Code::kConflict, "the database is newer than this program: it has migrations " + Joined(compared.unknown) +
                                      " that the program does not know; use the newer program"};
  }
  if (!compared.changed.empty()) {
    return Error{Code::kConflict, "applied migrations were changed since: " + Joined(compared.changed) +
                                      "; restore the files, changes go into a new migration"};
  }
  if (!objects.changed.empty()) {
    return Error{Code::kConflict, "the database has another text of the same version of " + Joined(objects.changed) +
                                      "; use the program that made it, or raise the versions (./dev migrations)"};
  }
  return {};
}

}  // namespace

Result<MigrationReport> Migrate(const std::string& conninfo, const Schema& schema, const MigrateLimits& limits) {
  auto opened = Connection::Open(AdminSettings(conninfo));
  if (!opened) return opened.error();
  Connection& connection = **opened;
  if (auto locked = connection.RunScript(kLock); !locked) {
    if (locked.code() != Code::kTimeout) return locked.error();
    return Error{Code::kTimeout, "another migration holds the lock for over a minute: wait for it, or end it"};
  }
  if (auto made = connection.RunScript(kTables); !made) return made.error();
  auto applied = ReadApplied(connection);
  if (!applied) return applied.error();
  auto before = CompareObjects(connection, schema.objects);
  if (!before) return before.error();

  Comparison compared = Compare(schema.migrations, *applied);
  if (Status fit = RefuseIfUnfit(compared, *before); !fit) return fit.error();
  MigrationReport report;
  report.already_applied = int(applied->size());
  for (const Migration& migration : schema.migrations) {
    auto it = applied->find(migration.Version());
    if (it != applied->end() && it->second.empty()) {
      if (Status adopted = Record(connection, migration, false); !adopted) return adopted.error();
    }
  }
  for (const Migration* migration : compared.pending) {
    if (Status done = Apply(connection, *migration, limits); !done) return done.error();
    report.applied_now.push_back(migration->file);
  }
  auto objects = CompareObjects(connection, schema.objects);  // once more: a migration drops what is to be made anew
  if (!objects) return objects.error();
  if (Status done = ApplyObjects(connection, objects->pending, limits); !done) return done.error();
  for (const SchemaObject* object : objects->pending) report.objects_now.push_back(object->file());
  report.newer_objects = std::move(objects->newer);
  return report;
}

namespace {

Result<DatabaseStatus> ReadStatus(Connection& connection, const Schema& schema) {
  DatabaseStatus status;
  auto server = connection.RunScript(
      "SELECT current_setting('server_version'), current_setting('server_version_num'), pg_is_in_recovery(), clock_timestamp(), "
      "current_setting('transaction_read_only')::boolean");
  if (!server) return server.error();
  status.server_version = server->Text(0, 0);
  status.server_version_number = int(server->Int(0, 1));
  status.in_recovery = server->Bool(0, 2);
  status.db_now = server->Time(0, 3);
  status.read_only = !status.in_recovery && server->Bool(0, 4);

  auto has_tables = connection.RunScript(kHasTables);
  if (!has_tables) return has_tables.error();
  std::map<std::string, std::string> applied;
  if (has_tables->Bool(0, 0)) {
    auto read = ReadApplied(connection);
    if (!read) return read.error();
    applied = std::move(*read);
  }
  Comparison compared = Compare(schema.migrations, applied);
  auto objects = CompareObjects(connection, schema.objects);
  if (!objects) return objects.error();
  for (const auto& [version, checksum] : applied) status.applied.push_back(version);
  for (const Migration* migration : compared.pending) status.pending.push_back(migration->file);
  status.unknown = compared.unknown;
  status.changed = compared.changed;
  for (const SchemaObject* object : objects->pending) status.pending_objects.push_back(object->file());
  status.changed_objects = std::move(objects->changed);
  status.newer_objects = std::move(objects->newer);
  if (compared.pending.empty() && status.pending_objects.empty() && !status.in_recovery) {
    auto epoch = connection.RunScript("SELECT current_epoch()");
    if (epoch) {
      status.epoch = epoch->Int(0, 0);
    } else if (epoch.message().find("AC004") != std::string::npos) {
      status.right_cluster = false;
    } else {
      return epoch.error();
    }
  }
  return status;
}

}  // namespace

Result<DatabaseStatus> ReadDatabaseStatus(const std::string& conninfo, const Schema& schema) {
  auto opened = Connection::Open(AdminSettings(conninfo));
  if (!opened) return opened.error();
  return ReadStatus(**opened, schema);
}

std::string DatabaseStatus::Problem() const {
  if (!unknown.empty()) {
    return "the database is newer than this program (it has " + Joined(unknown) + "): start a newer version";
  }
  if (!changed.empty()) {
    return "migrations differ from what was applied (" + Joined(changed) + "): this program is not the one that made the database";
  }
  if (!pending.empty()) {
    return "the database lacks " + std::to_string(pending.size()) + " migration" + (pending.size() == 1 ? "" : "s") + " (" +
           Joined(pending) + "): run `airun db migrate`";
  }
  if (!changed_objects.empty()) {
    return "the database has another text of the same version of " + Joined(changed_objects) +
           ": this program is not the one that made the database";
  }
  if (!pending_objects.empty()) {
    return "the database lacks functions or views of this program (" + Joined(pending_objects) + "): run `airun db migrate`";
  }
  if (!right_cluster) return "the database was restored or copied: run `airun db new-epoch` once, then it goes on";
  if (in_recovery) return "this server is a standby: point database_url at the primary";
  if (read_only) return "the database takes no writes (default_transaction_read_only is on): let it, or point database_url elsewhere";
  return {};
}

Status CheckDatabase(Connection& connection) {
  auto status = ReadStatus(connection, EmbeddedSchema());
  if (!status) return status.error();
  if (status->ready()) return {};
  return Error{status->right_schema() ? Code::kUnavailable : Code::kConflict, status->Problem()};
}

Result<std::int64_t> NewEpoch(const std::string& conninfo, std::optional<Token> above) {
  auto opened = Connection::Open(AdminSettings(conninfo));
  if (!opened) return opened.error();
  if (above && (above->value < 0 || above->value >= (std::int64_t(1) << 53))) {
    return Error{Code::kInvalid, "--above must be a fencing token, 0 .. 2^53-1, not " + std::to_string(above->value)};
  }
  auto raised = (*opened)->RunScript("SELECT new_epoch(" + std::to_string(above ? above->value : 0) + ")");
  if (!raised) return raised.error();
  auto epoch = (*opened)->RunScript("SELECT current_epoch()");
  if (!epoch) return epoch.error();
  return epoch->Int(0, 0);
}

}  // namespace acl::pg
