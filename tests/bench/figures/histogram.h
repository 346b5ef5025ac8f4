#pragma once
// Times in buckets less than one percent wide: percentiles of any number of them in a few kilobytes.

#include <array>
#include <bit>
#include <cstdint>

namespace acl::bench {

class Histogram {
 public:
  void Add(std::int64_t nanoseconds) {
    constexpr std::int64_t kMost = std::int64_t(1) << 48;  // three days
    const auto value = static_cast<std::uint64_t>(nanoseconds < 0 ? 0 : nanoseconds > kMost ? kMost : nanoseconds);
    ++counts_[Bucket(value)];
    ++count_;
    max_ = value > max_ ? value : max_;
  }
  std::int64_t count() const { return static_cast<std::int64_t>(count_); }
  double MaxMs() const { return static_cast<double>(max_) / 1e6; }
  // The time that a share `q` of them (0.5, 0.99) took at most; 0 of none.
  double QuantileMs(double q) const {
    const double wanted = q * static_cast<double>(count_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (counts_[i] != 0 && static_cast<double>(seen) >= wanted) {
        const double middle = static_cast<double>(Lower(i) + Lower(i + 1)) / 2;
        return (middle < static_cast<double>(max_) ? middle : static_cast<double>(max_)) / 1e6;
      }
    }
    return MaxMs();
  }
  void Clear() { *this = Histogram(); }

 private:
  // Below 256 ns one bucket each; above it 128 buckets for every doubling.
  static std::size_t Bucket(std::uint64_t value) {
    const auto shift = value < 256 ? 0u : static_cast<unsigned>(std::bit_width(value)) - 8u;
    return static_cast<std::size_t>(shift * 128 + (value >> shift));
  }
  static std::uint64_t Lower(std::size_t bucket) {
    if (bucket < 256) return bucket;
    const std::size_t shift = bucket / 128 - 1;
    return std::uint64_t(bucket - shift * 128) << shift;
  }

  std::array<std::uint64_t, 128 * 44> counts_{};
  std::uint64_t count_ = 0, max_ = 0;
};

}  // namespace acl::bench
