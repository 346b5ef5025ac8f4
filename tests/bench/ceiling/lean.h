#pragma once
// The model's own tables and its statement: rows as lean as a durable, fenced step can be, committed in batches with nothing above
// PostgreSQL. A step is one attempt row, one completion row, two events with a checksum, and the compare-and-set of its run's row.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/bench/wire/database.h"

namespace acl::bench {

inline constexpr int kModelSteps = 10;
inline constexpr int kPayloadBytes = 200;  // stored twice: as result and in the event

// Drops and makes the schema `lean`, with runs 0 .. runs - 1.
void MakeLeanTables(Database* database, std::int64_t runs);

// One commit being filled: steps of distinct runs, and runs that begin.
class LeanBatch {
 public:
  // Once for each connection.
  static void Prepare(Database* database);

  void Clear();
  void AddRun(std::int64_t run) {
    new_runs_.AddInt64(run);
    ++runs_;
  }
  void AddStep(std::int64_t run, int step);  // 1 is the first
  int steps() const { return steps_; }
  int size() const { return steps_ + runs_; }
  void Send(Database* database);
  // After Database::Finished: the number of steps that were committed must be what was sent.
  static void Check(long committed, int sent);

 private:
  int steps_ = 0, runs_ = 0;
  std::string payload_ = std::string(kPayloadBytes, 'a');
  ArrayParam run_{kInt64Oid}, step_{kInt32Oid}, base_{kInt32Oid}, result_{kBytesOid}, event_{kBytesOid}, sum_{kBytesOid},
      status_{kInt16Oid}, new_runs_{kInt64Oid};
};

}  // namespace acl::bench
