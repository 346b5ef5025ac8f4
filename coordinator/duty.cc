#include "coordinator/duty.h"

#include <pthread.h>

#include "shared/telemetry/names.h"

namespace acl::coordinator {

using std::chrono::milliseconds;

Duty::Duty(Options options, KernelStore& store, DatabaseWatch& database, const Clock& clock, Metrics* metrics)
    : options_(std::move(options)), store_(store), database_(database), clock_(clock), log_("duty-" + options_.name) {
  if (metrics != nullptr) held_gauge_ = metrics->gauge(names::kLoopHeld, {{"loop", options_.name}});
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
  woken_ = false;
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
  const SteadyTime sent = clock_.Steady();
  auto lease = store_.HoldLoop(options_.name, options_.session, options_.ttl);
  if (!lease) {
    Failed(lease.error());
    renew_at_ = clock_.Steady() + options_.ttl / 10;
    if (clock_.Steady() < trusted_until_) return true;  // unanswered, but still ours for a while
    Lose();
    return false;
  }
  renew_at_ = sent + options_.ttl / 3;
  if (!*lease) {
    Lose();
    return false;
  }
  trusted_until_ = sent + options_.ttl - options_.ttl / 5;
  if (!held_.exchange(true)) {
    held_gauge_.Set(1);
    log_.Info("holding this duty", {{"token", (*lease)->token}});
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
    auto wait = options_.turn();
    if (wait) {
      if (std::exchange(failing_, false)) log_.Info("turns go through again");
      backoff.Reset();
    } else {
      Failed(wait.error());
    }
    const std::chrono::nanoseconds pause = wait ? *wait : backoff.Next();
    if (!Pause(std::max(std::chrono::nanoseconds(0), std::min(pause, renew_at_ - clock_.Steady())))) return;
  }
}

}  // namespace acl::coordinator
