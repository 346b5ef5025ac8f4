// /v1/projects: readings. Each says of which event of the journal it is, and the digest of the state that it was made from.
#include <fmt/format.h>

#include "coordinator/api/projects.h"
#include "coordinator/projects/references.h"
#include "shared/base/nearest.h"
#include "shared/kinds/project/active_work.h"
#include "shared/kinds/project/check_tasks.h"

namespace acl::coordinator {
namespace {

using project::Operation;
using project::Work;

using View = std::shared_ptr<const ProjectView>;

// The query and the path as the operation's arguments.
OrRefusal<Json> ReadArguments(const Operation& operation, const HttpRequest& request) {
  Json arguments = Json::object();
  std::vector<std::string> names;
  for (const auto& parameter : operation.parameters) {
    if (const auto in_path = request.params.find(parameter.name); in_path != request.params.end()) {
      arguments[parameter.name] = in_path->second;
    } else {
      names.push_back(parameter.name);
    }
  }
  for (const auto& [name, text] : request.query) {
    const auto* parameter = std::find(names.begin(), names.end(), name) == names.end() ? nullptr : operation.Find(name);
    if (parameter == nullptr) {
      const std::string near = Nearest(name, names);
      return Problem(
          400, "bad-parameter",
          fmt::format("there is no parameter '{}' here{}", name.substr(0, 200), near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    auto value = ValueOfText(*parameter, text);
    if (!value) return Problem(400, "bad-parameter", value.message());
    if (!arguments.contains(name)) arguments[name] = std::move(*value);
  }
  if (const auto wrong = CheckArguments(operation, arguments); !wrong.empty()) return WrongArguments(400, "bad-parameter", wrong);
  return arguments;
}

// The project as it is, or as it was.
OrRefusal<View> ReadView(const ApiContext& api, const ProjectId& id, const Json& arguments) {
  std::optional<std::int64_t> seq;
  std::optional<WallTime> time;
  if (arguments.contains("at_seq")) seq = arguments["at_seq"].get<std::int64_t>();
  if (arguments.contains("at_time")) {
    time = ParseWallTime(arguments["at_time"].get_ref<const std::string&>());
    if (!time) return Problem(400, "bad-parameter", "at_time is a time as in 2026-11-27T09:00:00Z");
  }
  if (seq && time) return Problem(400, "bad-parameter", "at_seq and at_time: one of them");
  auto view = seq || time ? api.projects->ReadAt(id, seq, time) : api.projects->Read(id);
  if (!view) return ProblemOfDesk(view.error());
  return std::move(*view);
}

HttpResponse NotThere(std::string_view what, const std::string& id) {
  return Problem(404, "not-found", fmt::format("there is no {} '{}' in this project", what, id));
}

HttpResponse ListProjects(const ApiContext& api, const Json& arguments) {
  const auto limit = arguments.value("limit", project::kUsualListed);
  auto listed = api.projects->List(arguments.value("after", ""), int(limit) + 1);
  if (!listed) return ProblemOfDesk(listed.error());
  const bool more = std::int64_t(listed->size()) > limit;
  if (more) listed->pop_back();
  Json answer = {{"schema_version", kProjectSchemaVersion}, {"projects", Json::array()}};
  for (const auto& one : *listed) {
    answer["projects"].push_back({{"project_id", one.id.ToString()}, {"name", one.name}, {"created_at", FormatWallTime(one.created_at)}});
  }
  if (more) answer["next_after"] = listed->back().name;
  return HttpResponse::OfJson(200, answer);
}

Json ShowProject(const Work& work) {
  Json answer = {
      {"name", work.project.name}, {"created_at", FormatWallTime(work.project.created_at)}, {"counts", project::CountsToJson(work)}};
  if (work.project.independent) answer["verify"] = "independent";
  return answer;
}

Json ListGoals(const Work& work, const Json& arguments) {
  const auto limit = std::size_t(arguments.value("limit", project::kUsualListed));
  std::size_t left = 0;
  Json answer = {{"goals", Json::array()}};
  for (const project::Goal* one : project::GoalsInOrder(work, arguments.value("withdrawn", false))) {
    if (arguments.contains("status") && arguments["status"] != NameOf(one->status)) continue;
    if (answer["goals"].size() < limit) {
      answer["goals"].push_back(ToJson(*one));
    } else {
      ++left;
    }
  }
  if (left > 0) answer["cut"] = {{"goals", left}};
  return answer;
}

OrRefusal<Json> ListTasks(const Work& work, const Json& arguments) {
  const std::string goal = arguments.value("goal", ""), after = arguments.value("after", ""), actor = arguments.value("actor", "");
  if (!goal.empty() && !work.goals.contains(goal)) return NotThere("goal", goal);
  std::int64_t behind = 0;
  if (!after.empty()) {
    const auto task = work.tasks.find(after);
    if (task == work.tasks.end()) return NotThere("task", after);
    behind = task->second.created_order;
  }
  const auto limit = std::size_t(arguments.value("limit", project::kUsualListed));
  const project::AllWork source(work);
  Json answer = {{"tasks", Json::array()}};
  for (const project::Task* one : project::TasksInOrder(work, arguments.value("withdrawn", false))) {
    const bool fits = one->created_order > behind && (goal.empty() || one->goal == goal) &&
                      (!arguments.contains("status") || arguments["status"] == NameOf(one->status));
    if (!fits) continue;
    if (answer["tasks"].size() == limit) {
      answer["next_after"] = answer["tasks"].back()["task_id"];
      break;
    }
    answer["tasks"].push_back(TaskItem(source, *one, actor));
  }
  return answer;
}

Json CheckAll(const Work& work, std::size_t most) {
  const auto findings = project::CheckTasks(work);
  Json answer = {{"findings", Json::array()}};
  for (std::size_t i = 0; i < std::min(most, findings.size()); ++i) answer["findings"].push_back(ToJson(findings[i]));
  if (findings.size() > most) answer["cut"] = {{"findings", findings.size() - most}};
  return answer;
}

// Reads nothing but what it says: the answer is asked for all the time.
Json NextAnswer(const ProjectView& view, const std::string& actor, std::size_t limit) {
  const auto project = project::FindProject(view.state);
  return NextToJson(project::StateWork(view.state), project ? project->order : 0, view.Next(actor), limit);
}

OrRefusal<Json> Answer(const Operation& operation, const ProjectView& view, const Json& arguments) {
  const std::string actor = arguments.value("actor", "");
  const auto limit = std::size_t(arguments.value("limit", project::kUsualListed));
  if (operation.name == "get_next_step") return NextAnswer(view, actor, limit);
  const Work& work = view.work();
  if (operation.name == "show_project") return ShowProject(work);
  if (operation.name == "get_work") return ActiveWork(work, view.Next(actor), actor, limit);
  if (operation.name == "list_goals") return ListGoals(work, arguments);
  if (operation.name == "list_tasks") return ListTasks(work, arguments);
  if (operation.name == "check_tasks") return CheckAll(work, limit);
  if (operation.name == "task_tree") {
    const std::string goal = arguments.value("goal", "");
    if (!goal.empty() && !work.goals.contains(goal)) return NotThere("goal", goal);
    return TaskTree(work, actor, goal, limit);
  }
  ACL_CHECK(operation.name == "show_task", "a reading of the table that nobody answers");
  const std::string id = arguments["task_id"];
  const auto task = work.tasks.find(id);
  if (task == work.tasks.end()) return NotThere("task", id);
  return TaskInFull(work, task->second, actor);
}

}  // namespace

// Of a next step: what it needs, looked at now.
void AddReferences(const ApiContext& api, const ProjectView& view, Json& next) {
  const auto needed = next.find("required_context_refs");
  if (needed == next.end() || needed->empty()) return;
  next["references"] =
      ToJson(CheckReferences(api.queries, view.id, project::StateWork(view.state), needed->get<std::vector<std::string>>()));
}

HttpResponse AnswerReading(const ApiContext& api, const Operation& operation, const HttpRequest& request) {
  auto arguments = ReadArguments(operation, request);
  if (const auto* refusal = RefusalOf(arguments)) return *refusal;
  if (!operation.OfOneProject()) return ListProjects(api, ValueOf(arguments));
  auto project = ReadProject(api, request);
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  auto read = ReadView(api, ValueOf(project).id, ValueOf(arguments));
  if (const auto* refusal = RefusalOf(read)) return *refusal;
  const ProjectView& view = *ValueOf(read);
  auto answer = Answer(operation, view, ValueOf(arguments));
  if (const auto* refusal = RefusalOf(answer)) return *refusal;
  Json& body = ValueOf(answer);
  if (operation.name == "get_next_step") AddReferences(api, view, body);
  body["schema_version"] = kProjectSchemaVersion;
  body["project_id"] = view.id.ToString();
  body["event_seq"] = view.head_seq;
  body["head_at"] = FormatWallTime(view.head_at);
  body["state_digest"] = ToHex(view.state.Root());
  return HttpResponse::OfJson(200, body);
}

}  // namespace acl::coordinator
