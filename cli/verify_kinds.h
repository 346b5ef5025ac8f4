#pragma once
// What `airun verify` knows of the kinds of subjects that this binary has: workflow runs and projects.

#include "shared/verify/kind_checks.h"

namespace acl::cli {

// "workflow": the listing's status, the files of the run and the outputs of completed steps, all read from the state.
// "project": what holds between goals, tasks and checkpoints, and the tables that show them.
verify::KindTable VerifyKinds();

}  // namespace acl::cli
