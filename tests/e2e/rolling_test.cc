// A fleet is upgraded under load, process by process.
#include <gtest/gtest.h>

#include "tests/support/rolling_upgrade.h"

namespace acl::test {
namespace {

TEST(Rolling, EveryProcessIsReplacedByTheNextVersionUnderLoad) {
  FleetOptions options;
  options.lease_ttl_ms = 6000;  // nobody is to be reaped
  Fleet fleet(options);
  RollingUpgrade(fleet);
}

}  // namespace
}  // namespace acl::test
