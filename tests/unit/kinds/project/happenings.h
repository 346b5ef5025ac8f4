#pragma once
// Something happens to a project: a random command, by one of two actors or the clock, which it may refuse.

#include <string>

#include "shared/base/random.h"
#include "tests/unit/kinds/project/project_driver.h"

namespace acl::project::test {

void Happen(Random& random, ProjectDriver& project);

}  // namespace acl::project::test
