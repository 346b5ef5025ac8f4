#pragma once
// What a schedule does at a moment: which fire times start a run, which are skipped and why, when it is asked again. Pure: the same
// schedule, state and time give the same answer, so two coordinators that ask at once do the same thing (docs/decisions.md, "Waiting").

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/schedule/cron.h"

namespace acl::schedule {

// What happens to a fire time that comes while a run of the schedule is still open.
enum class Overlap {
  kSkip,         // no run
  kBufferOne,    // the first such waits for the end of the open run; others are skipped
  kCancelOther,  // the open run is cancelled, the newest fire time waits for its end
  kAllow,        // a run beside it
};
std::string_view OverlapName(Overlap overlap);  // skip buffer_one cancel_other allow
std::optional<Overlap> ParseOverlap(std::string_view text);

inline constexpr std::int64_t kDefaultCatchup = 60, kMaxCatchup = 86'400;
inline constexpr int kMostAtOnce = 100;  // fire times of one schedule that one answer starts or skips; the newest win

struct Policy {
  Overlap overlap = Overlap::kSkip;
  std::int64_t catchup_seconds = kDefaultCatchup;  // a fire time later than this is missed, not made up
  friend bool operator==(const Policy&, const Policy&) = default;
};

// All times are seconds since 1970.
struct State {
  std::int64_t next_fire_at = 0;
  std::optional<std::int64_t> waiting;  // a fire time that waits for the open run's end
  bool running = false;                 // a run of the schedule is open
  // Fire times not before next_fire_at (or `waiting`) whose run exists already: whoever made it died before it could say so.
  std::vector<std::int64_t> started;
};

struct Fire {
  enum class What { kStart, kSkippedOverlap, kMissed };
  std::int64_t nominal = 0;
  What what = What::kStart;
  std::int64_t count = 1;  // kMissed: one entry for all of them, `nominal` is the first
  std::int64_t last = 0;   // kMissed: the last of them
  friend bool operator==(const Fire&, const Fire&) = default;
};

struct Decision {
  std::vector<Fire> fires;              // what was missed first, then in the order of their times
  std::optional<std::int64_t> waiting;  // from now on
  bool cancel_running = false;          // ask the open run to end first
  std::optional<std::int64_t> next_fire_at;
};

Decision DueFires(const Cron& cron, const TimeZone& zone, const Policy& policy, const State& state, std::int64_t now);

}  // namespace acl::schedule
