#include "shared/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace acl::internal {

void CheckFailed(const char* file, int line, const char* condition, const char* why) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, why);
  std::abort();
}

}  // namespace acl::internal
