#pragma once
// Files that a next step needs, as they are here: the coordinator knows their hashes and not this machine's files.

#include "shared/base/json.h"

namespace acl::cli {

// Of "references" (docs/reference/openapi.json): `file:PATH@sha256:HEX` that nobody checked becomes ok, stale or gone, as seen here.
void CheckFiles(Json& next);

}  // namespace acl::cli
