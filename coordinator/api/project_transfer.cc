// GET /v1/projects/{project}/export, POST /v1/projects/import: a project's journal as lines of JSON (coordinator/projects/transfer.h).
#include "coordinator/api/answer_budget.h"
#include "coordinator/api/request.h"
#include "coordinator/projects/transfer.h"

namespace acl::coordinator {
namespace {

constexpr std::size_t kMostImportBytes = 128u << 20;
constexpr const char* kLines = "application/x-ndjson";
// What lines become while they are read: the body, the events of it, the state.
constexpr std::size_t kBytesPerByte = 4;

HttpResponse ExportProject(const ApiContext& api, const HttpRequest& request) {
  AnswerBudget::Part memory(api.answers);
  std::size_t bytes = 0;
  auto lines = api.transfers->Export(request.Param("project"), [&](std::size_t more) { return memory.Take(bytes += more); });
  if (lines) return HttpResponse::OfText(200, std::move(*lines), kLines);
  if (lines.code() == Code::kNotFound) return Problem(404, "not-found", lines.message() + ": GET /v1/projects lists them");
  if (lines.code() == Code::kInvalid) return Problem(409, "content-removed", lines.message());
  if (lines.code() == Code::kCorrupt)
    return Problem(409, "quarantined", "its journal does not verify, and no import would take it: " + lines.message());
  return ProblemOf(lines.error());
}

HttpResponse ImportProject(const ApiContext& api, const HttpRequest& request) {
  AnswerBudget::Part memory(api.requests);
  if (Status taken = memory.Take(kBytesPerByte * request.body.size()); !taken) return ProblemOf(taken.error());
  const std::string *as = request.Query("as"), *by = request.Query("by");
  const std::string who = by != nullptr ? *by : request.principal;
  auto imported = api.transfers->Import(request.body, as == nullptr ? std::nullopt : std::optional(*as), who);
  if (!imported) {
    if (imported.code() == Code::kInvalid) return Problem(422, "bad-export", imported.message());
    if (imported.code() == Code::kCorrupt) return Problem(409, "quarantined", imported.message());
    return ProblemOf(imported.error());
  }
  if (const auto& refused = imported->refused) {
    const char* code = refused->reason == "EXISTS" ? "exists" : refused->reason == "UNFINISHED" ? "unfinished" : "invalid-request";
    return Problem(refused->code == Code::kConflict ? 409 : 422, code, refused->message);
  }
  const std::string id = imported->project.ToString();
  return HttpResponse::OfJson(201, {{"schema_version", 1},
                                    {"project_id", id},
                                    {"name", imported->name},
                                    {"event_seq", imported->head_seq},
                                    {"state_digest", ToHex(imported->state_root)}})
      .With("Location", "/v1/projects/" + id);
}

}  // namespace

void AddProjectTransferRoutes(Router& router, const ApiContext& api) {
  router.Add("GET", "/v1/projects/{project}/export", {}, [api](const HttpRequest& r) { return ExportProject(api, r); });
  const RouteOptions lines{.max_body = kMostImportBytes, .content_types = {kLines}, .body_required = true};
  router.Add("POST", "/v1/projects/import", lines, [api](const HttpRequest& r) { return ImportProject(api, r); });
}

}  // namespace acl::coordinator
