#pragma once
// The part of docs/reference/openapi.json that is about projects, made from the table of operations (shared/kinds/project/operations.h).

#include "shared/base/json.h"

namespace acl::coordinator {

// The document with its routes and forms of projects as the table has them; all else as it is.
Json WithProjects(Json document);

}  // namespace acl::coordinator
