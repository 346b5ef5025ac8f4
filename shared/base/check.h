#pragma once
// ACL_CHECK(cond, "why"): a programmer's error. On in every build, release included; prints place and reason to stderr and aborts.
// Never for bad input: bad input is a Result.

namespace acl::internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const char* why);
}  // namespace acl::internal

#define ACL_CHECK(condition, why)                                                        \
  do {                                                                                   \
    if (!(condition)) ::acl::internal::CheckFailed(__FILE__, __LINE__, #condition, why); \
  } while (false)
