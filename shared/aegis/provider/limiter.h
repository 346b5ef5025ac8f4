#pragma once
// How many calls of one provider go on at one time, and how many requests and tokens a minute: pure, the time is given.

#include <cstdint>
#include <deque>
#include <optional>

#include "shared/base/clock.h"

namespace acl::aegis {

struct CallLimits {
  int at_once = 8;
  std::int64_t requests_per_minute = 0;  // 0: no limit
  std::int64_t tokens_per_minute = 0;    // of prompt and answer together; 0: no limit
  int most_waiting = 1'000;              // callers that wait for their turn; one more is refused
};

// What may be taken within a minute, filled again evenly. One that takes more than there can be waits until all is there and leaves a debt.
class MinuteBucket {
 public:
  MinuteBucket(std::int64_t per_minute, SteadyTime now) : per_minute_(per_minute), units_(per_minute * kUnit), at_(now) {}
  // When so much may be taken: now, or later.
  SteadyTime ReadyAt(std::int64_t amount, SteadyTime now);
  void Take(std::int64_t amount, SteadyTime now);
  void Refund(std::int64_t amount, SteadyTime now);  // negative: more was used than taken

 private:
  static constexpr std::int64_t kUnit = 60'000;  // of one token or request: so one millisecond fills in per_minute units
  void Fill(SteadyTime now);

  const std::int64_t per_minute_;  // 0: no limit
  std::int64_t units_;
  SteadyTime at_;
};

// Callers go in the order they came. Not safe from several threads: who shares it locks.
class CallLimiter {
 public:
  using Ticket = std::uint64_t;

  CallLimiter(const CallLimits& limits, SteadyTime now);

  // A place in the queue; nullopt: too many wait.
  std::optional<Ticket> Queue();
  // Whether this ticket may begin now. If not: when to ask again; SteadyTime::max(): when another call has ended or left the queue.
  struct Turn {
    bool now = false;
    SteadyTime ask_again = SteadyTime::max();
  };
  Turn Begin(Ticket ticket, std::int64_t tokens, SteadyTime now);
  void Leave(Ticket ticket);                                                             // without having begun
  void End(std::int64_t tokens_taken, std::int64_t tokens_used, SteadyTime now);         // of one that has begun
  void CloseUntil(SteadyTime until) { closed_until_ = std::max(closed_until_, until); }  // the provider asked everybody to wait

  int running() const { return running_; }

 private:
  const CallLimits limits_;
  MinuteBucket requests_, tokens_;
  std::deque<Ticket> queue_;
  Ticket last_ = 0;
  int running_ = 0;
  SteadyTime closed_until_ = SteadyTime::min();
};

}  // namespace acl::aegis
