#include "cli/run_text.h"

#include <fmt/format.h>

#include "cli/follow.h"
#include "cli/format.h"
#include "shared/base/clock.h"

namespace acl::cli {

std::string RunWord(const Json& run) {
  const std::string status = TextOf(run, "status");
  if (status != "FAILED") return status;
  const std::string word = TextOf(run, "reason") == "cancelled" ? "CANCELLED" : status;
  if (IsClosed(run)) return word;
  if (!run.contains("steps_total")) return word + ", ENDING";  // a list does not know what it still does
  return word + (run.value("rolling_back", false) ? ", COMPENSATING" : ", STOPPING");
}

Shown PaintedRunWord(const Session& session, const Json& run) { return session.Paint(StatusColour(TextOf(run, "status")), RunWord(run)); }

std::string StepWord(const Json& step) {
  const std::string activity = TextOf(step.value("activity", Json::object()), "name");
  std::string word = activity.empty() ? TextOf(step, "status") : activity;
  for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return word;
}

std::string LengthText(std::int64_t ms) {
  if (ms < 1'000) return fmt::format("{} ms", ms);
  const std::int64_t seconds = ms / 1'000;
  if (seconds < 60) return fmt::format("{}.{} s", seconds, ms % 1'000 / 100);
  if (seconds < 3'600) return fmt::format("{} m {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} m", seconds / 3'600, seconds % 3'600 / 60);
}

std::string Took(const std::string& from, const std::string& to) {
  const auto first = ParseWallTime(from), last = ParseWallTime(to);
  if (!first || !last || *last < *first) return "";
  return LengthText(std::chrono::duration_cast<std::chrono::milliseconds>(*last - *first).count());
}

void PrintField(Session* session, const std::string& name, const Shown& value) {
  constexpr std::size_t kColumn = 12;
  if (value.bytes().empty()) return;
  session->Print(name + std::string(name.size() < kColumn ? kColumn - name.size() : 1, ' ') + Indented(value, kColumn));
}

std::string OneLine(const Json& value, std::size_t most) { return Cut(DumpJson(value), most); }

Result<Json> WholeValue(ApiClient& api, const Json& value) {
  const bool cut = value.is_object() && value.size() == 3 && value.value("truncated", Json()) == true && value.contains("bytes") &&
                   TextOf(value, "url").starts_with("/v1/workflows/");
  return cut ? api.Get(TextOf(value, "url")) : value;
}

int ExitOfRun(const Json& run) { return TextOf(run, "status") == "COMPLETED" ? kExitOk : kExitFailure; }

std::string EndText(const Json& run) {
  const std::string error = TextOf(run, "error"), word = RunWord(run);
  // The error of a cancelled run says "cancelled" itself, that of a failed one names the step.
  return "the run ended " + word + (error.empty() ? "" : ": " + error);
}

}  // namespace acl::cli
