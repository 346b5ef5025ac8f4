#pragma once
// When those who came together go to the database together. A statement for three costs nearly as much as one for ten, so while many runs
// are in flight the next statement waits a moment for more: a small share of what these runs take anyway. While few are in flight
// nobody is kept waiting. Values only; time comes from its user.
//
// BatchInterval:  a share of the load in flight, or a share of its time since the last statement.
// LingerWindow: while others come close behind each other, up to half of the load in flight; runs whose steps are committed together end
// together, and
//        what follows them comes within a moment.

#include <algorithm>
#include <cstddef>
#include <optional>

#include "shared/base/clock.h"

namespace acl::coordinator {

// What is in flight: so many runs, of which each takes so long.
struct InFlightLoad {
  std::size_t runs = 0;
  SteadyTime::duration each{0};
};

// That share of the time that runs take, but never long: runs of a minute are no reason to wait for seconds.
inline SteadyTime::duration ShareOfTime(const InFlightLoad& load, int share) {
  constexpr std::chrono::milliseconds kLongest{10};
  return std::min<SteadyTime::duration>(load.each / share, kLongest);
}

class BatchInterval {
 public:
  // A statement takes a `share`th of the load in flight, or goes after that share of their time.
  explicit BatchInterval(int share) : share_(share) {}

  // A statement of so many began.
  void Went(std::size_t count, SteadyTime now) {
    count_ = count;
    began_ = now;
  }
  // So many need not wait for more.
  std::size_t Enough(const InFlightLoad& load) const { return std::max<std::size_t>(1, load.runs / std::size_t(share_)); }
  // Fewer go then.
  SteadyTime Latest(const InFlightLoad& load) const { return count_ <= 1 ? began_ : began_ + ShareOfTime(load, share_); }

 private:
  const int share_;
  std::size_t count_ = 0;
  SteadyTime began_{};
};

class LingerWindow {
 public:
  // Nobody is kept longer than that share of the time that runs take.
  explicit LingerWindow(int share) : share_(share) {}

  // So many need not wait for more.
  std::size_t Enough(const InFlightLoad& load) const { return load.runs < kFew ? 1 : load.runs / 2; }
  // When to ask again whether the `count` go that are there, the first of them since `first`; `before`: how many there were when this was
  // last asked, 0 if it was not. None: they go.
  std::optional<SteadyTime> Await(const InFlightLoad& load, SteadyTime first, SteadyTime now, std::size_t before, std::size_t count) const {
    const SteadyTime latest = first + ShareOfTime(load, share_);
    if (count >= Enough(load) || count <= before || now >= latest) return std::nullopt;
    return std::min(latest, now + ShareOfTime(load, share_) / kGaps);  // who comes later than that is not close behind
  }

 private:
  static constexpr std::size_t kFew = 8;  // are no load in flight
  static constexpr int kGaps = 4;
  const int share_;
};

}  // namespace acl::coordinator
