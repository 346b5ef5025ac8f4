#include "shared/kinds/project/model.h"

namespace acl::project {

namespace {

WallTime TimeIn(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  return ParseWallTime(found->get_ref<const std::string&>()).value_or(WallTime{});
}

std::vector<std::string> TextsIn(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  return found->get<std::vector<std::string>>();
}

// What is empty is left out: most tasks have neither blockers nor a claim.
void PutTexts(Json& object, const char* key, const std::vector<std::string>& texts) {
  if (!texts.empty()) object[key] = texts;
}

Json ToJson(const Claim& claim) {
  Json object = {{"holder", claim.holder}, {"token", claim.token}, {"since", FormatWallTime(claim.since)}};
  if (claim.expires) object["expires"] = FormatWallTime(*claim.expires);
  return object;
}

Claim ClaimFrom(const Json& object) {
  Claim claim{object.at("holder"), object.at("token"), TimeIn(object, "since"), std::nullopt};
  if (object.contains("expires")) claim.expires = TimeIn(object, "expires");
  return claim;
}

Json ToJson(const TaskRun& run) {
  Json object = {{"run_id", run.run_id}, {"by", run.by}, {"linked_at", FormatWallTime(run.linked_at)}};
  if (run.ended_at) {
    object["status"] = run.status;
    object["head_seq"] = run.head_seq;
    object["state_root"] = run.state_root;
    object["ended_at"] = FormatWallTime(*run.ended_at);
  }
  return object;
}

TaskRun TaskRunFrom(const Json& object) {
  TaskRun run{object.at("run_id"), object.at("by"), TimeIn(object, "linked_at"), "", 0, "", std::nullopt};
  if (!object.contains("ended_at")) return run;
  run.status = object.at("status");
  run.head_seq = object.at("head_seq");
  run.state_root = object.at("state_root");
  run.ended_at = TimeIn(object, "ended_at");
  return run;
}

Project ProjectFrom(const Json& object) {
  Project project;
  project.name = object.at("name");
  project.independent = object.value("independent", false);
  project.order = object.at("order");
  project.goals = object.at("goals");
  project.tasks = object.at("tasks");
  project.created_at = TimeIn(object, "created_at");
  return project;
}

Goal GoalFrom(const Json& object) {
  Goal goal;
  goal.id = object.at("goal_id");
  goal.text = object.at("text");
  goal.priority = object.at("priority");
  goal.status = ParseGoalStatus(object.at("status").get_ref<const std::string&>()).value_or(GoalStatus::kActive);
  goal.withdrawn = object.value("withdrawn", false);
  goal.open_tasks = object.at("open_tasks");
  goal.created_order = object.at("created_order");
  goal.created_at = TimeIn(object, "created_at");
  return goal;
}

Task TaskFrom(const Json& object) {
  Task task;
  task.id = object.at("task_id");
  task.goal = object.at("goal_id");
  task.title = object.at("title");
  task.status = ParseTaskStatus(object.at("status").get_ref<const std::string&>()).value_or(TaskStatus::kTodo);
  task.withdrawn = object.value("withdrawn", false);
  task.priority = object.at("priority");
  task.acceptance_criteria = TextsIn(object, "acceptance_criteria");
  task.depends_on = TextsIn(object, "depends_on");
  task.needed_by = TextsIn(object, "needed_by");
  task.evidence = TextsIn(object, "evidence");
  if (const auto blockers = object.find("blockers"); blockers != object.end()) {
    for (const Json& one : *blockers) task.blockers.push_back({one.at("id"), one.at("text"), one.at("by"), TimeIn(one, "since")});
  }
  task.blockers_made = object.value("blockers_made", 0);
  if (const auto runs = object.find("runs"); runs != object.end()) {
    for (const Json& one : *runs) task.runs.push_back(TaskRunFrom(one));
  }
  if (const auto claim = object.find("claim"); claim != object.end()) task.claim = ClaimFrom(*claim);
  task.claims = object.value("claims", std::int64_t(0));
  task.abandoned = object.value("abandoned", 0);
  task.created_order = object.at("created_order");
  task.blocked_order = object.value("blocked_order", std::int64_t(0));
  task.started_order = object.value("started_order", std::int64_t(0));
  task.started_at = TimeIn(object, "started_at");
  task.updated_at = TimeIn(object, "updated_at");
  return task;
}

Checkpoint CheckpointFrom(const Json& object) {
  Checkpoint checkpoint;
  checkpoint.task = object.at("task_id");
  checkpoint.where_we_left_off = object.at("where_we_left_off");
  checkpoint.next_step = object.at("next_step");
  checkpoint.by = object.at("by");
  checkpoint.context_refs = TextsIn(object, "needed_context_refs");
  checkpoint.blockers = TextsIn(object, "blockers");
  checkpoint.tried = TextsIn(object, "tried");
  checkpoint.pending = TextsIn(object, "pending");
  checkpoint.order = object.at("order");
  checkpoint.timestamp = TimeIn(object, "timestamp");
  return checkpoint;
}

template <class T>
std::optional<T> Find(const Document& state, const std::string& key, T (*from)(const Json&)) {
  const Json* found = state.Find(key);
  if (found == nullptr) return std::nullopt;
  return from(*found);
}

}  // namespace

Json ToJson(const Project& project) {
  Json object = {{"name", project.name},
                 {"order", project.order},
                 {"goals", project.goals},
                 {"tasks", project.tasks},
                 {"created_at", FormatWallTime(project.created_at)}};
  if (project.independent) object["independent"] = true;
  return object;
}

Json ToJson(const Goal& goal) {
  Json object = {{"goal_id", goal.id},
                 {"text", goal.text},
                 {"priority", goal.priority},
                 {"status", NameOf(goal.status)},
                 {"open_tasks", goal.open_tasks},
                 {"created_order", goal.created_order},
                 {"created_at", FormatWallTime(goal.created_at)}};
  if (goal.withdrawn) object["withdrawn"] = true;
  return object;
}

Json ToJson(const Task& task) {
  Json object = {
      {"task_id", task.id}, {"goal_id", task.goal}, {"title", task.title}, {"status", NameOf(task.status)}, {"priority", task.priority}};
  if (task.withdrawn) object["withdrawn"] = true;
  PutTexts(object, "acceptance_criteria", task.acceptance_criteria);
  PutTexts(object, "depends_on", task.depends_on);
  PutTexts(object, "needed_by", task.needed_by);
  PutTexts(object, "evidence", task.evidence);
  for (const Blocker& one : task.blockers) {
    object["blockers"].push_back({{"id", one.id}, {"text", one.text}, {"by", one.by}, {"since", FormatWallTime(one.since)}});
  }
  if (task.blockers_made > 0) object["blockers_made"] = task.blockers_made;
  for (const TaskRun& one : task.runs) object["runs"].push_back(ToJson(one));
  if (task.claim) object["claim"] = ToJson(*task.claim);
  if (task.claims > 0) object["claims"] = task.claims;
  if (task.abandoned > 0) object["abandoned"] = task.abandoned;
  object["created_order"] = task.created_order;
  if (task.blocked_order > 0) object["blocked_order"] = task.blocked_order;
  if (task.started_order > 0) {
    object["started_order"] = task.started_order;
    object["started_at"] = FormatWallTime(task.started_at);
  }
  object["updated_at"] = FormatWallTime(task.updated_at);
  return object;
}

Json ToJson(const Checkpoint& checkpoint) {
  Json object = {{"task_id", checkpoint.task},
                 {"where_we_left_off", checkpoint.where_we_left_off},
                 {"next_step", checkpoint.next_step},
                 {"by", checkpoint.by}};
  PutTexts(object, "needed_context_refs", checkpoint.context_refs);
  PutTexts(object, "blockers", checkpoint.blockers);
  PutTexts(object, "tried", checkpoint.tried);
  PutTexts(object, "pending", checkpoint.pending);
  object["order"] = checkpoint.order;
  object["timestamp"] = FormatWallTime(checkpoint.timestamp);
  return object;
}

std::optional<Project> FindProject(const Document& state) { return Find(state, std::string(kProjectKey), &ProjectFrom); }
std::optional<Goal> FindGoal(const Document& state, std::string_view id) { return Find(state, GoalKey(id), &GoalFrom); }
std::optional<Task> FindTask(const Document& state, std::string_view id) { return Find(state, TaskKey(id), &TaskFrom); }
std::optional<Checkpoint> FindCheckpoint(const Document& state, std::string_view id) {
  return Find(state, CheckpointKey(id), &CheckpointFrom);
}

namespace {

template <class T>
void Put(std::map<std::string, T>& all, const std::string& id, const Json* value, T (*from)(const Json&)) {
  if (value == nullptr) {
    all.erase(id);
  } else {
    all.insert_or_assign(id, from(*value));
  }
}

}  // namespace

void PutEntry(const std::string& entry, const Json* value, Work& work) {
  const auto id = [&](std::string_view prefix) { return entry.substr(prefix.size()); };
  if (entry == kProjectKey) {
    work.project = value == nullptr ? Project{} : ProjectFrom(*value);
  } else if (entry.starts_with("goal:")) {
    Put(work.goals, id("goal:"), value, &GoalFrom);
  } else if (entry.starts_with("task:")) {
    Put(work.tasks, id("task:"), value, &TaskFrom);
  } else if (entry.starts_with("checkpoint:")) {
    Put(work.checkpoints, id("checkpoint:"), value, &CheckpointFrom);
  }
}

Work ReadWork(const Document& state) {
  Work work;
  state.ForEach([&](const std::string& key, const Json& value) {
    PutEntry(key, &value, work);
    return true;
  });
  return work;
}

std::vector<std::string> Watchers(const Document& state) {
  const Json* entry = state.Find(kWatchersKey);
  return entry == nullptr ? std::vector<std::string>() : entry->get<std::vector<std::string>>();
}

}  // namespace acl::project
