#pragma once
// The relays: what is ready goes to the message queue, one topic per queue and priority (docs/architecture.md#relay). The ready table is
// their only source; the relay of a shard is a job with a lease of its own, and two of them at once only send twice.
//
// A look costs as much as what it finds, so one relay looks for all that this process holds, with one question: the first of them. Another
// does when it has just taken its job, or if that one has been silent for a second: it may be stuck in a call. Each sweeps its own shard.
//
// Who gives a run back says which row it left (the doorbell), and who makes one says so too. Those rows are sent at once; looks find what
// nobody told of.

#include <memory>

#include "coordinator/jobs.h"
#include "coordinator/ready_hints.h"

namespace acl::coordinator {

struct RelayOptions {
  // Takes the message or says why not now (full, being made anew). `done` comes once, from any thread, if it was taken. Called from the
  // threads of all relays, and of whoever tells. `alone`: none is sent with it, so that nothing is gained by waiting for more.
  using Done = std::function<void(Status)>;
  using Send = std::function<Status(const StepMessage& message, int times, bool alone, Done done)>;
  Send send;
  milliseconds poll_min{10}, poll_max{250};  // between two looks: the longer, the longer nothing was found
};

struct Relay {
  Tick tick;
  std::function<void()> forget;  // the job went to somebody else: its memory is worth nothing
};
struct Relays {
  // Of each shard, by its number. Their ticks may be taken by several threads. When work becomes ready, the first that is held is woken.
  std::vector<Relay> each;
  ReadyHints hinted;
};
Relays MakeRelays(const JobContext& context, RelayOptions options);

}  // namespace acl::coordinator
