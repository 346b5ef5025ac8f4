#include "coordinator/duty.h"

#include <pthread.h>

#include "shared/telemetry/names.h"

namespace acl::coordinator {

using std::chrono::milliseconds;

Duty::Duty(Options options, LoopLeases& leases, DatabaseWatch& database, const Clock& clock, Metrics* metrics)
    : options_(std::move(options)), leases_(leases), database_(database), clock_(clock), log_("duty-" + options_.name) {
  if (metrics == nullptr) return;
  held_gauge_ = metrics->gauge(names::kLoopHeld, {{"loop", options_.name}});
  turns_ = metrics->counter(names::kLoopTurns, {{"loop", options_.name}});
}

Status Duty::Start() {
  std::lock_guard lock(lifecycle_);
  ACL_CHECK(!thread_.joinable(), "started twice");
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), options_.name.substr(0, 15).c_str());
    RunUntilStopped();
    Lose();
  });
  return {};
}

void Duty::Stop() {
  std::lock_guard lifecycle(lifecycle_);
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Duty::Wake() {
  {
    std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

bool Duty::Pause(std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return stopping_ || woken_; });
  if (std::exchange(woken_, false)) turn_at_ = {};
  return !stopping_;
}

void Duty::Lose() {
  if (!held_.exchange(false)) return;
  held_gauge_.Set(0);
  log_.Info("no longer holding this duty");
  if (options_.on_lost) options_.on_lost();
}

void Duty::Failed(const Error& error) {
  if (error.code == Code::kUnavailable || error.code == Code::kOutcomeUnknown) database_.Suspect();
  if (!std::exchange(failing_, true)) log_.Warn("a turn failed; trying again", {{"error", error}});
}

bool Duty::Renew() {
  const auto ttl = leases_.ttl();
  auto held = leases_.Hold(options_.name);
  if (!held) {
    Failed(held.error());
    renew_at_ = clock_.Steady() + ttl / 10;
    if (clock_.Steady() < trusted_until_) return true;  // unanswered, but still ours for a while
    Lose();
    return false;
  }
  renew_at_ = held->sent + ttl / 3;
  if (!held->lease) {
    Lose();
    return false;
  }
  trusted_until_ = held->sent + ttl - ttl / 5;
  if (!held_.exchange(true)) {
    held_gauge_.Set(1);
    turn_at_ = {};
    log_.Info("holding this duty", {{"token", held->lease->token}});
  }
  return true;
}

void Duty::RunUntilStopped() {
  SystemRandom random;
  Backoff backoff({milliseconds(50), milliseconds(2'000), 2.0}, random);
  for (;;) {
    if (!database_.AwaitReady(milliseconds(200))) {
      if (clock_.Steady() >= trusted_until_) Lose();
      if (!Pause(milliseconds(0))) return;
      continue;
    }
    if (clock_.Steady() >= renew_at_ && !Renew()) {
      if (!Pause(renew_at_ - clock_.Steady())) return;
      continue;
    }
    if (!held_ || clock_.Steady() >= trusted_until_) {
      Lose();
      if (!Pause(std::max<std::chrono::nanoseconds>(renew_at_ - clock_.Steady(), milliseconds(1)))) return;
      continue;
    }
    if (clock_.Steady() >= turn_at_) {  // not at each renewal: turns may be far apart
      auto wait = options_.turn();
      if (wait) {
        if (std::exchange(failing_, false)) log_.Info("turns go through again");
        backoff.Reset();
        turns_.Add();
      } else {
        Failed(wait.error());
      }
      turn_at_ = clock_.Steady() + (wait ? std::chrono::nanoseconds(*wait) : std::chrono::nanoseconds(backoff.Next()));
    }
    if (!Pause(std::max(std::chrono::nanoseconds(0), std::min(turn_at_, renew_at_) - clock_.Steady()))) return;
  }
}

}  // namespace acl::coordinator
