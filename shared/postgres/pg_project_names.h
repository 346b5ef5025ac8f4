#pragma once
// ProjectNames on PostgreSQL: the table `projects`.

#include "shared/kernel/project_names.h"
#include "shared/postgres/pool.h"

namespace acl {

class PgProjectNames final : public ProjectNames {
 public:
  explicit PgProjectNames(pg::Pool& pool) : pool_(pool) {}

  Result<ProjectName> Reserve(const std::string& name, const ProjectId& id) override;
  Result<ProjectName> Find(const std::string& id_or_name) override;
  Result<std::vector<ProjectName>> List(const std::string& after, int max) override;

 private:
  pg::Pool& pool_;
};

}  // namespace acl
