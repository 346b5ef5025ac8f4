#pragma once
// A run and its steps in words, from the API's JSON.

#include "cli/session.h"

namespace acl::cli {

// "COMPLETED", "CANCELLED" (of a run that somebody stopped), "FAILED, COMPENSATING" (what was done is being undone), "FAILED, STOPPING"; in
// lists "FAILED, ENDING".
std::string RunWord(const Json& run);
Shown PaintedRunWord(const Session& session, const Json& run);
// What a step does now, or how it ended: its status, or "QUEUED" (waits for a worker), "READY", "INTERRUPTED" of its activity.
std::string StepWord(const Json& step);
// From `from` to `to`: "350 ms", "12.3 s", "4 m 05 s", "3 h 20 m"; "" if one is missing.
std::string Took(const std::string& from, const std::string& to);
std::string LengthText(std::int64_t ms);
// Name and value in two columns, further lines of the value below it; nothing of an empty value.
void PrintField(Session* session, const std::string& name, const Shown& value);
// A value on one line of at most `most` characters.
std::string OneLine(const Json& value, std::size_t most);
// A value that a view cut, {"truncated": true, "bytes", "url"}, read whole; any other as it is.
Result<Json> WholeValue(ApiClient& api, const Json& value);
// The exit code of a closed run: 0 only if it COMPLETED.
int ExitOfRun(const Json& run);
// "the run ended FAILED, step 'x' failed: why"; for stderr.
std::string EndText(const Json& run);

}  // namespace acl::cli
