#pragma once
// Sight: the observational tools that this coordinator has (document 004, sections 3 and 7; docs/guides/aegis.md "Sight"). Each gives real
// values and names what it could not read, or says why it gives none. None of them changes anything.
//
// Each tool runs on a thread of its own, so that a disk or database that hangs costs an ask no more than its deadline. At most one look of
// a tool goes on at a time: who asks meanwhile gets the same look. While one hangs beyond `Options::hung`, that tool fails at once.
//
// From any thread. The destructor waits for looks that go on; a disk that never answers ends with the process only.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "coordinator/ask/sight_readings.h"
#include "shared/aegis/kernel_file.h"
#include "shared/base/uuid7.h"
#include "shared/runtime/blocking_pool.h"

namespace acl::coordinator {

// One value of a tool, as docs/guides/aegis.md lists it.
struct SightValue {
  const char *tool, *name, *unit, *about;
};
std::span<const SightValue> SightValues();

class SightTools {
 public:
  // All of it outlives this.
  struct Dependencies {
    Queries& queries;
    CoordinatorStore* coordinators;  // may be null
    const Clock& clock;
    Uuid7Maker& ids;
  };
  struct Options {
    std::vector<std::string> disks;          // folders whose file systems are looked at; the first is the one of sys_health
    std::string index_folder;                // empty: index_status and index_changed are not installed
    FolderBounds index;                      // the most that is read of it
    std::chrono::milliseconds hung{10'000};  // a look that takes longer is not waited for any more
    std::string proc = "/proc";
  };
  SightTools(Dependencies parts, Options options);
  ~SightTools();

  // One output for each observational tool that the kernel declares, in its order, not later than `deadline` (of the clock's steady time).
  // Throws only for want of memory.
  std::vector<aegis::ToolOutput> Look(const aegis::Kernel& kernel, SteadyTime deadline);

 private:
  struct Flight;

  bool Installed(std::string_view tool) const;
  std::shared_ptr<Flight> Join(const std::string& tool);
  aegis::ToolOutput OutputOf(const Flight& flight, SteadyTime deadline);
  void Run(Flight& flight);
  Result<Reading> Read(std::string_view tool, WallTime now);

  const Dependencies parts_;
  const Options options_;
  FolderChange change_;  // of index_changed's one look at a time
  std::mutex mutex_;     // of what follows
  std::condition_variable ended_;
  std::map<std::string, std::shared_ptr<Flight>, std::less<>> flights_;  // by tool, those that go on
  BlockingPool pool_;                                                    // ends first
};

}  // namespace acl::coordinator
