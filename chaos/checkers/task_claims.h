#pragma once
// Tasks and their claims, folded from events alone. It knows what document 000 says of a task's status and nothing of the product's own
// fold (shared/kinds/project/evolve.h), so that the two check each other.

#include "chaos/checkers/project_evidence.h"

namespace acl::chaos {

struct TaskStates {
  enum class About { kClaim, kTime };
  // One thing that was looked at.
  struct Step {
    About about;
    std::string key, wrong;  // `wrong`: empty if it is in order
  };
  std::vector<Step> steps;
  std::map<std::string, ProjectJournal::ShownTask> tasks;  // as they are in the end, by id
};

// `told`: of all projects; who was told to have a claim must be who has it.
TaskStates FoldTasks(const std::string& project, const ProjectJournal& journal, const std::vector<ReceivedAnswer>& told);

}  // namespace acl::chaos
