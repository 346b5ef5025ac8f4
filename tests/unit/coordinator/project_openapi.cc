#include "tests/unit/coordinator/project_openapi.h"

#include "shared/kinds/project/operations.h"

namespace acl::coordinator {

namespace {

using Ordered = nlohmann::ordered_json;
using project::Operation;
using project::Parameter;

Ordered FromTable(const Json& json) { return Ordered::parse(json.dump()); }

Ordered Reference(const std::string& schema) { return {{"$ref", "#/components/schemas/" + schema}}; }

Ordered ProblemsOf(const std::vector<const char*>& statuses) {
  Ordered responses = Ordered::object();
  for (const char* status : statuses) responses[status] = {{"$ref", "#/components/responses/Problem"}};
  return responses;
}

Ordered JsonContent(Ordered schema) { return {{"application/json", {{"schema", std::move(schema)}}}}; }

Ordered InPath(const char* name, const char* description) {
  return {{"name", name}, {"in", "path"}, {"required", true}, {"description", description}, {"schema", {{"type", "string"}}}};
}

Ordered ProjectInPath() { return InPath("project", "The project's id in full, or its name."); }

std::string Sentence(std::string text) {
  text[0] = char(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

Ordered CommandOf(const Operation& operation) {
  const bool creates = !operation.OfOneProject();
  Ordered parameters = Ordered::array();
  if (!creates) parameters.push_back(ProjectInPath());
  parameters.push_back({{"$ref", "#/components/parameters/IdempotencyKey"}});
  const bool needed =
      std::any_of(operation.parameters.begin(), operation.parameters.end(), [](const Parameter& one) { return one.required; });
  Ordered headers = {{"Idempotent-Replayed",
                      {{"description", "`true` if the same key was used before: this is the first answer again."},
                       {"schema", {{"type", "string"}, {"enum", {"true"}}}}}}};
  if (creates) headers["Location"] = {{"description", "Path of the project."}, {"schema", {{"type", "string"}}}};
  Ordered responses = Ordered::object();
  responses[creates ? "201" : "200"] = {
      {"description", "What became of it."}, {"headers", std::move(headers)}, {"content", JsonContent(Reference("ProjectAnswer"))}};
  for (auto& [status, one] : ProblemsOf({"400", "401", "404", "409", "413", "415", "422", "503"}).items()) responses[status] = one;
  responses["409"] = {{"description", "The state does not allow it: `reason` for programs, `details` what stands against it."},
                      {"content", {{"application/problem+json", {{"schema", Reference("ProjectRefusal")}}}}}};
  return {{"operationId", operation.name},
          {"tags", {"projects"}},
          {"summary", Sentence(operation.summary)},
          {"parameters", std::move(parameters)},
          {"requestBody", {{"required", needed}, {"content", JsonContent(FromTable(SchemaOf(operation, project::CommandParameters())))}}},
          {"responses", std::move(responses)}};
}

// What each reading has beside what all of them have.
std::vector<std::string> MembersOf(const std::string& name) {
  if (name == "show_project") return {"name", "created_at", "counts"};
  if (name == "get_work") return {"project", "counts", "goals", "tasks", "blockers", "open_tasks", "next", "as_of_seq"};
  if (name == "get_next_step") return {"rule", "next_step", "required_context_refs", "counts", "open_tasks", "as_of_seq"};
  if (name == "list_goals" || name == "task_tree") return {"goals"};
  if (name == "list_tasks") return {"tasks"};
  if (name == "check_tasks") return {"findings"};
  return {"task_id", "title", "status", "ready", "reasons"};
}

Ordered ReadingOf(const Operation& operation) {
  Ordered parameters = Ordered::array();
  if (operation.OfOneProject()) parameters.push_back(ProjectInPath());
  for (const Parameter& one : operation.parameters) {
    if (operation.path.find("{" + one.name + "}") != std::string::npos) {
      parameters.push_back(InPath(one.name.c_str(), one.help.c_str()));
      continue;
    }
    Ordered schema = FromTable(SchemaOf(one));
    schema.erase("description");
    parameters.push_back({{"name", one.name}, {"in", "query"}, {"description", one.help}, {"schema", std::move(schema)}});
  }
  Ordered schema = Reference("ProjectList");
  if (operation.OfOneProject()) {
    schema = {{"allOf", {Reference("ProjectReading"), {{"type", "object"}, {"required", MembersOf(operation.name)}}}}};
  }
  Ordered responses = {{"200", {{"description", "The answer."}, {"content", JsonContent(std::move(schema))}}}};
  const auto problems =
      operation.OfOneProject() ? ProblemsOf({"400", "401", "404", "409", "422", "503"}) : ProblemsOf({"400", "401", "503"});
  for (auto& [status, one] : problems.items()) responses[status] = one;
  return {{"operationId", operation.name},
          {"tags", {"projects"}},
          {"summary", Sentence(operation.summary)},
          {"parameters", std::move(parameters)},
          {"responses", std::move(responses)}};
}

Ordered Typed(const char* type, const char* description) { return {{"type", type}, {"description", description}}; }

void AddSchemas(Ordered& schemas) {
  const Ordered version = {{"const", 1}, {"description", "Raised when a member changes its meaning or goes; new ones do not raise it."}};
  const Ordered id = {{"type", "string"}, {"format", "uuid"}};
  schemas["ProjectAnswer"] = {{"type", "object"},
                              {"required", {"schema_version", "project_id", "event_seq", "answer"}},
                              {"properties",
                               {{"schema_version", version},
                                {"project_id", id},
                                {"event_seq", Typed("integer", "The project's last event after it.")},
                                {"answer", Typed("object", "As `goal_id`, `task_id`, `blocker_id`, `claim`: what the command made.")}}}};
  schemas["ProjectReading"] = {{"type", "object"},
                               {"required", {"schema_version", "project_id", "event_seq", "head_at", "state_digest"}},
                               {"properties",
                                {{"schema_version", version},
                                 {"project_id", id},
                                 {"event_seq", Typed("integer", "The last event of the state that is shown.")},
                                 {"head_at", {{"type", "string"}, {"format", "date-time"}}},
                                 {"state_digest", Typed("string", "Of the state that this was made from.")},
                                 {"cut", Typed("object", "How many of each list are not shown.")}}}};
  schemas["ProjectList"] = {
      {"type", "object"},
      {"required", {"schema_version", "projects"}},
      {"properties",
       {{"schema_version", version},
        {"projects",
         {{"type", "array"},
          {"items",
           {{"type", "object"},
            {"required", {"project_id", "name", "created_at"}},
            {"properties",
             {{"project_id", id}, {"name", {{"type", "string"}}}, {"created_at", {{"type", "string"}, {"format", "date-time"}}}}}}}}},
        {"next_after", Typed("string", "Pass as `after`; absent on the last page.")}}}};
  schemas["ProjectRefusal"] = {
      {"allOf",
       {Reference("Problem"),
        {{"type", "object"},
         {"properties",
          {{"reason", Typed("string",
                            "INVALID_TRANSITION, NOT_READY, CLAIMED, LATE_HOLDER, CHANGED, CYCLE, EVIDENCE_MISSING, STALE_EVIDENCE, "
                            "NOT_INDEPENDENT, OPEN_TASKS, WITHDRAWN, EXISTS or LIMIT.")},
           {"details", Typed("object", "What stands against it.")},
           {"event_seq", {{"type", "integer"}}}}}}}}};
}

// As a run's, of the project's subject.
Ordered EventsOf(const Ordered& of_runs) {
  Ordered events = of_runs;
  events["operationId"] = "get_project_events";
  events["tags"] = {"projects"};
  events["summary"] = "Read a project's journal";
  events["parameters"][0] = ProjectInPath();
  return events;
}

bool IsOfProjects(const std::string& name) { return name.starts_with("/v1/projects") || name.starts_with("Project"); }

void DropProjects(Ordered& members) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : members.items()) {
    if (IsOfProjects(name)) names.push_back(name);
  }
  for (const std::string& name : names) members.erase(name);
}

}  // namespace

nlohmann::ordered_json WithProjects(nlohmann::ordered_json document) {
  Ordered &paths = document["paths"], &schemas = document["components"]["schemas"], &tags = document["tags"];
  DropProjects(paths);
  DropProjects(schemas);
  AddSchemas(schemas);
  for (const Operation& one : project::Operations()) {
    if (one.right == project::Right::kWrite) {
      paths[one.Pattern()]["post"] = CommandOf(one);
    } else {
      paths[one.Pattern()]["get"] = ReadingOf(one);
    }
  }
  paths["/v1/projects/{project}/events"]["get"] = EventsOf(paths["/v1/workflows/{id}/events"]["get"]);
  const Ordered tag = {{"name", "projects"}, {"description", "Unfinished work: goals, tasks, checkpoints, the next step."}};
  if (std::none_of(tags.begin(), tags.end(), [](const Ordered& one) { return one["name"] == "projects"; })) tags.push_back(tag);
  return document;
}

}  // namespace acl::coordinator
