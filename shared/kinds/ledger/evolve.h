#pragma once
// What an event does to a ledger's state. Facts by type: decide.h.

#include "shared/journal/delta.h"
#include "shared/journal/event.h"
#include "shared/kinds/ledger/model.h"

namespace acl::ledger {

namespace events {
inline constexpr std::string_view kCreated = "ledger.created", kReleased = "ledger.quarantine_released";
inline constexpr std::string_view kProposed = "fact.proposed", kRatified = "fact.ratified", kRetracted = "fact.retracted";
inline constexpr std::string_view kBudgetSet = "budget.set", kReserved = "budget.reserved", kSettled = "budget.settled",
                                  kExpired = "budget.expired";
inline constexpr std::string_view kRefused = "command.refused";
}  // namespace events

// `draft.at`: the time of the event. A draft that does not fit the state is Delta::Impossible: a bug of decide.
Delta Evolve(const Document& state, const EventDraft& draft);

}  // namespace acl::ledger
