#pragma once
// Runs being made for the API: what every way of submitting shares (submit.cc, submit_many.cc).

#include <chrono>
#include <functional>
#include <optional>

#include "coordinator/api/api.h"
#include "shared/workflow/create_run.h"

namespace acl::coordinator {

inline constexpr std::chrono::milliseconds kLongestWait{60'000};

// How long the caller waits for its runs to end: `Prefer: wait=SECONDS` (RFC 7240), at most kLongestWait; zero if it does not wait, or says
// something else.
std::chrono::milliseconds ReadWait(const HttpRequest& request);

// Who asks, and the trace its run belongs to.
workflow::CreateRequest RequestOf(const HttpRequest& request, Json inputs, Json labels);

// Makes the run, and waits for its end if `wait` is not zero. `end`: it has ended. `done` is called once, on a thread of the creator's or
// the watch's; at once if too much is asked of this process (kUnavailable).
using CreateDone = std::function<void(const Result<CreateOutcome>& made, const std::optional<EndView>& end)>;
void CreateAndWait(const ApiContext& api, CreateItem item, std::chrono::milliseconds wait, CreateDone done);

// "status", "closed" and "error_message" of a run that has ended.
void AddEnd(Json& body, const EndView& end);

}  // namespace acl::coordinator
