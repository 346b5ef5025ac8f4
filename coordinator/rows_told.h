#pragma once
// How the relays hear of ready rows from those who made them (relay.h).

#include <functional>
#include <vector>

#include "shared/queue/step_message.h"

namespace acl::coordinator {

// Those of shards held here are sent, without asking the database, as far as they are believed (shared/queue/relay_book.h). False: not all
// of them were; a look finds what is there. From any thread.
using RowsTold = std::function<bool(const std::vector<StepMessage>& rows)>;

}  // namespace acl::coordinator
