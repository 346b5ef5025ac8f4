#pragma once
// Carries out one command of the WorkerCore against a store: the blocking half between two decisions. The same function in production
// (on a pool thread) and in the simulator (at a virtual moment). RunStep is not its business.

#include <functional>

#include "shared/base/clock.h"
#include "shared/base/uuid7.h"
#include "shared/queue/queue_driver.h"
#include "worker/worker_core.h"

namespace acl {

// What came of it, to be told to the core on its own thread.
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

// Of a command that could not be carried out for want of memory, whether or not it was sent.
Report NotExecuted(const Command& command, SteadyTime sent);

}  // namespace acl
