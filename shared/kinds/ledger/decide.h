#pragma once
// A command on a ledger and its state: events and an answer, or a refusal (document 004, 5 and 6; anchors D-r14).
//
//   propose_fact                   claim, source, [confidence], [subject], [contradicts], by
//   ratify_fact                    fact_id, by
//   retract_fact                   fact_id, reason, by
//   set_budget                     limit_micros (0: none), period ("day", "month", "total"), by
//
// Not said by people, but by whoever calls a model:
//   reserve                        call_id, micros, expires: what the call may cost at most; refused if the account has not that much left
//   settle                         call_id, micros: what it cost
//
// What is set aside and never settled counts as spent when it expires: nobody knows that it was not.

#include <string>

#include "shared/kernel/commanded_kind.h"
#include "shared/kinds/ledger/model.h"

namespace acl::ledger {

// Reasons of refusals: FORM, NOT_FOUND, EXISTS, NOT_PROPOSED, RETRACTED, BUDGET, LIMIT.
using Decided = CommandDecided;

// The first event of a ledger's journal.
EventDraft Created(const std::string& by, WallTime now);
// Pure: the same state, command and time give the same answer.
Decided Decide(const Document& state, const Json& command, WallTime now);
Decided DecideExpired(const Document& state, const std::string& timer_id, WallTime now);

}  // namespace acl::ledger
