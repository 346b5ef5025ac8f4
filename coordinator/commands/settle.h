#pragma once
// Decides what was posted to commanded subjects while nobody commands them: timers that fired, runs that ended. A duty (duty_plan.h); two
// at once do no harm.

#include <string>
#include <vector>

#include "coordinator/commands/command_service.h"
#include "coordinator/duties.h"

namespace acl::coordinator {

// One kind of them.
struct Settled {
  CommandService* commands = nullptr;
  std::string kind, queue;  // where the ready rows of its subjects stand
};
// Looks every `period`, or when it is woken: one question for all kinds, as long as nothing is ready.
Turn SettleTurn(const TurnContext& context, std::vector<Settled> kinds, milliseconds period);

}  // namespace acl::coordinator
