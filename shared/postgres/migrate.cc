#include "shared/postgres/migrate.h"

#include <algorithm>
#include <map>
#include <thread>

#include "shared/base/sha256.h"
#include "shared/postgres/connection.h"

namespace acl::pg {
namespace {

constexpr const char* kLock = "SELECT pg_advisory_lock(hashtext('acl.migrate'))";
constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS public.schema_migrations (version varchar(128) PRIMARY KEY);"
    "CREATE TABLE IF NOT EXISTS public.migration_checksums (version text PRIMARY KEY, file text NOT NULL, checksum text NOT NULL,"
    " applied_at timestamptz NOT NULL DEFAULT clock_timestamp());"
    "GRANT SELECT ON public.schema_migrations, public.migration_checksums TO PUBLIC";
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

std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) {
    out += c;
    if (c == '\'') out += '\'';
  }
  return out + "'";
}

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

Status ApplyOnce(Connection& connection, const Migration& migration, const std::string& up, milliseconds lock_wait) {
  if (Status begun = connection.Begin(); !begun) return begun;
  auto ran = connection.RunScript("SET LOCAL lock_timeout = " + std::to_string(lock_wait.count()));
  if (ran) ran = connection.RunScript(up);
  if (!ran) {
    connection.Rollback();
    return Error{ran.code(), "migration " + migration.file + " failed and was rolled back: " + ran.message()};
  }
  if (Status recorded = Record(connection, migration, true); !recorded) return recorded;
  return connection.Commit();
}

// Whoever waits for a lock of a whole table has everybody else wait behind: for a moment, and then they go on before it is tried again.
Status Apply(Connection& connection, const Migration& migration, const MigrateLimits& limits) {
  auto up = UpPart(migration);
  if (!up) return up.error();
  for (int n = 1;; ++n) {
    Status done = ApplyOnce(connection, migration, *up, limits.lock_wait);
    if (done || done.message().find("[55P03]") == std::string::npos) return done;
    if (n >= limits.lock_tries) {
      return Error{Code::kTimeout, done.message() +
                                       "; something reads a table for long (pg_dump, a verification of all): let it end, or end it, "
                                       "and migrate again"};
    }
    std::this_thread::sleep_for(limits.lock_pause);
  }
}

}  // namespace

Result<MigrationReport> Migrate(const std::string& conninfo, const std::vector<Migration>& migrations, const MigrateLimits& limits) {
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

  Comparison compared = Compare(migrations, *applied);
  if (!compared.unknown.empty()) {
    return Error{Code::kConflict, "the database is newer than this program: it has migrations " + Joined(compared.unknown) +
                                      " that the program does not know; use the newer program"};
  }
  if (!compared.changed.empty()) {
    return Error{Code::kConflict, "applied migrations were changed since: " + Joined(compared.changed) +
                                      "; restore the files, changes go into a new migration"};
  }
  MigrationReport report;
  report.already_applied = int(applied->size());
  for (const Migration& migration : migrations) {
    auto it = applied->find(migration.Version());
    if (it != applied->end() && it->second.empty()) {
      if (Status adopted = Record(connection, migration, false); !adopted) return adopted.error();
    }
  }
  for (const Migration* migration : compared.pending) {
    if (Status done = Apply(connection, *migration, limits); !done) return done.error();
    report.applied_now.push_back(migration->file);
  }
  return report;
}

namespace {

Result<DatabaseStatus> ReadStatus(Connection& connection, const std::vector<Migration>& migrations) {
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
  Comparison compared = Compare(migrations, applied);
  for (const auto& [version, checksum] : applied) status.applied.push_back(version);
  for (const Migration* migration : compared.pending) status.pending.push_back(migration->file);
  status.unknown = compared.unknown;
  status.changed = compared.changed;
  if (compared.pending.empty() && !status.in_recovery) {
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

Result<DatabaseStatus> ReadDatabaseStatus(const std::string& conninfo, const std::vector<Migration>& migrations) {
  auto opened = Connection::Open(AdminSettings(conninfo));
  if (!opened) return opened.error();
  return ReadStatus(**opened, migrations);
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
  if (!right_cluster) return "the database was restored or copied: run `airun db new-epoch` once, then it goes on";
  if (in_recovery) return "this server is a standby: point database_url at the primary";
  if (read_only) return "the database takes no writes (default_transaction_read_only is on): let it, or point database_url elsewhere";
  return {};
}

Status CheckDatabase(Connection& connection) {
  auto status = ReadStatus(connection, EmbeddedMigrations());
  if (!status) return status.error();
  if (status->ready()) return {};
  const bool other_schema = !status->pending.empty() || !status->unknown.empty() || !status->changed.empty();
  return Error{other_schema ? Code::kConflict : Code::kUnavailable, status->Problem()};
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
