#pragma once
// Decides what was posted to commanded subjects while nobody commands them: timers that fired, runs that ended. A duty (duty_plan.h); two
// at once do no harm.

#include <string>

#include "coordinator/commands/command_service.h"
#include "coordinator/duties.h"

namespace acl::coordinator {

// `queue`: where the ready rows of the service's subjects stand. Looks every `period`, or when it is woken.
Turn SettleTurn(const TurnContext& context, CommandService& commands, std::string kind, std::string queue, milliseconds period);

}  // namespace acl::coordinator
