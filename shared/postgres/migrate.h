#pragma once
// The schema of the database, embedded in the binary: migrations, and behind them functions and views (schema_objects.h).
//
// Migrations are numbered, forward only, each in one transaction, in dbmate's file format (`-- migrate:up`). They are applied under an
// advisory lock; the checksum of every applied file is kept and verified; a database that has migrations unknown to the binary is refused.
// `schema_migrations(version)` is dbmate's own table, `migration_checksums` ours beside it. The rules for whoever writes one:
// migrations/README.md.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/result.h"
#include "shared/postgres/schema_objects.h"

namespace acl::pg {

struct Migration {
  std::string file;  // "0001_roles.sql"
  std::string text;
  std::string Version() const { return file.substr(0, file.find('_')); }
};

struct Schema {
  std::vector<Migration> migrations;  // in order
  std::vector<SchemaObject> objects;  // as ObjectsInOrder
};

// Of the binary.
const Schema& EmbeddedSchema();

struct MigrationReport {
  std::vector<std::string> applied_now;  // file names of migrations
  int already_applied = 0;
  std::vector<std::string> objects_now;    // file names of functions and views, "functions/mint_tokens.sql"
  std::vector<std::string> newer_objects;  // which the database has in a later version: left as they are
};

// How long a step waits for what others have of a table, and how often: while it waits, everybody else waits behind it.
struct MigrateLimits {
  std::chrono::milliseconds lock_wait{2'000}, lock_pause{1'000};
  int lock_tries = 30;
};

// Brings the database to the binary's version. `conninfo` must log in as a role that may create roles and schema objects.
// kConflict: the database is newer, an applied file was changed since, or a function has two texts of one version. kUnavailable, kDenied,
// kInternal (the SQL failed; nothing of that file was kept). kTimeout: somebody had a table for longer than the limits.
Result<MigrationReport> Migrate(const std::string& conninfo, const Schema& schema = EmbeddedSchema(), const MigrateLimits& limits = {});

// What `airun db status` and `doctor` ask.
struct DatabaseStatus {
  std::string server_version;                                 // "15.20"
  int server_version_number = 0;                              // 150020
  bool in_recovery = false;                                   // a standby: nothing can be written
  bool read_only = false;                                     // it was told to take no writes (default_transaction_read_only)
  std::vector<std::string> applied;                           // versions, in order
  std::vector<std::string> pending;                           // files of the binary not applied yet
  std::vector<std::string> unknown;                           // versions the binary does not know: the database is newer
  std::vector<std::string> changed;                           // files that differ from what was applied
  std::vector<std::string> pending_objects, changed_objects;  // the same of functions and views
  std::vector<std::string> newer_objects;  // of a later version than the binary's: it works with them (migrations/README.md)
  bool right_cluster = true;               // false: restored or copied, tokens are refused until NewEpoch
  std::int64_t epoch = 0;                  // of the next token; 0 if not migrated
  WallTime db_now;
  // Everything that the binary has is applied, and nothing else stands against it.
  bool right_schema() const {
    return pending.empty() && unknown.empty() && changed.empty() && pending_objects.empty() && changed_objects.empty();
  }
  bool ready() const { return right_schema() && right_cluster && !in_recovery && !read_only; }
  // What keeps the binary from working with it, with the way out; empty if ready().
  std::string Problem() const;
};
Result<DatabaseStatus> ReadDatabaseStatus(const std::string& conninfo, const Schema& schema = EmbeddedSchema());

class Connection;
// The same question asked on a connection of a process, whatever its role. OK if the binary may work with this database; kConflict if its
// schema is another one (newer, older, changed), kUnavailable if it is a standby, takes no
// writes or was restored; the message is Problem().
Status CheckDatabase(Connection& connection);

// After any restore from a backup: every later token is above `above` and above what this database ever gave out. Returns the new epoch.
Result<std::int64_t> NewEpoch(const std::string& conninfo, std::optional<Token> above);

}  // namespace acl::pg
