#pragma once
// What a memory system must be able to do for ACL. It may be slow, wrong or gone: each call ends within its time limit, and nothing of a
// project depends on the answer.

#include <string>

#include "shared/base/result.h"
#include "shared/memory/gate.h"

namespace acl::memory {

// From any thread; calls block until they end.
class ExternalMemory {
 public:
  virtual ~ExternalMemory() = default;

  // kUnavailable, kTimeout: it did not answer, or not in time. kDenied: it does not know us. kInvalid: it refused what was sent, or is
  // none.
  virtual Result<Found> Search(const Passed<Query>& query) = 0;
  // The same learning may be sent again whatever became of the first: its id makes it the same one.
  virtual Status Learn(const Passed<Learning>& learning) = 0;
  // False: the memory does not have it (any more).
  virtual Result<bool> Revoke(const std::string& id) = 0;
};

}  // namespace acl::memory
