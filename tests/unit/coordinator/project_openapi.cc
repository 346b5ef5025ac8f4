#include "tests/unit/coordinator/project_openapi.h"

#include "shared/kinds/project/memory_operations.h"
#include "shared/kinds/project/undo.h"

namespace acl::coordinator {

namespace {

using project::Operation;
using project::Parameter;

Json Reference(const std::string& schema) { return {{"$ref", "#/components/schemas/" + schema}}; }

void AddProblems(Json& responses, const std::vector<const char*>& statuses) {
  for (const char* status : statuses) responses[status] = {{"$ref", "#/components/responses/Problem"}};
}

Json JsonContent(Json schema) { return {{"application/json", {{"schema", std::move(schema)}}}}; }

Json InPath(const char* name, const char* description) {
  return {{"name", name}, {"in", "path"}, {"required", true}, {"description", description}, {"schema", {{"type", "string"}}}};
}

Json ProjectInPath() { return InPath("project", "The project's id in full, or its name."); }

std::string Sentence(std::string text) {
  text[0] = char(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

Json CommandOf(const Operation& operation) {
  const bool creates = !operation.OfOneProject();
  Json parameters = Json::array();
  if (!creates) parameters.push_back(ProjectInPath());
  parameters.push_back({{"$ref", "#/components/parameters/IdempotencyKey"}});
  const bool needed =
      std::any_of(operation.parameters.begin(), operation.parameters.end(), [](const Parameter& one) { return one.required; });
  Json headers = {{"Idempotent-Replayed",
                   {{"description", "`true` if the same key was used before: this is the first answer again."},
                    {"schema", {{"type", "string"}, {"enum", {"true"}}}}}}};
  if (creates) headers["Location"] = {{"description", "Path of the project."}, {"schema", {{"type", "string"}}}};
  Json responses = Json::object();
  responses[creates ? "201" : "200"] = {
      {"description", "What became of it."}, {"headers", std::move(headers)}, {"content", JsonContent(Reference("ProjectAnswer"))}};
  AddProblems(responses, {"400", "401", "404", "409", "413", "415", "422", "503"});
  responses["409"] = {{"description", "The state does not allow it: `reason` for programs, `details` what stands against it."},
                      {"content", {{"application/problem+json", {{"schema", Reference("ProjectRefusal")}}}}}};
  return {{"operationId", operation.name},
          {"tags", {"projects"}},
          {"summary", Sentence(operation.summary)},
          {"parameters", std::move(parameters)},
          {"requestBody", {{"required", needed}, {"content", JsonContent(SchemaOf(operation, project::CommandParameters()))}}},
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

Json ReadingOf(const Operation& operation) {
  Json parameters = Json::array();
  if (operation.OfOneProject()) parameters.push_back(ProjectInPath());
  for (const Parameter& one : operation.parameters) {
    if (operation.path.find("{" + one.name + "}") != std::string::npos) {
      parameters.push_back(InPath(one.name.c_str(), one.help.c_str()));
      continue;
    }
    Json schema = SchemaOf(one);
    schema.erase("description");
    parameters.push_back({{"name", one.name}, {"in", "query"}, {"description", one.help}, {"schema", std::move(schema)}});
  }
  Json schema = Reference("ProjectList");
  if (operation.OfOneProject()) {
    schema = {{"allOf", {Reference("ProjectReading"), {{"type", "object"}, {"required", MembersOf(operation.name)}}}}};
  }
  Json responses = {{"200", {{"description", "The answer."}, {"content", JsonContent(std::move(schema))}}}};
  AddProblems(responses, {"400", "401"});
  if (operation.OfOneProject()) AddProblems(responses, {"404", "409", "422"});
  AddProblems(responses, {"503"});
  return {{"operationId", operation.name},
          {"tags", {"projects"}},
          {"summary", Sentence(operation.summary)},
          {"parameters", std::move(parameters)},
          {"responses", std::move(responses)}};
}

Json Typed(const char* type, const char* description) { return {{"type", type}, {"description", description}}; }

Json LinesOf(const char* description) { return {{"application/x-ndjson", {{"schema", Typed("string", description)}}}}; }

Json ExportOf() {
  Json responses = {{"200", {{"description", "The lines."}, {"content", LinesOf("A header, then an event a line.")}}}};
  AddProblems(responses, {"401", "404", "409", "503"});
  return {{"operationId", "export_project"},
          {"tags", {"projects"}},
          {"summary", "The whole journal as lines of JSON"},
          {"parameters", Json::array({ProjectInPath()})},
          {"responses", std::move(responses)}};
}

Json ImportOf() {
  const auto query = [](const char* name, const char* description) {
    return Json{{"name", name}, {"in", "query"}, {"description", description}, {"schema", {{"type", "string"}}}};
  };
  const Json headers = {{"Location", {{"description", "Path of the project."}, {"schema", {{"type", "string"}}}}},
                        {"Idempotent-Replayed",
                         {{"description", "`true` if the same key was used before: this is the first answer again."},
                          {"schema", {{"type", "string"}, {"enum", {"true"}}}}}}};
  const Json answer = {{"type", "object"},
                       {"required", {"schema_version", "project_id", "name", "event_seq", "state_digest"}},
                       {"properties",
                        {{"schema_version", {{"const", 1}}},
                         {"project_id", {{"type", "string"}, {"format", "uuid"}}},
                         {"name", {{"type", "string"}}},
                         {"event_seq", {{"type", "integer"}}},
                         {"state_digest", Typed("string", "Root of its state, as of the origin's.")}}}};
  Json responses = {{"201", {{"description", "The project."}, {"headers", headers}, {"content", JsonContent(answer)}}}};
  AddProblems(responses, {"400", "401", "409", "413", "415", "422", "503"});
  Json parameters = Json::array();
  parameters.push_back({{"$ref", "#/components/parameters/IdempotencyKey"}});
  parameters.push_back(query("as", "Its name here; else the one it had."));
  parameters.push_back(query("by", "Who says so; with an API key it may be left out."));
  return {{"operationId", "import_project"},
          {"tags", {"projects"}},
          {"summary", "Make a project of an export"},
          {"parameters", std::move(parameters)},
          {"requestBody", {{"required", true}, {"content", LinesOf("As they were exported, to the byte; 128 MiB at most.")}}},
          {"responses", std::move(responses)}};
}

void AddSchemas(Json& schemas) {
  const Json version = {{"const", 1}, {"description", "Raised when a member changes its meaning or goes; new ones do not raise it."}};
  const Json id = {{"type", "string"}, {"format", "uuid"}};
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
Json EventsOf(const Json& of_runs) {
  Json events = of_runs;
  events["operationId"] = "get_project_events";
  events["tags"] = {"projects"};
  events["summary"] = "Read a project's journal";
  events["parameters"][0] = ProjectInPath();
  return events;
}

// The parts at the end of the members, instead of what stood there under their names.
void Replace(Json& members, const Json& parts) {
  for (const auto& [name, unused] : parts.items()) members.erase(name);
  members.update(parts);
}

}  // namespace

namespace {

Json LastSaid() {
  return {{"type", "object"},
          {"description", "The command's event."},
          {"properties", {{"event_seq", {{"type", "integer"}}}, {"event_type", {{"type", "string"}}}, {"by", {{"type", "string"}}}}}};
}

Json LastOf() {
  const Json properties = {{"schema_version", {{"const", 1}}},
                           {"project_id", {{"type", "string"}, {"format", "uuid"}}},
                           {"head_seq", {{"type", "integer"}}},
                           {"last", LastSaid()}};
  Json responses = {{"200", {{"description", "The answer."}, {"content", JsonContent({{"type", "object"}, {"properties", properties}})}}}};
  AddProblems(responses, {"401", "404", "409", "503"});
  return {{"operationId", "get_last_command"},
          {"tags", {"projects"}},
          {"summary", "The last command, which undo would take back"},
          {"parameters", Json::array({ProjectInPath()})},
          {"responses", std::move(responses)}};
}

Json UndoOf() {
  Json schema = SchemaOf(project::UndoOperation(), {*project::CommandParameters().begin()});
  schema["properties"].erase("actor");
  schema["required"] = {"event_seq"};
  const Json properties = {{"schema_version", {{"const", 1}}},
                           {"project_id", {{"type", "string"}, {"format", "uuid"}}},
                           {"event_seq", Typed("integer", "The project's last event after it.")},
                           {"undone", LastSaid()},
                           {"command", Typed("string", "The compensating command.")},
                           {"answer", Typed("object", "What that command made.")}};
  Json responses = {
      {"200", {{"description", "It is taken back."}, {"content", JsonContent({{"type", "object"}, {"properties", properties}})}}}};
  AddProblems(responses, {"400", "401", "404", "409", "413", "415", "422", "503"});
  return {{"operationId", "undo"},
          {"tags", {"projects"}},
          {"summary", "Take back your last command by a compensating one"},
          {"parameters", Json::array({ProjectInPath()})},
          {"requestBody", {{"required", true}, {"content", JsonContent(std::move(schema))}}},
          {"responses", std::move(responses)}};
}

Json MemoryOf(const Operation& operation) {
  Json properties = {{"schema_version", {{"const", 1}}}, {"project_id", {{"type", "string"}, {"format", "uuid"}}}};
  if (operation.name == "search_memory") {
    properties["memory"] = Typed("string", "Whom it was read from.");
    properties["read_at"] = Typed("string", "When.");
    properties["dropped"] = Typed("integer", "Results that were none.");
    properties["results"] = Typed("array", "What others wrote: `id`, `kind`, `text`, `source`, `cut`.");
  } else {
    properties["id"] = Typed("string", "Of the learning.");
  }
  if (operation.name == "learn") properties["source"] = Typed("string", "The event that it comes from.");
  if (operation.name == "revoke_learning") properties["revoked"] = Typed("boolean", "False: the memory did not have it.");
  Json responses = {
      {"200", {{"description", "The answer."}, {"content", JsonContent({{"type", "object"}, {"properties", std::move(properties)}})}}}};
  AddProblems(responses, {"400", "401", "404", "409", "413", "415", "422", "502", "503", "504"});
  return {{"operationId", operation.name},
          {"tags", {"projects"}},
          {"summary", Sentence(operation.summary)},
          {"parameters", Json::array({ProjectInPath()})},
          {"requestBody", {{"required", true}, {"content", JsonContent(SchemaOf(operation))}}},
          {"responses", std::move(responses)}};
}

}  // namespace

Json WithProjects(Json document) {
  Json paths = Json::object(), schemas = Json::object();
  for (const Operation& one : project::Operations()) {
    if (one.right == project::Right::kWrite) {
      paths[one.Pattern()]["post"] = CommandOf(one);
    } else {
      paths[one.Pattern()]["get"] = ReadingOf(one);
    }
  }
  paths[project::UndoOperation().Pattern()] = {{"get", LastOf()}, {"post", UndoOf()}};
  for (const Operation& one : project::MemoryOperations()) paths[one.Pattern()]["post"] = MemoryOf(one);
  paths["/v1/projects/{project}/events"]["get"] = EventsOf(document["paths"]["/v1/workflows/{id}/events"]["get"]);
  paths["/v1/projects/{project}/export"]["get"] = ExportOf();
  paths["/v1/projects/import"]["post"] = ImportOf();
  Replace(document["paths"], paths);
  AddSchemas(schemas);
  Replace(document["components"]["schemas"], schemas);
  Json& tags = document["tags"];
  const Json tag = {{"name", "projects"}, {"description", "Unfinished work: goals, tasks, checkpoints, the next step."}};
  if (std::none_of(tags.begin(), tags.end(), [](const Json& one) { return one["name"] == "projects"; })) tags.push_back(tag);
  return document;
}

}  // namespace acl::coordinator
