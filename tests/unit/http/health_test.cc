#include "shared/http/health.h"

#include <gtest/gtest.h>

namespace acl {
namespace {

TEST(Health, ReadyOnlyIfEveryCheckIs) {
  Router router;
  Metrics metrics;
  metrics.counter({"some_total", "help"}).Add();
  bool drained = false;
  AddHealthRoutes(router, metrics, [&] { return Readiness{{{"database", true, ""}, {"drain", !drained, "this process is ending"}}}; });
  const auto get = [&](const char* path) { return router.Find("GET", path).route->handler({}); };
  EXPECT_EQ(get("/livez").status, 200);
  EXPECT_EQ(get("/readyz").status, 200);
  drained = true;
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_NE(get("/readyz").body.find("this process is ending"), std::string::npos);
  EXPECT_EQ(get("/livez").status, 200);
  EXPECT_NE(get("/metrics").body.find("some_total 1"), std::string::npos);
  for (const auto& route : router.routes()) EXPECT_TRUE(route.options.open && route.options.on_server_thread) << route.pattern;
}

}  // namespace
}  // namespace acl
