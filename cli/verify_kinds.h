#pragma once
// What `airun verify` knows of the kinds of subjects that this binary has: workflow runs.

#include "shared/verify/kind_checks.h"

namespace acl::cli {

// "workflow": the listing's status, the files of the run and the outputs of completed steps, all read from the state.
verify::KindTable VerifyKinds();

}  // namespace acl::cli
