#pragma once
// Something with threads or a loop of its own: started once, stopped once.

#include "shared/base/result.h"

namespace acl {

class Service {
 public:
  virtual ~Service() = default;
  // Returns when the service works (it listens, its threads run), or says why it cannot. At most once.
  virtual Status Start() = 0;
  // Idempotent, from any thread but the service's own. Returns after everything the service started has ended.
  virtual void Stop() = 0;
};

}  // namespace acl
