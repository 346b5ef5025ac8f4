#pragma once
// Adaptive batching of requests to the database. A statement for ten runs costs little more than one for three, so while many runs are in
// flight the next statement waits a moment for more runs: at most 10 ms, and a small share of the time that these runs take. While few
// runs are in flight nobody waits. Values only; the caller brings the time.
//
// BatchInterval: the next statement goes when a share of the runs in flight waits for it, or a share of a run's time after the last one.
// LingerWindow:  the next statement goes when half of the runs in flight wait for it, or when no further run arrives close behind. Runs
//                whose steps were committed together end together, so their next requests arrive together as well.

#include <algorithm>
#include <cstddef>
#include <optional>

#include "shared/base/clock.h"

namespace acl::coordinator {

// The runs in flight: how many, and how long each takes.
struct InFlightLoad {
  std::size_t runs = 0;
  SteadyTime::duration each{0};
};

// A share of the time that a run takes, at most kLongest: runs of a minute are no reason to wait for seconds.
inline SteadyTime::duration ShareOfTime(const InFlightLoad& load, int share) {
  constexpr std::chrono::milliseconds kLongest{10};
  return std::min<SteadyTime::duration>(load.each / share, kLongest);
}

class BatchInterval {
 public:
  // `share`: a statement waits for 1/share of the runs in flight, or for 1/share of the time that a run takes.
  explicit BatchInterval(int share) : share_(share) {}

  // A statement with `count` runs began.
  void Went(std::size_t count, SteadyTime now) {
    count_ = count;
    began_ = now;
  }
  // This many runs go at once.
  std::size_t Enough(const InFlightLoad& load) const { return std::max<std::size_t>(1, load.runs / std::size_t(share_)); }
  // When a batch of fewer runs goes.
  SteadyTime Latest(const InFlightLoad& load) const { return count_ <= 1 ? began_ : began_ + ShareOfTime(load, share_); }

 private:
  const int share_;
  std::size_t count_ = 0;
  SteadyTime began_{};
};

class LingerWindow {
 public:
  // `share`: no run waits for longer than 1/share of the time that a run takes.
  explicit LingerWindow(int share) : share_(share) {}

  // This many runs go at once.
  std::size_t Enough(const InFlightLoad& load) const { return load.runs < kFew ? 1 : load.runs / 2; }
  // `count` runs wait, the first of them since `first`; `before` waited at the last call (0: there was none). Returns when to call again,
  // or nothing if the batch goes now.
  std::optional<SteadyTime> Await(const InFlightLoad& load, SteadyTime first, SteadyTime now, std::size_t before, std::size_t count) const {
    const SteadyTime latest = first + ShareOfTime(load, share_);
    if (count >= Enough(load) || count <= before || now >= latest) return std::nullopt;
    return std::min(latest, now + ShareOfTime(load, share_) / kGaps);  // a run that arrives later is not waited for
  }

 private:
  static constexpr std::size_t kFew = 8;  // runs in flight for which nobody waits
  static constexpr int kGaps = 4;
  const int share_;
};

}  // namespace acl::coordinator
