#include "coordinator/api/activity.h"

namespace acl::coordinator {
namespace {

Json OfDispatch(const Json& dispatch) {
  if (dispatch.value("state", "") == "started") {
    return {{"name", "running"}, {"holder", dispatch.value("holder", "")}, {"since", dispatch.value("started_at", "")}};
  }
  return {{"name", "queued"}, {"queue", dispatch.value("queue", "")}, {"since", dispatch.value("queued_at", "")}};
}

// Dispatches that are out, by step.
std::map<std::string, const Json*> OpenDispatches(const Json& run) {
  std::map<std::string, const Json*> open;
  const auto dispatches = run.find("dispatches");
  if (dispatches == run.end()) return open;
  for (const Json& dispatch : *dispatches) {
    const std::string state = dispatch.value("state", "");
    if (state == "queued" || state == "started") open[dispatch.value("step_id", "")] = &dispatch;
  }
  return open;
}

}  // namespace

void AddActivity(Json& run) {
  const auto state = run.find("state");
  if (state == run.end()) return;
  const std::string name = state->value("name", ""), holder = state->value("holder", "");
  const bool leased = name == "leased";
  const auto dispatches = OpenDispatches(run);
  for (const char* list : {"steps", "compensations"}) {
    const auto steps = run.find(list);
    if (steps == run.end()) continue;
    for (Json& step : *steps) {
      const std::string status = step.value("status", "");
      if (status == "RUNNING" && step.value("capability", "").empty()) continue;  // it holds others, or a run of its own does it
      const auto dispatch = dispatches.find(step.value("step_id", ""));
      if (status == "RUNNING" && dispatch != dispatches.end()) {
        step["activity"] = OfDispatch(*dispatch->second);
      } else if (status == "RUNNING" && leased) {
        step["activity"] = {{"name", "running"}, {"holder", holder}};
        if (step.contains("started_at")) step["activity"]["since"] = step["started_at"];
      } else if (status == "RUNNING") {
        // A dispatched step's result may have come a moment ago: then the run is ready and its next holder reads it.
        if (!step.contains("dispatched_at")) step["activity"] = {{"name", "interrupted"}};
      } else if (step.value("ready", false) && leased) {
        step["activity"] = {{"name", "running"}, {"holder", holder}, {"assumed", true}};
      } else if (step.value("ready", false) && name == "ready") {
        step["activity"] = {{"name", "ready"}};
      }
    }
  }
}

}  // namespace acl::coordinator
