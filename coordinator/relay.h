#pragma once
// The relays send ready rows to the message queue, one topic for each queue and priority (docs/architecture.md). The ready table is their
// only source. The relay of a shard is a background job with a leader lease of its own; if two relays of one shard run at once, messages
// are sent twice, which is harmless.
//
// One relay of this process polls for all the shards that the process holds, in one query, because a poll costs as much as the rows it
// finds. A second relay polls when it has just got its lease, or when the first has been silent for a second and may be stuck in a call.
// Each relay sweeps its own shard.
//
// A worker that releases a run, and a coordinator that makes one, say which ready row they left (ready_hints.h). The relay sends those rows
// at once. Polls find the rows that nobody named.

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
