#pragma once
// acl-worker's objects, wired in one place: store, capabilities, kinds, shell, health page.

#include <memory>

#include "shared/base/clock.h"
#include "shared/config/settings.h"
#include "shared/telemetry/metrics.h"

namespace acl {

class WorkerApp {
 public:
  explicit WorkerApp(const Settings& settings);
  ~WorkerApp();

  // Returns once the worker listens on its health address and looks for work. The database may be away: the worker waits for it and says
  // so on /readyz. kInvalid or kUnavailable with what to do, if it can never work (work folder, address taken).
  Status Start();
  // Finishes what runs, gives everything back, closes the session; false if that took longer than the drain deadline.
  bool Drain();
  void Stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acl
