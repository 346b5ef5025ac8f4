#include "coordinator/background_job.h"

#include <pthread.h>

#include "shared/base/memory.h"
#include "shared/telemetry/names.h"

namespace acl::coordinator {

using std::chrono::milliseconds;

namespace {
constexpr std::chrono::seconds kOutOfMemoryPause{1};
}  // namespace

BackgroundJob::BackgroundJob(Options options, LeaderLeases& leases, DatabaseWatch& database, const Clock& clock, Metrics* metrics)
    : name_(options.name),
      database_(database),
      log_("job-" + name_),
      outage_(log_, clock, {"a tick failed; trying again", "ticks go through again"}, {.settle = milliseconds(0)}),
      core_(
          {name_, leases.ttl(), std::move(options.tick), std::move(options.on_lost)},
          [&leases](const std::string& name) { return leases.Hold(name); }, clock, random_, *this) {
  if (metrics == nullptr) return;
  held_gauge_ = metrics->gauge(names::kJobHeld, {{"background_job", name_}});
  ticks_ = metrics->counter(names::kJobTicks, {{"background_job", name_}});
}

Status BackgroundJob::Start() {
  std::lock_guard lock(lifecycle_);
  ACL_CHECK(!thread_.joinable(), "started twice");
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
    RunUntilStopped();
    core_.Lose();
  });
  return {};
}

void BackgroundJob::BeginToStop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

void BackgroundJob::Stop() {
  std::lock_guard lifecycle(lifecycle_);
  BeginToStop();
  if (thread_.joinable()) thread_.join();
}

void BackgroundJob::Wake() {
  {
    std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

bool BackgroundJob::Pause(std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return stopping_ || woken_; });
  if (std::exchange(woken_, false)) core_.Wake();
  return !stopping_;
}

void BackgroundJob::RunUntilStopped() {
  std::chrono::nanoseconds pause{0};
  do {
    const auto pass = [&] { pause = core_.Pass(database_.AwaitReady(milliseconds(200))); };
    if (!WithinMemory(pass)) pause = kOutOfMemoryPause;
  } while (Pause(pause));
}

void BackgroundJob::Held(Token token) {
  held_gauge_.Set(1);
  log_.Info("holding this job", {{"token", token}});
}

void BackgroundJob::Lost() {
  held_gauge_.Set(0);
  log_.Info("no longer holding this job");
}

void BackgroundJob::Failed(const Error& error, bool first) {
  const bool passing = error.code == Code::kUnavailable || error.code == Code::kOutcomeUnknown;
  if (passing) database_.Suspect();
  // If it is the database, its watch says so, once for all jobs, and there is no second tick until it is back.
  if (passing && (first || !database_.ready())) return log_.Debug("a tick failed; trying again", {{"error", error}});
  outage_.Failed({{"error", error}});
}

}  // namespace acl::coordinator
