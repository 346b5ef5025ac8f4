#pragma once
// A decision as it comes in (the payload of an inbox row `decide`), and as it stands in events. For every kind of subject that asks.

#include "shared/approval/approval.h"

namespace acl::approval {

// What is missing, or of another type, is empty.
Decision DecisionFrom(const Json& payload);
// Everything that is known of who decided, and how.
void AddDecision(const Decision& decision, Json& facts);
// Whatever was said is on record, and no more of it than a decision may have.
Decision CutTo(Decision said);
Json VoteOf(const Decision& decision, WallTime now);

// What a commit says of approvals to whoever lists them (migrations/functions/show_approval.sql): an outbox row that becomes a row of
// `approvals` in the same transaction. Its key is the approval's id, its payload the request.
inline constexpr std::string_view kShownTopic = "approval/shown";

}  // namespace acl::approval
