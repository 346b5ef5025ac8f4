#pragma once
// The part of docs/openapi.json that is about projects, made from the table of operations (shared/kinds/project/operations.h).

#include <nlohmann/json.hpp>

namespace acl::coordinator {

// The document with its routes and forms of projects as the table has them; all else as it is.
nlohmann::ordered_json WithProjects(nlohmann::ordered_json document);

}  // namespace acl::coordinator
