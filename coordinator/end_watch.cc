#include "coordinator/end_watch.h"

#include <pthread.h>

#include <algorithm>

namespace acl::coordinator {

using std::chrono::milliseconds;

namespace {
constexpr std::size_t kMaxEarly = 20'000;
constexpr milliseconds kKeepEarly{5'000};
constexpr milliseconds kTryAgain{100};
}  // namespace

Status EndWatch::Start() {
  std::lock_guard lock(lifecycle_);
  ACL_CHECK(!thread_.joinable(), "started twice");
  look_at_ = clock_.Steady() + options_.look_every;
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "end-watch");
    RunUntilStopped();
  });
  return {};
}

void EndWatch::Stop() {
  std::lock_guard lifecycle(lifecycle_);
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  std::unordered_multimap<SubjectId, Waiter> left;
  {
    std::lock_guard lock(mutex_);
    left = std::exchange(waiting_, {});
  }
  for (auto& [subject, waiter] : left) waiter.done(std::nullopt);
}

bool EndWatch::Add(const SubjectId& subject, milliseconds at_most, Done done, bool soon) {
  const SteadyTime now = clock_.Steady();
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || waiting_.size() >= options_.max_waiting) return false;
    waiting_.emplace(subject, Waiter{now + at_most, std::move(done)});
    if (!early_.erase(subject) && !soon) return true;
    nudged_.push_back(subject);
  }
  changed_.notify_all();
  return true;
}

void EndWatch::Nudge(const SubjectId& subject) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (!waiting_.contains(subject)) {
      if (early_.size() >= kMaxEarly) early_.clear();
      early_[subject] = clock_.Steady();
      return;
    }
    nudged_.push_back(subject);
  }
  changed_.notify_all();
}

// Under the lock. Hints first; everything when its time has come.
std::vector<SubjectId> EndWatch::TakeDue(SteadyTime now) {
  std::vector<SubjectId> due = std::exchange(nudged_, {});
  if (now >= look_at_) {
    look_at_ = now + options_.look_every;
    std::erase_if(early_, [&](const auto& one) { return one.second + kKeepEarly < now; });
    for (const auto& [subject, waiter] : waiting_) due.push_back(subject);
  }
  std::sort(due.begin(), due.end());
  due.erase(std::unique(due.begin(), due.end()), due.end());
  return due;
}

void EndWatch::Look(const std::vector<SubjectId>& subjects) {
  for (std::size_t from = 0; from < subjects.size(); from += options_.at_once) {
    const std::span<const SubjectId> some(subjects.data() + from, std::min(options_.at_once, subjects.size() - from));
    auto ends = queries_.Ends(some);
    std::vector<std::pair<Done, EndView>> told;
    {
      std::lock_guard lock(mutex_);
      if (!ends) {  // the database is away: again soon
        look_at_ = std::min(look_at_, clock_.Steady() + kTryAgain);
        return;
      }
      for (const EndView& end : *ends) {
        if (!end.closed) continue;
        auto [first, last] = waiting_.equal_range(end.subject);
        for (auto it = first; it != last; ++it) told.emplace_back(std::move(it->second.done), end);
        waiting_.erase(first, last);
      }
    }
    for (auto& [done, end] : told) done(end);
  }
}

void EndWatch::GiveUp(SteadyTime now) {
  std::vector<Done> told;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](auto& one) {
      if (one.second.until > now) return false;
      told.push_back(std::move(one.second.done));
      return true;
    });
  }
  for (auto& done : told) done(std::nullopt);
}

void EndWatch::RunUntilStopped() {
  SteadyTime give_up_at = clock_.Steady();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait_for(lock, std::max(std::min(look_at_, give_up_at) - clock_.Steady(), SteadyTime::duration(0)),
                      [this] { return stopping_ || !nudged_.empty(); });
    if (stopping_) return;
    const SteadyTime now = clock_.Steady();
    const std::vector<SubjectId> due = TakeDue(now);
    lock.unlock();
    if (!due.empty()) Look(due);
    if (now >= give_up_at) {
      GiveUp(now);
      give_up_at = now + kTryAgain;
    }
    lock.lock();
    if (waiting_.empty()) give_up_at = look_at_;  // nobody's time runs out
    if (!waiting_.empty() && give_up_at > now + kTryAgain) give_up_at = now + kTryAgain;
  }
}

}  // namespace acl::coordinator
