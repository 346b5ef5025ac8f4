#include "shared/schedule/due.h"

#include <algorithm>
#include <deque>

namespace acl::schedule {
namespace {

constexpr std::pair<Overlap, std::string_view> kOverlaps[] = {
    {Overlap::kSkip, "skip"}, {Overlap::kBufferOne, "buffer_one"}, {Overlap::kCancelOther, "cancel_other"}, {Overlap::kAllow, "allow"}};

// Missed times are counted one by one up to here (a day of seconds), then skipped over: a fleet that was off for a year starts at once.
constexpr std::int64_t kMostCounted = 86'400;

struct Due {
  std::deque<std::int64_t> times;  // to be started or skipped
  std::optional<Fire> missed;
  std::optional<std::int64_t> next;
};

void Miss(Due& due, std::int64_t time) {
  if (!due.missed) due.missed = Fire{time, Fire::What::kMissed, 0, time};
  ++due.missed->count;
  due.missed->last = time;
}

Due FindDue(const Cron& cron, const TimeZone& zone, const Policy& policy, const State& state, std::int64_t now) {
  Due due;
  const std::int64_t oldest = now - policy.catchup_seconds;
  const auto exists = [&](std::int64_t time) { return std::find(state.started.begin(), state.started.end(), time) != state.started.end(); };
  for (due.next = state.next_fire_at; due.next && *due.next <= now;) {
    const std::int64_t time = *due.next;
    if (time >= oldest || exists(time)) {
      due.times.push_back(time);
      if (due.times.size() > std::size_t(kMostAtOnce)) {
        Miss(due, due.times.front());
        due.times.pop_front();
      }
    } else {
      Miss(due, time);
    }
    const bool jump = due.missed && due.missed->count >= kMostCounted && time < oldest;
    due.next = NextFire(cron, zone, jump ? oldest - 1 : time);
  }
  return due;
}

}  // namespace

std::string_view OverlapName(Overlap overlap) {
  for (const auto& [value, name] : kOverlaps) {
    if (value == overlap) return name;
  }
  return "skip";
}

std::optional<Overlap> ParseOverlap(std::string_view text) {
  for (const auto& [value, name] : kOverlaps) {
    if (name == text) return value;
  }
  return std::nullopt;
}

Decision DueFires(const Cron& cron, const TimeZone& zone, const Policy& policy, const State& state, std::int64_t now) {
  const Due due = FindDue(cron, zone, policy, state, now);
  Decision out;
  out.next_fire_at = due.next;
  out.waiting = state.waiting;
  if (due.missed) out.fires.push_back(*due.missed);
  bool running = state.running;
  const auto start = [&](std::int64_t time) {
    out.fires.push_back({time, Fire::What::kStart});
    running = true;
  };
  const auto skip = [&](std::int64_t time) { out.fires.push_back({time, Fire::What::kSkippedOverlap}); };
  const auto exists = [&](std::int64_t time) { return std::find(state.started.begin(), state.started.end(), time) != state.started.end(); };
  if (out.waiting && (!running || policy.overlap == Overlap::kAllow || exists(*out.waiting))) {
    start(*out.waiting);
    out.waiting.reset();
  }
  for (const std::int64_t time : due.times) {
    if (!running || policy.overlap == Overlap::kAllow || exists(time)) {
      start(time);
    } else if (policy.overlap == Overlap::kBufferOne && !out.waiting) {
      out.waiting = time;
    } else if (policy.overlap == Overlap::kCancelOther) {
      if (out.waiting) skip(*out.waiting);
      out.waiting = time;
      out.cancel_running = true;
    } else {
      skip(time);
    }
  }
  return out;
}

}  // namespace acl::schedule
