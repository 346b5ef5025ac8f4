#pragma once
// The relay: what is ready goes to the message queue, one topic per queue and band (DESIGN.md sections 1 and 2). The ready table is its
// only source; the relay of a shard is a duty with a lease of its own, and two of them at once only send twice.

#include <memory>

#include "coordinator/duties.h"
#include "shared/queue/step_message.h"

namespace acl::coordinator {

struct RelayOptions {
  int shard = 0;
  // Takes the message or says why not now (full, being made anew). `done` comes once, from any thread, if it was taken.
  using Done = std::function<void(Status)>;
  std::function<Status(const StepMessage& message, int times, Done done)> send;
  milliseconds poll_min{10}, poll_max{250};  // between two looks: the longer, the longer nothing was found
};

struct Relay {
  Turn turn;
  std::function<void()> forget;  // the duty went to somebody else: its memory is worth nothing
};
Relay MakeRelay(const TurnContext& context, RelayOptions options);

}  // namespace acl::coordinator
