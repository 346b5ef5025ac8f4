#pragma once
// When those who came together go to the database together. A statement for three costs nearly as much as one for ten, so while many runs
// are in flight the next statement waits a moment for more: a small share of what these runs take anyway. Who is alone is never kept
// waiting. Values only; time comes from its user.

#include <algorithm>
#include <cstddef>

#include "shared/base/clock.h"

namespace acl::coordinator {

// What is in flight: so many runs, of which each takes so long.
struct Crowd {
  std::size_t runs = 0;
  SteadyTime::duration each{0};
};

class Pace {
 public:
  // A statement takes a `share`th of the crowd, or goes after that share of their time.
  explicit Pace(int share) : share_(share) {}

  // A statement of so many began.
  void Went(std::size_t count, SteadyTime now) {
    count_ = count;
    began_ = now;
  }
  // So many need not wait for more.
  std::size_t Enough(const Crowd& crowd) const { return std::max<std::size_t>(1, crowd.runs / std::size_t(share_)); }
  // Fewer go then.
  SteadyTime Latest(const Crowd& crowd) const {
    if (count_ <= 1) return began_;
    return began_ + std::min<SteadyTime::duration>(crowd.each / share_, kLongest);
  }

 private:
  static constexpr std::chrono::milliseconds kLongest{10};
  const int share_;
  std::size_t count_ = 0;
  SteadyTime began_{};
};

}  // namespace acl::coordinator
