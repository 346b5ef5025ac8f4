#pragma once
// Every process of a fleet is drained and replaced by one of the version to come, one after another, while runs go on: two versions side
// by side all the while. Nothing is lost, nothing runs twice, nobody's run goes round in circles between those who cannot read it.

#include "tests/support/fleet.h"

namespace acl::test {

// The fleet is as yet without processes.
void RollingUpgrade(Fleet& fleet);

}  // namespace acl::test
