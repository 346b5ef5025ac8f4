#include "coordinator/api/created.h"

#include <charconv>

#include "coordinator/end_watch.h"
#include "coordinator/run_creator.h"

namespace acl::coordinator {

using std::chrono::milliseconds;

milliseconds ReadWait(const HttpRequest& request) {
  const std::string* prefer = request.Header("prefer");
  if (prefer == nullptr) return milliseconds(0);
  const std::string_view text = *prefer;
  for (std::size_t from = 0; from < text.size();) {
    std::size_t to = std::min(text.find(',', from), text.size());
    std::string_view one = text.substr(from, to - from);
    from = to + 1;
    while (!one.empty() && (one.front() == ' ' || one.front() == '\t')) one.remove_prefix(1);
    while (!one.empty() && (one.back() == ' ' || one.back() == '\t')) one.remove_suffix(1);
    if (!one.starts_with("wait=")) continue;
    one.remove_prefix(5);
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), seconds);
    if (error != std::errc() || end != one.data() + one.size() || seconds <= 0) return milliseconds(0);
    return std::min(kLongestWait, milliseconds(1000) * std::min<std::int64_t>(seconds, 3600));
  }
  return milliseconds(0);
}

workflow::CreateRequest RequestOf(const HttpRequest& request, Json inputs, Json labels) {
  workflow::CreateRequest create;
  create.inputs = std::move(inputs);
  create.labels = std::move(labels);
  create.submitter = request.principal;
  // The run's spans go below this request's, if it is recorded, else below its caller's.
  create.trace = request.span;
  if (request.span.span_id.empty()) create.trace = {request.trace_id, request.caller.span_id, request.caller.sampled};
  return create;
}

void CreateAndWait(const ApiContext& api, CreateItem item, milliseconds wait, CreateDone done) {
  // Handed from thread to thread: what it holds is copied by none of them.
  const auto tell = std::make_shared<const CreateDone>(std::move(done));
  const auto made = [&ends = api.ends, wait, tell](const Result<CreateOutcome>& outcome) {
    if (!outcome || wait.count() == 0 || outcome->kind == CreateOutcome::Kind::kKeyConflict) return (*tell)(outcome, std::nullopt);
    const bool replayed = outcome->kind == CreateOutcome::Kind::kReplayed;  // may have ended long ago
    const bool waits = ends.Add(
        outcome->subject, wait, [tell, outcome](const std::optional<EndView>& end) { (*tell)(outcome, end); }, replayed);
    if (!waits) (*tell)(outcome, std::nullopt);
  };
  if (!api.creator.Add(std::move(item), made)) (*tell)(Error{Code::kUnavailable, "too many runs are being made; try again"}, std::nullopt);
}

void AddEnd(Json& body, const EndView& end) {
  body["status"] = end.status;
  body["closed"] = end.closed;
  if (!end.error_message.empty()) body["error_message"] = end.error_message;
}

}  // namespace acl::coordinator
