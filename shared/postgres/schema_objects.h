#pragma once
// Functions and views of the schema, one file each (migrations/functions, migrations/views), applied again when they change.
//
// Each has a version, which is raised whenever its text changes (migrations/versions.txt). The database keeps version and checksum of what
// was applied, in `schema_objects`. A program applies what it has in a higher version, or what is not there; it leaves what the database
// has in a higher version; two texts of one version are a conflict. So an older program never puts its functions over newer ones.

#include <map>
#include <string>
#include <vector>

#include "shared/base/result.h"

namespace acl::pg {

class Connection;
struct MigrateLimits;

struct SchemaObject {
  std::string name;  // "functions/mint_tokens": its file below migrations/, without ".sql"
  std::string text;
  int version = 0;

  std::string file() const { return name + ".sql"; }
  bool is_view() const { return name.starts_with("views/"); }
  // The views that this one reads, from its line `-- reads: a, b`.
  std::vector<std::string> Reads() const;
};

// With the versions of versions.txt (lines of name, version, checksum), in the order in which they are applied: functions by name, for the
// bodies are not looked at then; views by name, each behind those that it reads.
std::vector<SchemaObject> ObjectsInOrder(std::vector<SchemaObject> objects, const std::string& versions);

// What a database has of them, beside what a program has.
struct ObjectComparison {
  std::vector<const SchemaObject*> pending;  // to be applied, in order
  std::vector<std::string> newer;            // left as they are: of a later version, or unknown to the program
  std::vector<std::string> changed;          // of the same version with another text
};

// Before `schema_objects` is there, everything is pending.
Result<ObjectComparison> CompareObjects(Connection& connection, const std::vector<SchemaObject>& objects);

// Applies what is pending, under the lock that the caller holds: all functions in one transaction, for they call each other, then each
// view in one of its own, for a reader of two views would else stand against us in the other order. What readers hold is waited for and
// tried again, as for a migration. Forgets what is neither in the program nor in the database any more.
Status ApplyObjects(Connection& connection, const std::vector<const SchemaObject*>& pending, const MigrateLimits& limits);

}  // namespace acl::pg
