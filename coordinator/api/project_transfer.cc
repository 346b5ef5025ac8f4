// GET /v1/projects/{project}/export, POST /v1/projects/import: a project's journal as lines of JSON (coordinator/projects/transfer.h).
#include "coordinator/api/answer_budget.h"
#include "coordinator/api/projects.h"
#include "coordinator/projects/transfer.h"

namespace acl::coordinator {
namespace {

constexpr std::size_t kMostImportBytes = 128u << 20;
constexpr const char* kLines = "application/x-ndjson";
// What lines become while they are read: the body, the events of it, the state.
constexpr std::size_t kBytesPerByte = 4;

HttpResponse ExportProject(const ApiContext& api, const HttpRequest& request) {
  auto project = ReadProject(api, request);
  if (const auto* refusal = RefusalOf(project)) return *refusal;
  AnswerBudget::Part memory(api.answers);
  std::size_t bytes = 0;
  auto lines = api.transfers->Export(ValueOf(project).id.ToString(), [&](std::size_t more) { return memory.Take(bytes += more); });
  if (lines) return HttpResponse::OfText(200, std::move(*lines), kLines);
  if (lines.code() == Code::kInvalid) return Problem(409, "content-removed", lines.message());
  return ProblemOfDesk(lines.error());
}

HttpResponse ImportProject(const ApiContext& api, const HttpRequest& request) {
  auto key = ReadIdempotencyKey(request);
  if (const auto* refusal = RefusalOf(key)) return *refusal;
  const std::string *as = request.Query("as"), *by = request.Query("by");
  const std::string who = by != nullptr ? *by : request.principal;
  if (who.empty()) return Problem(422, "missing-member", "'by' is missing in the query: the name of the person or agent who says so");
  AnswerBudget::Part memory(api.requests);
  if (Status taken = memory.Take(kBytesPerByte * request.body.size()); !taken) return ProblemOf(taken.error());
  auto imported = api.transfers->Import(request.body, {as == nullptr ? std::nullopt : std::optional(*as), who, ValueOf(key)});
  if (!imported && imported.code() == Code::kInvalid && imported.message().starts_with("line")) {
    return Problem(422, "bad-export", imported.message());
  }
  if (!imported) return ProblemOfDesk(imported.error());
  if (const auto& refused = imported->refused) {
    const bool conflict = refused->code == Code::kConflict;
    const char* code = !conflict ? "invalid-request" : refused->reason == "EXISTS" ? "exists" : "unfinished";
    return Problem(conflict ? 409 : 422, code, refused->message, Json::array(),
                   {{"reason", refused->reason}, {"details", refused->details}});
  }
  const std::string id = imported->project.ToString();
  HttpResponse response = HttpResponse::OfJson(201, {{"schema_version", kProjectSchemaVersion},
                                                     {"project_id", id},
                                                     {"name", imported->name},
                                                     {"event_seq", imported->head_seq},
                                                     {"state_digest", ToHex(imported->state_root)}});
  response.With("Location", "/v1/projects/" + id);
  if (!imported->replayed) return response;
  Counter(api.idempotency_hits).Add();
  return response.With("Idempotent-Replayed", "true");
}

}  // namespace

void AddProjectTransferRoutes(Router& router, const ApiContext& api) {
  router.Add("GET", "/v1/projects/{project}/export", {}, [api](const HttpRequest& r) { return ExportProject(api, r); });
  const RouteOptions lines{.max_body = kMostImportBytes, .content_types = {kLines}, .body_required = true};
  router.Add("POST", "/v1/projects/import", lines, [api](const HttpRequest& r) { return ImportProject(api, r); });
}

}  // namespace acl::coordinator
