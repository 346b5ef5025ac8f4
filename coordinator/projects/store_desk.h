#pragma once
// The desk of this coordinator, on its store (desk.h).

#include "coordinator/commands/command_service.h"
#include "coordinator/projects/desk.h"
#include "shared/kernel/project_names.h"

namespace acl::coordinator {

class StoreDesk final : public ProjectDesk {
 public:
  StoreDesk(KernelStore& store, Queries& queries, ProjectNames& names, const CommandKind& kind, Uuid7Maker& ids,
            CommandService::Options options = {});

  Result<std::vector<Listed>> List(const std::string& after, int max) override;
  Result<Listed> Find(const std::string& id_or_name) override;
  Result<Done> Execute(const ProjectId& project, const Asked& asked) override;
  Result<Done> Create(const Asked& asked) override;
  Result<std::shared_ptr<const ProjectView>> Read(const ProjectId& project) override;
  Result<std::shared_ptr<const ProjectView>> ReadAt(const ProjectId& project, std::optional<std::int64_t> at_seq,
                                                    std::optional<WallTime> at_time) override;

  CommandService& commands() { return commands_; }

 private:
  KernelStore& store_;
  Queries& queries_;
  ProjectNames& names_;
  const CommandKind& kind_;
  Uuid7Maker& ids_;
  CommandService commands_;
  std::mutex mutex_;                                               // of what follows
  std::map<ProjectId, std::shared_ptr<const ProjectView>> views_;  // the last that was handed out
  std::size_t view_bytes_ = 0;                                     // of the states that they were made from
};

}  // namespace acl::coordinator
