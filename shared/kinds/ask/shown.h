#pragma once
// The rows of document 004's tables (5.2) that a session shows. The row of the session is made of its state, all others of the events that
// say them, and stay as they are: what was asked and answered is on record.
//
//   chat_session             state                          chat_turn, context_artifact_ref   exchange.prepared, exchange.recorded
//   ask_prepared             exchange.prepared              ask_outcome                       exchange.recorded, .failed, .uncertain
//   driftwatch               driftwatch.opened, .closed     ask_session (its owner)           session.opened
//
// `llm_exchange` is a view of ask_prepared and ask_outcome (migrations/views/llm_exchange.sql).

#include <vector>

#include "shared/kernel/command.h"

namespace acl::ask {

std::vector<ShownRow> RowsOfEvent(std::string_view type, const Json& facts, WallTime at);
ShownRow RowOfSession(const Json& session);

}  // namespace acl::ask
