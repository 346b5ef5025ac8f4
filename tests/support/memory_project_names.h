#pragma once
// ProjectNames in memory, for unit tests; held to the same as PostgreSQL's (tests/integration/coordinator/projects_test.cc).

#include <map>
#include <memory>
#include <mutex>

#include "shared/kernel/project_names.h"
#include "shared/kernel/queries.h"
#include "shared/postgres/pg_project_names.h"
#include "shared/postgres/pg_store.h"

namespace acl::test {

class MemoryProjectNames final : public ProjectNames {
 public:
  MemoryProjectNames(Queries& queries, const Clock& clock) : queries_(queries), clock_(clock) {}

  Result<ProjectName> Reserve(const std::string& name, const ProjectId& id) override {
    std::lock_guard lock(mutex_);
    const auto& [reserved, at] = names_.try_emplace(name, id, clock_.Wall()).first->second;
    return ProjectName{reserved, name, at, Made(reserved)};
  }
  Result<ProjectName> Find(const std::string& id_or_name) override {
    std::lock_guard lock(mutex_);
    for (const auto& [name, row] : names_) {
      if ((name == id_or_name || row.first.ToString() == id_or_name) && Made(row.first))
        return ProjectName{row.first, name, row.second, true};
    }
    return Error{Code::kNotFound, "there is no project \"" + id_or_name + "\""};
  }
  Result<std::vector<ProjectName>> List(const std::string& after, int max) override {
    std::lock_guard lock(mutex_);
    std::vector<ProjectName> names;
    for (auto it = names_.upper_bound(after); it != names_.end() && int(names.size()) < max; ++it) {
      if (Made(it->second.first)) names.push_back({it->second.first, it->first, it->second.second, true});
    }
    return names;
  }

 private:
  bool Made(const ProjectId& id) {
    const SubjectId subject{id.uuid};
    auto view = queries_.GetSubject(subject);
    auto first = queries_.Events(subject, 0, 1);
    if (!view || !first || first->empty() || first->front().type != "project.imported") return view.ok();
    return view->head.seq > ParsePayload(first->front())->at("origin").at("head_seq").get<std::int64_t>();
  }

  Queries& queries_;
  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, std::pair<ProjectId, WallTime>> names_;
};

// Those of the store: PostgreSQL's own, else in memory.
inline std::unique_ptr<ProjectNames> NamesOf(KernelStore& store, Queries& queries, const Clock& clock) {
  if (auto* pg = dynamic_cast<PgStore*>(&store)) return std::make_unique<PgProjectNames>(pg->pool());
  return std::make_unique<MemoryProjectNames>(queries, clock);
}

}  // namespace acl::test
