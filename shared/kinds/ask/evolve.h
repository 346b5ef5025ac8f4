#pragma once
// What an event does to an ask session's state. Facts by type: decide.h says what each command carries, and the events repeat it.

#include "shared/journal/delta.h"
#include "shared/journal/event.h"
#include "shared/kinds/ask/model.h"

namespace acl::ask {

namespace events {
inline constexpr std::string_view kCreated = "session.created", kOpened = "session.opened", kClosed = "session.closed",
                                  kReleased = "session.quarantine_released";
inline constexpr std::string_view kPrepared = "exchange.prepared", kRecorded = "exchange.recorded", kFailed = "exchange.failed",
                                  kUncertain = "exchange.uncertain";
inline constexpr std::string_view kDriftOpened = "driftwatch.opened", kDriftClosed = "driftwatch.closed";
inline constexpr std::string_view kRefused = "command.refused";
}  // namespace events

// `draft.at`: the time of the event. A draft that does not fit the state is Delta::Impossible: a bug of decide.
Delta Evolve(const Document& state, const EventDraft& draft);

}  // namespace acl::ask
