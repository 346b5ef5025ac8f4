#include "shared/http/health.h"

#include "shared/telemetry/process_metrics.h"

namespace acl {

void AddHealthRoutes(Router& router, Metrics& metrics, std::function<Readiness()> readiness, std::function<void()> measure) {
  const RouteOptions open{.on_server_thread = true, .open = true};
  router.Add("GET", "/livez", open, [](const HttpRequest&) { return HttpResponse::OfJson(200, {{"status", "alive"}}); });
  router.Add("GET", "/readyz", open, [readiness = std::move(readiness)](const HttpRequest&) {
    const Readiness found = readiness();
    Json checks = Json::object();
    for (const auto& check : found.checks) checks[check.name] = check.ok ? "ok" : check.detail;
    return HttpResponse::OfJson(found.ready() ? 200 : 503, {{"status", found.ready() ? "ready" : "not ready"}, {"checks", checks}});
  });
  router.Add("GET", "/metrics", open,
             [&metrics, measure = std::move(measure), process = ProcessMetrics(metrics)](const HttpRequest&) mutable {
               if (measure) measure();
               process.Measure();
               return HttpResponse::OfText(200, metrics.Page(), Metrics::kContentType);
             });
}

}  // namespace acl
