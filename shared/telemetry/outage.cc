#include "shared/telemetry/outage.h"

#include <algorithm>

namespace acl {

namespace {
constexpr std::chrono::milliseconds kShortestAgain{1'000};
}

std::optional<Outage::Line> Outage::Failed(SteadyTime now) {
  last_failure_ = now;
  if (!away_) {
    // Back for less than a few minutes: it comes and goes, and counts as back later the next time.
    const bool again = back_at_ && now - *back_at_ < pace_.repeat + settle_;
    settle_ = again ? std::clamp(settle_ * 2, kShortestAgain, pace_.longest_settle) : pace_.settle;
    away_ = true;
    failures_ = 1;
    since_ = said_ = now;
    return Line{Line::Kind::kAway, 1, {}};
  }
  ++failures_;
  if (now - said_ < pace_.repeat) return std::nullopt;
  said_ = now;
  return Line{Line::Kind::kStillAway, failures_, now - since_};
}

std::optional<Outage::Line> Outage::Worked(SteadyTime now) {
  if (!away_ || now - last_failure_ < settle_) return std::nullopt;
  away_ = false;
  back_at_ = now;
  return Line{Line::Kind::kBack, failures_, now - since_};
}

void OutageLog::Failed(Logger::Fields fields) {
  std::optional<Outage::Line> line;
  {
    std::lock_guard lock(mutex_);
    line = outage_.Failed(clock_.Steady());
    away_.store(true, std::memory_order_relaxed);
  }
  if (!line) return;
  if (line->kind == Outage::Line::Kind::kAway) return log_.Warn(words_.away, fields);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(line->lasts).count();
  log_.With(fields).Warn("still: " + words_.away, {{"failures", line->failures}, {"for_seconds", seconds}});
}

void OutageLog::SayWorked() {
  std::optional<Outage::Line> line;
  {
    std::lock_guard lock(mutex_);
    line = outage_.Worked(clock_.Steady());
    if (line) away_.store(false, std::memory_order_relaxed);
  }
  if (!line) return;
  const double seconds = double(std::chrono::duration_cast<std::chrono::milliseconds>(line->lasts).count()) / 1000;
  log_.Info(words_.back, {{"away_seconds", seconds}, {"failures", line->failures}});
}

}  // namespace acl
