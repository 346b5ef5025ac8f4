// POST /v1/projects/{project}/learn, search_memory, revoke_learning: knowledge that lives outside (docs: memory). What goes out passes the
// gate, with the project's work beside it; what comes back is shown and kept nowhere.
#include <fmt/format.h>

#include "coordinator/api/projects.h"
#include "shared/kinds/project/memory_operations.h"
#include "shared/memory/memory.h"

namespace acl::coordinator {
namespace {

HttpResponse NoMemory() { return Problem(404, "no-memory", "this coordinator has no external memory: its setting memory_url names one"); }

// Of what the memory itself said, or did not: the project has nothing to do with it.
HttpResponse ProblemOfMemory(const Error& error) {
  if (error.code == Code::kUnavailable) return Problem(503, "memory-unavailable", error.message);
  if (error.code == Code::kTimeout) return Problem(504, "memory-timeout", error.message);
  return Problem(502, "memory-refused", error.message);
}

HttpResponse RefusedByGate(const memory::Refusal& refusal) {
  return Problem(422, "not-knowledge", refusal.Message(), Json::array({ErrorItem(refusal.reason, refusal.Message(), "/text")}));
}

Json HeadOf(const ProjectDesk::Listed& project) {
  return {{"schema_version", kProjectSchemaVersion}, {"project_id", project.id.ToString()}};
}

HttpResponse Learn(memory::Memory& memory, const ProjectDesk::Listed& project, const ProjectView& view, const Json& arguments) {
  const std::int64_t seq = arguments.value("event_seq", view.head_seq);
  if (seq > view.head_seq) {
    const std::string why = fmt::format("the project has {} events, and none of number {}", view.head_seq, seq);
    return Problem(422, "invalid-request", why, Json::array({ErrorItem("bad-value", why, "/event_seq")}));
  }
  memory::Learning learning;
  learning.type = arguments.at("kind");
  learning.text = arguments.at("text");
  learning.source = {project.id, seq};
  if (arguments.contains("valid_for_s")) learning.valid_for = std::chrono::seconds(arguments["valid_for_s"].get<std::int64_t>());
  auto learned = memory.Learn(std::move(learning), view.work());
  if (!learned) return ProblemOfMemory(learned.error());
  if (learned->refused) return RefusedByGate(*learned->refused);
  Json answer = HeadOf(project);
  answer["id"] = learned->id;
  answer["source"] = fmt::format("event:{}/{}", project.id.ToString(), seq);
  return HttpResponse::OfJson(200, answer);
}

HttpResponse Search(memory::Memory& memory, const ProjectDesk::Listed& project, const ProjectView& view, const Json& arguments) {
  memory::Query query;
  query.text = arguments.at("text");
  query.most = int(arguments.value("limit", std::int64_t(query.most)));
  if (arguments.contains("kind")) query.kind = memory::KindOf(arguments["kind"].get_ref<const std::string&>());
  auto searched = memory.Search(std::move(query), view.work());
  if (!searched) return ProblemOfMemory(searched.error());
  if (searched->refused) return RefusedByGate(*searched->refused);
  Json answer = ToJson(searched->found);
  answer.update(HeadOf(project));
  return HttpResponse::OfJson(200, answer);
}

HttpResponse Revoke(memory::Memory& memory, const ProjectDesk::Listed& project, const Json& arguments) {
  auto revoked = memory.Revoke(arguments.at("id"));
  if (!revoked) return ProblemOfMemory(revoked.error());
  Json answer = HeadOf(project);
  answer["id"] = arguments["id"];
  answer["revoked"] = *revoked;  // false: it was not there
  return HttpResponse::OfJson(200, answer);
}

HttpResponse Answer(const ApiContext& api, const project::Operation& operation, const HttpRequest& request) {
  auto body = ReadAnyObject(request);
  if (const auto* refusal = RefusalOf(body)) return *refusal;
  const Json& arguments = ValueOf(body);
  if (const auto wrong = CheckArguments(operation, arguments); !wrong.empty()) return WrongArguments(422, "invalid-request", wrong);
  auto project = ReadProject(api, request);
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  if (api.memory == nullptr) return NoMemory();
  if (operation.name == "revoke_learning") return Revoke(*api.memory, ValueOf(project), arguments);
  auto view = api.projects->Read(ValueOf(project).id);
  if (!view) return ProblemOfDesk(view.error());
  return operation.name == "learn" ? Learn(*api.memory, ValueOf(project), **view, arguments)
                                   : Search(*api.memory, ValueOf(project), **view, arguments);
}

}  // namespace

void AddMemoryRoutes(Router& router, const ApiContext& api) {
  const RouteOptions options{.max_body = 64u << 10, .content_types = {"application/json"}, .body_required = true};
  for (const project::Operation& operation : project::MemoryOperations())
    router.Add("POST", operation.Pattern(), options, [api, &operation](const HttpRequest& r) { return Answer(api, operation, r); });
}

}  // namespace acl::coordinator
