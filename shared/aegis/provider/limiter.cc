#include "shared/aegis/provider/limiter.h"

#include <algorithm>

namespace acl::aegis {

using std::chrono::milliseconds;

void MinuteBucket::Fill(SteadyTime now) {
  const std::int64_t passed = std::clamp<std::int64_t>(std::chrono::duration_cast<milliseconds>(now - at_).count(), 0, 3'600'000);
  if (passed == 0) return;
  units_ = std::min(per_minute_ * kUnit, units_ + passed * per_minute_);
  at_ += milliseconds(passed);
  if (at_ + milliseconds(1) < now) at_ = now;  // after more than an hour: full by far
}

SteadyTime MinuteBucket::ReadyAt(std::int64_t amount, SteadyTime now) {
  if (per_minute_ <= 0) return now;
  Fill(now);
  const std::int64_t missing = std::min(amount, per_minute_) * kUnit - units_;
  if (missing <= 0) return now;
  return now + milliseconds((missing + per_minute_ - 1) / per_minute_);
}

void MinuteBucket::Take(std::int64_t amount, SteadyTime now) {
  if (per_minute_ <= 0) return;
  Fill(now);
  units_ -= amount * kUnit;
}

void MinuteBucket::Refund(std::int64_t amount, SteadyTime now) {
  if (per_minute_ <= 0) return;
  Fill(now);
  units_ = std::min(per_minute_ * kUnit, units_ + amount * kUnit);
}

CallLimiter::CallLimiter(const CallLimits& limits, SteadyTime now)
    : limits_(limits), requests_(limits.requests_per_minute, now), tokens_(limits.tokens_per_minute, now) {}

std::optional<CallLimiter::Ticket> CallLimiter::Queue() {
  if (int(queue_.size()) >= limits_.most_waiting) return std::nullopt;
  queue_.push_back(++last_);
  return last_;
}

CallLimiter::Turn CallLimiter::Begin(Ticket ticket, std::int64_t tokens, SteadyTime now) {
  if (queue_.empty() || queue_.front() != ticket || running_ >= limits_.at_once) return {};
  const SteadyTime ready = std::max({now, closed_until_, requests_.ReadyAt(1, now), tokens_.ReadyAt(tokens, now)});
  if (ready > now) return {false, ready};
  requests_.Take(1, now);
  tokens_.Take(tokens, now);
  queue_.pop_front();
  ++running_;
  return {true, now};
}

void CallLimiter::Leave(Ticket ticket) {
  const auto found = std::find(queue_.begin(), queue_.end(), ticket);
  if (found != queue_.end()) queue_.erase(found);
}

void CallLimiter::End(std::int64_t tokens_taken, std::int64_t tokens_used, SteadyTime now) {
  --running_;
  tokens_.Refund(tokens_taken - tokens_used, now);
}

}  // namespace acl::aegis
