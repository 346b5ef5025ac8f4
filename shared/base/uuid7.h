#pragma once
// UUID version 7 (RFC 9562): 48 bits of Unix milliseconds, a 12-bit counter that keeps ids of one process in order, 62 random bits.

#include <mutex>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/random.h"

namespace acl {

// Safe from any thread. Ids of one maker only grow, also when the wall clock is set back.
class Uuid7Maker {
 public:
  Uuid7Maker(const Clock& clock, Random& random) : clock_(clock), random_(random) {}
  Uuid Make();
  template <class IdType>
  IdType New() {
    return IdType{Make()};
  }

 private:
  const Clock& clock_;
  Random& random_;
  std::mutex mutex_;
  std::int64_t last_ms_ = 0;
  std::uint32_t counter_ = 0;
};

// Of the system's clock and randomness.
Uuid NewUuid7();

}  // namespace acl
