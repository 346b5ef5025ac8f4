#include "coordinator/api/activity.h"

namespace acl::coordinator {
namespace {

Json OfTask(const Json& task) {
  if (task.value("state", "") == "started") {
    return {{"name", "running"}, {"holder", task.value("holder", "")}, {"since", task.value("started_at", "")}};
  }
  return {{"name", "queued"}, {"queue", task.value("queue", "")}, {"since", task.value("queued_at", "")}};
}

// Tasks that are out, by step.
std::map<std::string, const Json*> OpenTasks(const Json& run) {
  std::map<std::string, const Json*> open;
  const auto tasks = run.find("tasks");
  if (tasks == run.end()) return open;
  for (const Json& task : *tasks) {
    const std::string state = task.value("state", "");
    if (state == "queued" || state == "started") open[task.value("step_id", "")] = &task;
  }
  return open;
}

}  // namespace

void AddActivity(Json& run) {
  const auto state = run.find("state");
  if (state == run.end()) return;
  const std::string name = state->value("name", ""), holder = state->value("holder", "");
  const bool leased = name == "leased";
  const auto tasks = OpenTasks(run);
  for (const char* list : {"steps", "compensations"}) {
    const auto steps = run.find(list);
    if (steps == run.end()) continue;
    for (Json& step : *steps) {
      const std::string status = step.value("status", "");
      if (status == "RUNNING" && step.value("capability", "").empty()) continue;  // it holds others, or a run of its own does it
      const auto task = tasks.find(step.value("step_id", ""));
      if (status == "RUNNING" && task != tasks.end()) {
        step["activity"] = OfTask(*task->second);
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
