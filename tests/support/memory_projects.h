#pragma once
// Projects in memory, for tests of the doors: decided and folded as in production (shared/kinds/project), kept in a list of events.

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "coordinator/projects/desk.h"
#include "shared/base/uuid7.h"

namespace acl::test {

class MemoryProjects final : public coordinator::ProjectDesk {
 public:
  MemoryProjects(const Clock& clock, Uuid7Maker& ids) : clock_(clock), ids_(ids) {}

  // Set: every call fails so.
  std::optional<Error> fails;

  Result<std::vector<Listed>> List(const std::string& after, int max) override;
  Result<Listed> Find(const std::string& id_or_name) override;
  Result<Done> Execute(const ProjectId& project, const Asked& asked) override;
  Result<Done> Create(const Asked& asked) override;
  Result<std::shared_ptr<const coordinator::ProjectView>> Read(const ProjectId& project) override;
  Result<std::shared_ptr<const coordinator::ProjectView>> ReadAt(const ProjectId& project, std::optional<std::int64_t> at_seq,
                                                                 std::optional<WallTime> at_time) override;

 private:
  struct Answered {
    std::string asked;  // the command
    Done done;
  };
  struct Held {
    Listed listed;
    std::vector<EventDraft> events;
    std::vector<Document> states;  // after each event
    std::map<std::string, Answered> answered;
  };

  static std::string Canonical(const project::Command& command);
  // What was answered under the key, if it was used.
  static Result<std::optional<Done>> Known(const std::map<std::string, Answered>& answered, const Asked& asked);
  Done Decide(Held& held, const Asked& asked);
  Result<std::shared_ptr<const coordinator::ProjectView>> ViewOf(const Held& held, std::size_t events) const;

  const Clock& clock_;
  Uuid7Maker& ids_;
  std::mutex mutex_;
  std::map<ProjectId, Held> projects_;
  std::map<std::string, Answered> created_;
};

}  // namespace acl::test
