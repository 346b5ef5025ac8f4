#include "shared/base/random.h"

#include <sys/random.h>

#include <cerrno>

#include "shared/base/check.h"

namespace acl {

std::uint64_t SystemRandom::Next() {
  std::uint64_t value = 0;
  ssize_t got;
  do {
    got = getrandom(&value, sizeof value, 0);  // up to 256 bytes are never cut short
  } while (got < 0 && errno == EINTR);
  ACL_CHECK(got == ssize_t(sizeof value), "getrandom failed");
  return value;
}

}  // namespace acl
