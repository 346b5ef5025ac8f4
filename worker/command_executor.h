#pragma once
// Executes one command of the WorkerCore against the store: the blocking half between two decisions. Production calls it on a pool thread,
// the simulator at a virtual moment. RunStep is the step runner's, not the executor's.

#include <functional>

#include "shared/base/clock.h"
#include "shared/base/uuid7.h"
#include "shared/queue/queue_driver.h"
#include "worker/worker_core.h"

namespace acl {

// The command's answer as a call of the core, for the thread that decides.
using Report = std::function<void(WorkerCore& core, SteadyTime now)>;

struct CommandContext {
  KernelStore& store;
  QueueDriver& queue;  // claims come through it
  const Clock& clock;
  Uuid7Maker& ids;
  // Told of every restore: duration in milliseconds, events replayed. May be empty.
  std::function<void(double restore_ms, std::int64_t events_replayed)> on_restore;
};

// `sent`: when the request left the process, on its steady clock.
Report ExecuteCommand(CommandContext& context, const Command& command, SteadyTime sent);

// The report of a command that failed for lack of memory. A commit or claim may have reached the database all the same, so its outcome is
// unknown.
Report NotExecuted(const Command& command, SteadyTime sent);

}  // namespace acl
