#include "coordinator/end_watch.h"

#include <pthread.h>

#include <algorithm>

#include "shared/base/memory.h"

namespace acl::coordinator {

using std::chrono::milliseconds;

namespace {
constexpr std::size_t kMaxEarly = 20'000, kMaxNudged = 100'000;
constexpr milliseconds kKeepEarly{5'000};
constexpr milliseconds kTryAgain{100};
constexpr int kLately = 16;  // so many count in what runs took lately
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
    waiting_.emplace(subject, Waiter{now, now + at_most, std::move(done)});
    Count();
    if (!early_.erase(subject) && !soon) return true;
    if (!Hinted(subject)) return true;
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
    if (!Hinted(subject)) return;
  }
  changed_.notify_all();
}

bool EndWatch::Hinted(const SubjectId& subject) {
  if (nudged_.size() >= kMaxNudged) return false;  // said again and again while a look takes long; all are looked for now and then
  nudged_.push_back(subject);
  return nudged_.size() == wake_at_;
}

// What they took is of no use once nobody waits: who comes then is alone.
void EndWatch::Count() {
  runs_ = waiting_.size();
  if (waiting_.empty()) each_ = 0;
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
    interval_.Went(some.size(), clock_.Steady());
    auto ends = queries_.Ends(some);
    const SteadyTime now = clock_.Steady();
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
        for (auto it = first; it != last; ++it) {
          const SteadyTime::rep took = (now - it->second.since).count();
          each_ = each_ == 0 ? took : each_ + (took - each_) / kLately;
          told.emplace_back(std::move(it->second.done), end);
        }
        waiting_.erase(first, last);
      }
      Count();
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
    Count();
  }
  for (auto& done : told) done(std::nullopt);
}

void EndWatch::RunUntilStopped() {
  SteadyTime give_up_at = clock_.Steady();
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto until = [&](SteadyTime time) { return std::max(time - clock_.Steady(), SteadyTime::duration(0)); };
    wake_at_ = 1;
    changed_.wait_for(lock, until(std::min(look_at_, give_up_at)), [this] { return stopping_ || !nudged_.empty(); });
    if (!nudged_.empty()) {
      wake_at_ = interval_.Enough(load());
      changed_.wait_for(lock, until(interval_.Latest(load())), [this] { return stopping_ || nudged_.size() >= wake_at_; });
    }
    wake_at_ = 0;  // nobody has to
    if (stopping_) return;
    const SteadyTime now = clock_.Steady();
    std::vector<SubjectId> due;
    UntilThereIsMemory([&] { due = TakeDue(now); });
    lock.unlock();
    if (!due.empty()) (void)WithinMemory([&] { Look(due); });
    if (now >= give_up_at) {
      (void)WithinMemory([&] { GiveUp(now); });
      give_up_at = now + kTryAgain;
    }
    lock.lock();
    if (waiting_.empty()) give_up_at = look_at_;  // nobody's time runs out
    if (!waiting_.empty() && give_up_at > now + kTryAgain) give_up_at = now + kTryAgain;
  }
}

}  // namespace acl::coordinator
