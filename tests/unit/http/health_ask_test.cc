#include "shared/http/health_ask.h"

#include <gtest/gtest.h>

#include "shared/http/health.h"
#include "shared/http/server.h"

namespace acl {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kHealthWithin{10'000};

// A server with the health routes, as every process of a fleet has.
class Asked : public ::testing::Test {
 protected:
  void Listen(const std::string& address, std::vector<std::string> allowed_hosts = {}) {
    Router router;
    AddHealthRoutes(router, metrics_, [this] { return Readiness{{{"database", ready_, "away"}}}; });
    HttpServerOptions options;
    options.listen = *ParseHostPort(address);
    options.name = "test";
    options.gate.allowed_hosts = std::move(allowed_hosts);
    server_ = std::make_unique<HttpServer>(std::move(options), std::move(router), nullptr, &metrics_);
    ASSERT_TRUE(server_->Start().ok());
  }
  void TearDown() override {
    if (server_) server_->Stop();
  }

  Metrics metrics_;
  std::atomic<bool> ready_{true};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(Asked, SaysWhatReadyzSays) {
  Listen("127.0.0.1:0");
  EXPECT_TRUE(AskHealth(server_->address(), "", kHealthWithin).ready);
  ready_ = false;
  const HealthAnswer away = AskHealth(server_->address(), "", kHealthWithin);
  EXPECT_FALSE(away.ready);
  EXPECT_NE(away.text.find("away"), std::string::npos) << away.text;
}

TEST_F(Asked, WhereItListensOnEveryAddressLoopbackIsAsked) {
  Listen("0.0.0.0:0");
  EXPECT_TRUE(AskHealth({"0.0.0.0", server_->address().port}, "", kHealthWithin).ready);
}

TEST_F(Asked, GoesByANameThatTheServerTakes) {
  Listen("127.0.0.1:0", {"acl.example.org"});
  EXPECT_TRUE(AskHealth(server_->address(), "acl.example.org", kHealthWithin).ready);
  const HealthAnswer refused = AskHealth(server_->address(), "", kHealthWithin);
  EXPECT_FALSE(refused.ready);
  EXPECT_NE(refused.text.find("allowed-hosts"), std::string::npos) << refused.text;
}

TEST_F(Asked, NobodyThereIsNotReady) {
  Listen("127.0.0.1:0");
  const HostPort at = server_->address();
  server_->Stop();
  const HealthAnswer gone = AskHealth(at, "", kHealthWithin);
  EXPECT_FALSE(gone.ready);
  EXPECT_NE(gone.text.find("refused"), std::string::npos) << gone.text;
  EXPECT_FALSE(AskHealth({"127.0.0.1", 0}, "", kHealthWithin).ready);
}

}  // namespace
}  // namespace acl
