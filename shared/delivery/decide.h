#pragma once
// What becomes of a message after an attempt. Pure: the caller has the clock and the dice.

#include <array>

#include "shared/delivery/store.h"

namespace acl::delivery {

// Before the second attempt, the third ... of more than three days together, as Standard Webhooks recommends; each by up to a fifth shorter
// or longer, so that many that failed together do not come back together.
inline constexpr std::array<std::chrono::seconds, 9> kWaits{
    std::chrono::seconds(5), std::chrono::minutes(5), std::chrono::minutes(30), std::chrono::hours(2),  std::chrono::hours(5),
    std::chrono::hours(10),  std::chrono::hours(14),  std::chrono::hours(20),   std::chrono::hours(24),
};
inline constexpr int kMostFailures = int(kWaits.size()) + 1;  // the last one makes it dead

// What an attempt met.
struct Answer {
  int status = 0;     // of HTTP; 0: none. Of Kafka 200, once the message is on every in-sync replica
  std::string error;  // why there is no status, or what came with it that matters
  std::optional<milliseconds> retry_after;
  bool for_good = false;  // no further attempt can do better: there is no such endpoint, or our own rules refuse it
  bool ours = false;      // this process ended first: it does not count as a failure
};

struct Verdict {
  State state = State::kPending;
  int failures = 0;
  milliseconds again_in{0};
  std::string error;  // empty: delivered
};

// `unit` in [0, 1): the dice.
Verdict Judge(const Answer& answer, int failures, double unit);
// Before attempt `failures` + 1, 0 < failures < kMostFailures.
milliseconds WaitAfter(int failures, double unit);

}  // namespace acl::delivery
