#include "shared/aegis/sight.h"

#include <algorithm>

#include "shared/aegis/gates.h"

namespace acl::aegis {

namespace {

bool IsSightReason(std::string_view reason) { return reason == "not_installed" || reason == "blocked_by_tier" || reason == "tool_error"; }

SightEntry EntryOf(const ToolRule& tool, const ToolOutput* output, const Kernel& kernel, WallTime now) {
  SightEntry entry;
  entry.tool = tool.name;
  if (tool.from_tier > kernel.tier) {
    MakeUnavailable(&entry, "blocked_by_tier", "");
  } else if (!output) {
    MakeUnavailable(&entry, "tool_error", "the tool was not asked or did not answer");
  } else if (!output->refused.empty()) {
    MakeUnavailable(&entry, "tool_error", "the values were refused: " + output->refused);
  } else if (!output->available) {
    MakeUnavailable(&entry, IsSightReason(output->reason) ? output->reason : "tool_error", "");
  } else if (!output->values.is_object() || output->values.empty()) {
    entry.without_values = true;
    MakeUnavailable(&entry, "tool_error", "the tool said that it is available and gave no values");
  } else if (!CheckStorable(output->values).ok() || !CheckStorable(Json(output->unknowns)).ok()) {
    MakeUnavailable(&entry, "tool_error", "the values are no JSON that can be stored");
  } else {
    entry.stamp = {{"available", true},
                   {"observed_at", WholeSeconds(output->observed_at)},
                   {"freshness_s", FreshnessSeconds(output->observed_at, now)}};
    entry.values = output->values;
    entry.execution = output->execution;
    entry.observed_at = output->observed_at;
    entry.unknowns = output->unknowns;
    std::sort(entry.unknowns.begin(), entry.unknowns.end());
  }
  return entry;
}

}  // namespace

void MakeUnavailable(SightEntry* entry, std::string_view reason, std::string_view detail) {
  entry->stamp = {{"available", false}, {"reason", reason}};
  if (!detail.empty()) entry->stamp["detail"] = detail;
  entry->values = nullptr;
  entry->unknowns.clear();
}

std::int64_t FreshnessSeconds(WallTime observed_at, WallTime now) {
  return std::max<std::int64_t>(0, std::chrono::floor<std::chrono::seconds>(now - observed_at).count());
}

std::string WholeSeconds(WallTime time) {
  std::string text = FormatWallTime(std::chrono::floor<std::chrono::seconds>(time));
  return text.substr(0, text.find('.')) + "Z";
}

Sight CompileSight(const Kernel& kernel, const std::vector<ToolOutput>& outputs, WallTime now) {
  Sight sight;
  // Of several outputs of one tool the newest counts, by execution between equals.
  std::map<std::string_view, const ToolOutput*> newest;
  for (const ToolOutput& output : outputs) {
    const ToolOutput*& best = newest[output.tool];
    if (!best || std::tuple(best->observed_at, best->execution) < std::tuple(output.observed_at, output.execution)) best = &output;
  }
  for (const ToolRule& tool : kernel.observational) {
    const auto found = newest.find(tool.name);
    const ToolOutput* output = found == newest.end() ? nullptr : found->second;
    sight.entries.push_back(EntryOf(tool, output, kernel, now));
    if (output && !output->refused.empty()) sight.exclusions.push_back({ShownId("tool:" + tool.name), output->refused});
  }
  for (const auto& [name, output] : newest) {
    if (kernel.Observational(name)) continue;
    const bool acts = kernel.Actuation(name) != nullptr;
    sight.exclusions.push_back({ShownId("tool:" + std::string(name)), acts ? "actuation_tool_disallowed" : "tool_not_declared"});
  }
  return sight;
}

}  // namespace acl::aegis
