#pragma once
// When those who came together go to the database together. A statement for three costs nearly as much as one for ten, so while many runs
// are in flight the next statement waits a moment for more: a small share of what these runs take anyway. Who is alone is never kept
// waiting. Values only; time comes from its user.
//
// Pace:  a share of the crowd, or a share of its time since the last statement.
// Flock: while others come close behind each other, up to half of the crowd; runs whose steps are committed together end together, and
//        what follows them comes within a moment.

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

class Flock {
 public:
  // Nobody is kept longer than that share of the time that runs take.
  explicit Flock(int share) : share_(share) {}

  // So many need not wait for more.
  std::size_t Enough(const Crowd& crowd) const { return crowd.runs < kFew ? 1 : crowd.runs / 2; }
  // If for so long nobody came, nobody is close behind.
  SteadyTime::duration Gap(const Crowd& crowd) const { return Part(crowd, 4 * share_, kLongest / 4); }
  // Those of whom the first came then go at the latest.
  SteadyTime Latest(const Crowd& crowd, SteadyTime first) const { return first + Part(crowd, share_, kLongest); }

 private:
  static SteadyTime::duration Part(const Crowd& crowd, int share, SteadyTime::duration longest) {
    return std::min<SteadyTime::duration>(crowd.each / share, longest);
  }

  static constexpr std::size_t kFew = 8;  // are no crowd
  static constexpr SteadyTime::duration kLongest = std::chrono::milliseconds(10);
  const int share_;
};

}  // namespace acl::coordinator
