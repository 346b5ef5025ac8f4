#pragma once
// What the observational tools read (sight_tools.h): one function for each, which blocks, changes nothing and gives what it could read. A
// value that it could not read is an unknown by the value's name; if it could read none of them, it is an error that says why.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/json.h"
#include "shared/base/result.h"
#include "shared/kernel/queries.h"
#include "shared/postgres/pg_coordinator_store.h"

namespace acl::coordinator {

class Reading {
 public:
  void Value(const std::string& name, Json value) { values[name] = std::move(value); }
  // `why` is told only if nothing else could be read.
  void Unknown(const std::string& name, const std::string& why);
  // The error if there are no values.
  Result<Reading> OrError() &&;

  Json values = Json::object();
  std::vector<std::string> unknowns;

 private:
  std::string why_;
};

// This host. `proc`: where the kernel shows its files; `folder`: whose file system is meant by "disk".
Result<Reading> ReadHostHealth(const std::string& proc, const std::string& folder);
// The file systems of these folders; each is asked once, though several folders are on it.
Result<Reading> ReadDisks(const std::vector<std::string>& folders);

// A folder as one digest. Symbolic links are not followed, other file systems are not entered, no file is opened.
struct FolderState {
  std::int64_t files = 0, folders = 0, bytes = 0;
  std::optional<WallTime> newest;  // last change of a file
  std::string digest;              // "sha256:...", over names, sizes and times of change; empty: not all of it was read
  std::int64_t unread = 0;         // folders and files that could not be looked at
  bool cut = false;                // there is more than may be read
};
struct FolderBounds {
  std::int64_t entries = 50'000;
  std::chrono::milliseconds time{2'000};
};
Result<FolderState> LookAtFolder(const std::string& folder, const FolderBounds& bounds, const Clock& clock);
Result<Reading> ReadIndexStatus(const Result<FolderState>& state);

// Whether a folder differs from how it was when this process last looked. Not for several threads.
class FolderChange {
 public:
  Result<Reading> Read(const Result<FolderState>& state, WallTime now);

 private:
  std::optional<FolderState> before_;
  WallTime before_at_{};
};

// ACL itself, as the database has it. `coordinators` may be null: unknown.
struct FleetSources {
  Queries& queries;
  CoordinatorStore* coordinators;
};
Result<Reading> ReadServices(const FleetSources& fleet, WallTime now);
Result<Reading> ReadFleetHealth(const FleetSources& fleet);
Result<Reading> ReadQueueDepth(const FleetSources& fleet);
Result<Reading> ReadStuckRuns(const FleetSources& fleet, WallTime now);

}  // namespace acl::coordinator
