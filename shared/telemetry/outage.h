#pragma once
// What is said in the log of something outside that may be away: the database, Kafka, a coordinator's doorbell, a collector of traces. One
// line when it goes away, then one a minute with how many calls failed, one when it is back with how long it was away: however often it is
// asked meanwhile. Something that comes and goes all the time counts as away until it has stayed for a while, and for a longer while the
// more often it does so.
//
//   OutageLog database(Logger("worker"), clock, {"cannot reach the database, trying again", "the database is reached again"});
//   database.Failed({{"call", "claim"}, {"error", error}});     // at every failed call
//   database.Worked();                                          // at every call that went through: costs one relaxed load

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "shared/telemetry/log.h"

namespace acl {

// What is to be said now. Pure: the caller brings the time.
class Outage {
 public:
  struct Pace {
    std::chrono::milliseconds repeat{60'000};          // between two lines while it lasts
    std::chrono::milliseconds settle{1'000};           // without a failure before it counts as back
    std::chrono::milliseconds longest_settle{60'000};  // after it has come and gone again and again
  };
  struct Line {
    enum class Kind { kAway, kStillAway, kBack };
    Kind kind;
    std::int64_t failures;         // since it went away
    SteadyTime::duration lasts{};  // since then
  };

  Outage() = default;
  explicit Outage(Pace pace) : pace_(pace), settle_(pace.settle) {}

  std::optional<Line> Failed(SteadyTime now);
  std::optional<Line> Worked(SteadyTime now);

 private:
  Pace pace_;
  std::chrono::milliseconds settle_ = pace_.settle;
  bool away_ = false;
  std::int64_t failures_ = 0;
  SteadyTime since_{}, last_failure_{}, said_{};
  std::optional<SteadyTime> back_at_;
};

// The same, said. Safe from any thread.
class OutageLog {
 public:
  struct Words {
    std::string away, back;
  };

  OutageLog(Logger log, const Clock& clock, Words words, Outage::Pace pace = {})
      : log_(std::move(log)), clock_(clock), words_(std::move(words)), outage_(pace) {}

  void Failed(Logger::Fields fields);
  void Worked() {
    if (away()) SayWorked();
  }
  bool away() const { return away_.load(std::memory_order_relaxed); }

 private:
  void SayWorked();

  const Logger log_;
  const Clock& clock_;
  const Words words_;
  std::atomic<bool> away_{false};
  std::mutex mutex_;
  Outage outage_;
};

}  // namespace acl
