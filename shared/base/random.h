#pragma once
// Randomness is asked for, never taken, so that a simulation is repeatable.

#include <cstdint>
#include <random>

#include "shared/base/ids.h"

namespace acl {

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t Next() = 0;

  // Uniform in [0, bound); bound > 0.
  std::uint64_t Below(std::uint64_t bound) { return Next() % bound; }
  // Uniform in [0, 1).
  double Unit() { return double(Next() >> 11) * 0x1.0p-53; }
};

// The operating system's randomness (getrandom); safe from any thread.
class SystemRandom final : public Random {
 public:
  std::uint64_t Next() override;
};

// A seeded generator for tests and the simulator.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t Next() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace acl
