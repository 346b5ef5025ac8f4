#include "coordinator/duty.h"

#include <pthread.h>

#include "shared/base/memory.h"
#include "shared/telemetry/names.h"

namespace acl::coordinator {

using std::chrono::milliseconds;

namespace {
constexpr std::chrono::seconds kOutOfMemoryPause{1};
}  // namespace

Duty::Duty(Options options, LoopLeases& leases, DatabaseWatch& database, const Clock& clock, Metrics* metrics)
    : name_(options.name),
      database_(database),
      log_("duty-" + name_),
      outage_(log_, clock, {"a turn failed; trying again", "turns go through again"}, {.settle = milliseconds(0)}),
      core_(
          {name_, leases.ttl(), std::move(options.turn), std::move(options.on_lost)},
          [&leases](const std::string& name) { return leases.Hold(name); }, clock, random_, *this) {
  if (metrics == nullptr) return;
  held_gauge_ = metrics->gauge(names::kLoopHeld, {{"loop", name_}});
  turns_ = metrics->counter(names::kLoopTurns, {{"loop", name_}});
}

Status Duty::Start() {
  std::lock_guard lock(lifecycle_);
  ACL_CHECK(!thread_.joinable(), "started twice");
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
    RunUntilStopped();
    core_.Lose();
  });
  return {};
}

void Duty::BeginToStop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

void Duty::Stop() {
  std::lock_guard lifecycle(lifecycle_);
  BeginToStop();
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
  if (std::exchange(woken_, false)) core_.Wake();
  return !stopping_;
}

void Duty::RunUntilStopped() {
  std::chrono::nanoseconds pause{0};
  do {
    const auto pass = [&] { pause = core_.Pass(database_.AwaitReady(milliseconds(200))); };
    if (!WithinMemory(pass)) pause = kOutOfMemoryPause;
  } while (Pause(pause));
}

void Duty::Held(Token token) {
  held_gauge_.Set(1);
  log_.Info("holding this duty", {{"token", token}});
}

void Duty::Lost() {
  held_gauge_.Set(0);
  log_.Info("no longer holding this duty");
}

void Duty::Failed(const Error& error, bool first) {
  const bool passing = error.code == Code::kUnavailable || error.code == Code::kOutcomeUnknown;
  if (passing) database_.Suspect();
  // If it is the database, its watch says so, once for all duties, and there is no second turn until it is back.
  if (passing && (first || !database_.ready())) return log_.Debug("a turn failed; trying again", {{"error", error}});
  outage_.Failed({{"error", error}});
}

}  // namespace acl::coordinator
