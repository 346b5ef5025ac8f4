#pragma once
// Decides what was posted to commanded subjects while nobody commands them: timers that fired, runs that ended. A job (job_plan.h); two
// at once do no harm.

#include <string>
#include <vector>

#include "coordinator/commands/command_service.h"
#include "coordinator/jobs.h"

namespace acl::coordinator {

// One kind of them.
struct CommandedKind {
  CommandService* commands = nullptr;
  std::string kind, queue;  // where the ready rows of its subjects stand
};
// Looks every `period`, or when it is woken: one question for all kinds, as long as nothing is ready.
Tick InboxJob(const JobContext& context, std::vector<CommandedKind> kinds, milliseconds period);

}  // namespace acl::coordinator
