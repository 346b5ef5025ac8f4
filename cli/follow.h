#pragma once
// Waiting for a run, by its server-sent events; where there is no stream, by asking again with growing pauses.

#include "cli/session.h"

namespace acl::cli {

// The run's last form (GET /v1/workflows/{id}) once it is closed; of one that goes on as another, that one's. `timeout` 0: however long it
// takes; else kTimeout. Survives a coordinator that is away for a while. Says on stderr when the run waits for a person, and how it goes on
// if stderr is a terminal.
Result<Json> WaitForEnd(Session* session, const std::string& id, std::chrono::milliseconds timeout);

// Gives each event after `after_seq` once, in order, until the run is closed. Resumes where a broken stream ended.
Status FollowEvents(Session* session, const std::string& id, std::int64_t after_seq, const std::function<void(const Json& event)>& take);

bool IsClosed(const Json& run);

}  // namespace acl::cli
