#include "shared/base/uuid7.h"

namespace acl {

namespace {
constexpr std::uint32_t kCounterEnd = 1u << 12;
// A new millisecond starts its counter at random below this, which leaves half of it to count up (RFC 9562, 6.2 method 1).
constexpr std::uint32_t kCounterSeedEnd = 1u << 11;
}  // namespace

Uuid Uuid7Maker::Make() {
  const std::int64_t now_ms = MicrosOf(clock_.Wall()) / 1000;
  std::int64_t ms;
  std::uint32_t counter;
  std::uint64_t random;
  {
    std::lock_guard lock(mutex_);
    random = random_.Next();
    if (now_ms > last_ms_) {
      last_ms_ = now_ms;
      counter_ = std::uint32_t(random_.Next() % kCounterSeedEnd);
    } else if (++counter_ == kCounterEnd) {
      ++last_ms_;  // runs ahead of the clock by a millisecond rather than going back
      counter_ = 0;
    }
    ms = last_ms_;
    counter = counter_;
  }
  Uuid uuid;
  for (int i = 0; i < 6; ++i) uuid.bytes[size_t(i)] = std::uint8_t(ms >> (40 - 8 * i));
  uuid.bytes[6] = std::uint8_t(0x70 | (counter >> 8));
  uuid.bytes[7] = std::uint8_t(counter);
  for (int i = 0; i < 8; ++i) uuid.bytes[size_t(8 + i)] = std::uint8_t(random >> (56 - 8 * i));
  uuid.bytes[8] = std::uint8_t(0x80 | (uuid.bytes[8] & 0x3f));
  return uuid;
}

Uuid NewUuid7() {
  // Never destroyed: ids are also made while a process goes down.
  static const SystemClock& clock = *new SystemClock;
  static Random& random = *new SystemRandom;
  static Uuid7Maker& maker = *new Uuid7Maker(clock, random);
  return maker.Make();
}

}  // namespace acl
