#pragma once
// Values of the kernel as the API's JSON. Times are RFC 3339 with microseconds, hashes hex, absent values left out.

#include "shared/base/json.h"
#include "shared/definition/loader.h"
#include "shared/kernel/queries.h"

namespace acl::coordinator {

// A row of GET /v1/workflows: what the database lists, and why it runs or not.
Json SubjectToJson(const SubjectView& view);
// One journal event; its payload parsed, null if retention removed it.
// An event as JSON text. Its payload stands in it as it is stored: it may be large, and is not read.
std::string EventText(const Event& event);
// {"first","last","detail"}: the events between that one and the first that is kept, which retention dropped; null if none is missing.
Json DroppedToJson(const SubjectId& subject, std::int64_t after_seq, std::int64_t first_kept);
Json AttemptToJson(const AttemptView& view);
// A dispatch: where, how far, who has it since when.
Json DispatchToJson(const DispatchView& view);
Json GrantToJson(const GrantView& view);
Json LeaseToJson(const LeaseView& view);
Json SessionToJson(const SessionRow& row);
Json QuarantineToJson(const QuarantineView& view);
// {"severity", "code", "message", "line"?, "column"?, "text"}: `text` is file:line:column: error: code: message.
Json FindingToJson(const std::string& file, const Finding& finding);
Json FindingsToJson(const std::string& file, const std::vector<Finding>& findings);

}  // namespace acl::coordinator
