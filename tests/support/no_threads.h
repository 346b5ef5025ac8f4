#pragma once
// While it lives no thread can be made in this process, as where a limit of processes or of memory is reached: none has room for its stack.

#include <pthread.h>

#include "shared/base/check.h"

namespace acl::test {

class NoThreads {
 public:
  NoThreads() {
    ACL_CHECK(pthread_getattr_default_np(&before_) == 0, "pthread_getattr_default_np");
    pthread_attr_t huge = before_;
    ACL_CHECK(pthread_attr_setstacksize(&huge, std::size_t{1} << 46) == 0 && pthread_setattr_default_np(&huge) == 0, "a stack of 64 TiB");
  }
  ~NoThreads() { pthread_setattr_default_np(&before_); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

}  // namespace acl::test
