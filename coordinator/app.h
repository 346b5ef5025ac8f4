#pragma once
// One coordinator: wires its objects, starts and stops them in order. Everything it does, another one may do at the same time: the API
// keeps nothing, and each job is held under a lease (background_job.h).

#include <memory>

#include "coordinator/backend.h"
#include "shared/base/host_port.h"
#include "shared/runtime/service.h"

namespace acl::coordinator {

class App final : public Service {
 public:
  App(const Settings& settings, Backend backend);
  ~App() override;

  // Returns once it listens: the database may be away, then /readyz says so and the API answers 503. kUnavailable: a port is taken,
  // the message names it and the setting. kInvalid: settings that do not go together.
  Status Start() override;
  // /readyz says 503 from here on; running requests are answered, jobs given up.
  void Stop() override;

  HostPort address() const;  // of the API, with the port in force
  HostPort doorbell_address() const;
  Metrics& metrics();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acl::coordinator
