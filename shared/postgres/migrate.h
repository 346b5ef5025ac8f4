#pragma once
// Migrations: numbered, forward only, each in one transaction, in dbmate's file format (`-- migrate:up`), embedded in the binary.
// Applied under an advisory lock; the checksum of every applied file is kept and verified; a database that is newer than the binary is
// refused. `schema_migrations(version)` is dbmate's own table, `migration_checksums` ours beside it.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/result.h"

namespace acl::pg {

struct Migration {
  std::string file;  // "0001_roles.sql"
  std::string text;
  std::string Version() const { return file.substr(0, file.find('_')); }
};

// Of the binary, in order.
const std::vector<Migration>& EmbeddedMigrations();

struct MigrationReport {
  std::vector<std::string> applied_now;  // file names
  int already_applied = 0;
};

// How long a migration waits for what others have of a table, and how often: while it waits, everybody else waits behind it.
struct MigrateLimits {
  std::chrono::milliseconds lock_wait{2'000}, lock_pause{1'000};
  int lock_tries = 30;
};

// Brings the database to the binary's version. `conninfo` must log in as a role that may create roles and schema objects.
// kConflict: the database is newer, or an applied file was changed since. kUnavailable, kDenied, kInternal (the SQL failed; nothing of
// that file was kept). kTimeout: somebody had a table for longer than the limits.
Result<MigrationReport> Migrate(const std::string& conninfo, const std::vector<Migration>& migrations = EmbeddedMigrations(),
                                const MigrateLimits& limits = {});

// What `airun db status` and `doctor` ask.
struct DatabaseStatus {
  std::string server_version;        // "15.20"
  int server_version_number = 0;     // 150020
  bool in_recovery = false;          // a standby: nothing can be written
  bool read_only = false;            // it was told to take no writes (default_transaction_read_only)
  std::vector<std::string> applied;  // versions, in order
  std::vector<std::string> pending;  // files of the binary not applied yet
  std::vector<std::string> unknown;  // versions the binary does not know: the database is newer
  std::vector<std::string> changed;  // files that differ from what was applied
  bool right_cluster = true;         // false: restored or copied, tokens are refused until NewEpoch
  std::int64_t epoch = 0;            // of the next token; 0 if not migrated
  WallTime db_now;
  bool ready() const { return pending.empty() && unknown.empty() && changed.empty() && right_cluster && !in_recovery && !read_only; }
  // What keeps the binary from working with it, with the way out; empty if ready().
  std::string Problem() const;
};
Result<DatabaseStatus> ReadDatabaseStatus(const std::string& conninfo, const std::vector<Migration>& migrations = EmbeddedMigrations());

class Connection;
// The same question asked on a connection of a process, whatever its role. OK if the binary may work with this database; kConflict if its
// schema is another one (newer, older, changed), kUnavailable if it is a standby, takes no
// writes or was restored; the message is Problem().
Status CheckDatabase(Connection& connection);

// After any restore from a backup: every later token is above `above` and above what this database ever gave out. Returns the new epoch.
Result<std::int64_t> NewEpoch(const std::string& conninfo, std::optional<Token> above);

}  // namespace acl::pg
