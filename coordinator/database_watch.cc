#include "coordinator/database_watch.h"

#include <pthread.h>

#include "shared/base/memory.h"
#include "shared/base/redact.h"
#include "shared/telemetry/names.h"

namespace acl::coordinator {

using std::chrono::milliseconds;

DatabaseWatch::DatabaseWatch(Probe probe, Metrics* metrics, milliseconds healthy_period)
    : probe_(std::move(probe)), healthy_period_(healthy_period) {
  if (metrics != nullptr) up_ = metrics->gauge(names::kDatabaseUp);
}

Status DatabaseWatch::Start() {
  std::lock_guard lock(lifecycle_);
  ACL_CHECK(!thread_.joinable(), "started twice");
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "db-watch");
    RunUntilStopped();
  });
  return {};
}

void DatabaseWatch::Stop() {
  std::lock_guard lifecycle(lifecycle_);
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool DatabaseWatch::ready() const {
  std::lock_guard lock(mutex_);
  return standing_ == Standing::kReady;
}

std::vector<Readiness::Check> DatabaseWatch::Checks() const {
  std::lock_guard lock(mutex_);
  const bool reached = standing_ == Standing::kReady || standing_ == Standing::kNotMigrated;
  std::vector<Readiness::Check> checks = {{"database", reached, reached ? "" : "unavailable"}};
  if (reached) checks.push_back({"migrations", standing_ == Standing::kReady, detail_});
  return checks;
}

void DatabaseWatch::Suspect() {
  {
    std::lock_guard lock(mutex_);
    if (standing_ != Standing::kReady) return;  // it is being asked already
    suspected_ = true;
  }
  changed_.notify_all();
}

bool DatabaseWatch::AwaitReady(milliseconds at_most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, at_most, [this] { return standing_ == Standing::kReady || stopping_; });
  return standing_ == Standing::kReady;
}

void DatabaseWatch::Note(const Result<DatabaseState>& found) {
  const Standing now = !found ? Standing::kUnreachable : found->migrated ? Standing::kReady : Standing::kNotMigrated;
  const std::string detail = !found ? RedactText(found.message()) : found->detail;
  up_.Set(found ? 1 : 0);
  Standing before = Standing::kUnknown;
  bool changed = false;
  {
    std::lock_guard lock(mutex_);
    before = standing_;
    changed = now != standing_ || (now != Standing::kReady && detail != detail_);
    standing_ = now;
    detail_ = detail;
  }
  if (changed) changed_.notify_all();
  found ? away_.Worked() : away_.Failed({{"error", detail}});
  if (!changed) return;
  if (now == Standing::kNotMigrated) log_.Warn("the database is not ready for this program; waiting", {{"reason", detail}});
  if (now == Standing::kReady && before != Standing::kUnreachable) log_.Info("the database is ready");
}

void DatabaseWatch::RunUntilStopped() {
  SystemRandom random;
  Backoff backoff({milliseconds(100), milliseconds(2'000), 2.0}, random);
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      suspected_ = false;  // one that comes while the probe is under way is followed too
    }
    (void)WithinMemory([this] { Note(probe_()); });
    std::unique_lock lock(mutex_);
    if (standing_ == Standing::kReady) backoff.Reset();
    const auto pause = standing_ == Standing::kReady ? healthy_period_ : backoff.Next() + milliseconds(50);
    changed_.wait_for(lock, pause, [this] { return stopping_ || suspected_; });
    if (stopping_) return;
  }
}

}  // namespace acl::coordinator
