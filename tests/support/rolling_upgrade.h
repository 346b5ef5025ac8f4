#pragma once
// Every process of a fleet is drained and replaced by one of the version to come, one after another, while runs go on: two versions side
// by side all the while. Nothing is lost, nothing runs twice, nobody's run goes round in circles between those who cannot read it.

#include "tests/support/fleet.h"

namespace acl::test {

// The fleet is as yet without processes. `meet`: it does not go on before an old worker has come upon what a new one wrote. (By messages
// a run comes to the worker that has its partition, and so to the same one again.)
void RollingUpgrade(Fleet& fleet, bool meet = true);

}  // namespace acl::test
