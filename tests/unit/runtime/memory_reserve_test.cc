#include "shared/runtime/memory_reserve.h"

#include <gtest/gtest.h>

#include <new>

namespace acl {
namespace {

// As operator new does when it fails.
TEST(MemoryReserve, IsGivenUpOnceAndTakenAgainBeforeAnythingUnwinds) {
  const std::new_handler before = std::get_new_handler();
  KeepMemoryReserve();
  const std::new_handler handler = std::get_new_handler();
  ASSERT_NE(handler, nullptr);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NO_THROW(handler()) << "the reserve is given up: try again";
    EXPECT_THROW(handler(), std::bad_alloc) << "it was not enough";
  }
  std::set_new_handler(before);
}

}  // namespace
}  // namespace acl
