#pragma once
// How the relays hear of ready rows from those who made them (relay.h).

#include <functional>
#include <vector>

#include "shared/queue/step_message.h"

namespace acl::coordinator {

struct Hinted {
  bool all = true;                  // false: not all of those of shards held here were sent; a look finds what is there
  std::vector<StepMessage> others;  // of shards that another process relays
};
// Those of shards held here are sent, without asking the database, as far as they are believed (shared/queue/relay_book.h). From any
// thread.
using ReadyHints = std::function<Hinted(const std::vector<StepMessage>& rows)>;

}  // namespace acl::coordinator
