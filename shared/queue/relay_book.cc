#include "shared/queue/relay_book.h"

#include <utility>

namespace acl {

namespace {

// Later than any row: a lane that has been swept through.
const WallTime kNoMore = WallTimeFromMicros(253'402'300'799'000'000);  // the year 9999

std::vector<ReadyKey> AsKeys(const std::map<std::pair<std::string, int>, std::pair<WallTime, SubjectId>>& places) {
  std::vector<ReadyKey> keys;
  for (const auto& [lane, place] : places) keys.push_back({lane.first, lane.second, 0, place.first, place.second});
  return keys;
}

}  // namespace

std::vector<ReadyKey> RelayBook::Marks(SteadyTime now) {
  std::map<Lane, Place> places = marks_;
  late_look_ = heard_ && pages_.empty() && now >= late_look_at_;
  if (late_look_) {
    late_look_at_ = now + options_.late_every;
    late_look_time_ = heard_->second + std::chrono::duration_cast<std::chrono::microseconds>(now - heard_->first);
    // What was not there when the last one was answered, so that slow looks leave no gap between them.
    const WallTime since = late_look_began_ == WallTime{} ? late_look_time_ : std::min(late_look_began_, late_look_time_);
    const WallTime late_from = std::max(since, late_look_time_ - options_.sweep_every) - options_.late_within;
    for (auto& [lane, place] : places) place = std::min(place, Place{late_from, {}});
  }
  for (const auto& [lane, place] : pages_) places[lane] = place;
  return AsKeys(places);
}

void RelayBook::Looked(SteadyTime began, SteadyTime ended) {
  if (!late_look_) return;
  late_look_began_ = late_look_time_;
  late_look_at_ = std::max(late_look_at_, ended + 10 * (ended - began));
}

std::vector<ReadyKey> RelayBook::SweepMarks() const { return AsKeys(cursor_); }

int RelayBook::Wanted(SteadyTime now, const ReadyKey& key) const {
  auto it = sent_.find(key);
  if (it == sent_.end()) return room() ? 1 : 0;
  return now >= it->second.again_at ? it->second.times + 1 : 0;
}

void RelayBook::Sent(SteadyTime now, const ReadyKey& key) {
  Sending& sending = sent_[key];
  sending.sent_at = last_sent_ = now;
  milliseconds wait = options_.again_min;
  for (int n = 0; n < sending.times && wait < options_.again_max; ++n) wait *= 2;
  sending.again_at = now + std::min(wait, options_.again_max);
  ++sending.times;
  sending.seen = sweep_;
}

void RelayBook::Hinted(const ReadyKey& key) {
  const auto it = sent_.find(key);
  if (it == sent_.end() || std::exchange(it->second.unseen, true)) return;
  ++unseen_;
}

std::map<ReadyKey, RelayBook::Sending>::iterator RelayBook::FoundInTable(const ReadyKey& key) {
  const auto it = sent_.find(key);
  if (it != sent_.end() && std::exchange(it->second.unseen, false)) --unseen_;
  return it;
}

void RelayBook::Moved(const ReadyKey& key) {
  FoundInTable(key);
  Place& mark = marks_[{key.queue, key.priority}];
  mark = std::max(mark, Place{key.ready_at, key.subject});
}

void RelayBook::Failed(SteadyTime now, const ReadyKey& key) {
  auto it = sent_.find(key);
  if (it == sent_.end()) return;
  it->second.again_at = std::min(it->second.again_at, now + options_.failed_after);
  sweep_at_ = std::min(sweep_at_, now + options_.failed_after);
}

void RelayBook::BeginSweep(SteadyTime now) {
  sweeping_ = true;
  sweep_before_began_ = std::exchange(sweep_began_, now);
  ++sweep_;
  cursor_.clear();
}

bool RelayBook::Seen(const ReadyKey& key) {
  const auto mark = marks_.find({key.queue, key.priority});
  const bool before = mark != marks_.end() && Place{key.ready_at, key.subject} <= mark->second;
  cursor_[{key.queue, key.priority}] = before ? Place{key.ready_at, key.subject} : Place{kNoMore, {}};
  if (auto it = FoundInTable(key); it != sent_.end()) it->second.seen = sweep_;
  return before;
}

void RelayBook::EndSweep(SteadyTime now) {
  std::erase_if(sent_, [&](const auto& entry) {
    const auto& [key, sending] = entry;
    const auto mark = marks_.find({key.queue, key.priority});
    // What was told may lie behind the mark, where no sweep comes: it has the time of one more for a look to find it.
    const bool swept = mark != marks_.end() && Place{key.ready_at, key.subject} <= mark->second;
    const bool gone = sending.seen != sweep_ && sending.sent_at < (swept ? sweep_began_ : sweep_before_began_);
    if (gone && sending.unseen) --unseen_;
    return gone;
  });
  sweeping_ = false;
  sweep_at_ = now + options_.sweep_every;
}

}  // namespace acl
