// GET /v1/capabilities, /v1/capabilities/{id}, /openapi.json, /schemas/workflow.schema.json: what the system knows about itself.
#include "coordinator/api/api.h"
#include "coordinator/api/embedded_docs.h"
#include "coordinator/api/request.h"
#include "shared/capability/standard.h"

namespace acl::coordinator {

void AddReferenceRoutes(Router& router, const ApiContext& api) {
  router.Add("GET", "/v1/capabilities", {}, [api](const HttpRequest&) {
    Json list = Json::array();
    for (const auto* definition : api.capabilities.All()) {
      list.push_back({{"id", definition->id},
                      {"version", definition->version},
                      {"summary", definition->summary},
                      {"effect", std::string(EffectName(definition->effect))},
                      {"risk", std::string(RiskName(definition->risk))}});
    }
    return HttpResponse::OfJson(200, {{"capabilities", std::move(list)}});
  });
  router.Add("GET", "/v1/capabilities/{id}", {}, [api](const HttpRequest& request) {
    const auto* definition = api.capabilities.Find(request.Param("id"));
    if (definition != nullptr) return HttpResponse::OfJson(200, CapabilityToJson(*definition));
    const auto near = api.capabilities.Nearest(request.Param("id"));
    return Problem(404, "not-found",
                   "there is no capability '" + request.Param("id") + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
  });
  const RouteOptions open{.on_server_thread = true, .open = true};
  router.Add("GET", "/openapi.json", open,
             [](const HttpRequest&) { return HttpResponse::OfText(200, std::string(kOpenApiJson), "application/json"); });
  router.Add("GET", "/schemas/workflow.schema.json", open,
             [](const HttpRequest&) { return HttpResponse::OfText(200, std::string(kWorkflowSchemaJson), "application/schema+json"); });
}

}  // namespace acl::coordinator
