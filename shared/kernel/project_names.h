#pragma once
// The names of projects. A project's id is that of its subject; a name is reserved before the subject is made, and is nobody's until it is.

#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/result.h"

namespace acl {

struct ProjectName {
  ProjectId id;
  std::string name;
  WallTime reserved_at;
  bool made = false;  // its subject is there, whole: an import is not, before its last event
};

class ProjectNames {
 public:
  virtual ~ProjectNames() = default;
  // The row of that name; a new one with `id` if there is none.
  virtual Result<ProjectName> Reserve(const std::string& name, const ProjectId& id) = 0;
  // Of those that are made: by its id in full or its name. kNotFound.
  virtual Result<ProjectName> Find(const std::string& id_or_name) = 0;
  // Of those that are made, by name, behind `after`.
  virtual Result<std::vector<ProjectName>> List(const std::string& after, int max) = 0;
};

}  // namespace acl
