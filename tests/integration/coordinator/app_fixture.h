#pragma once
// Coordinators over a real PostgreSQL of the test's own, asked through real HTTP.

#include <gtest/gtest.h>

#include "coordinator/app.h"
#include "shared/telemetry/log.h"
#include "tests/support/http.h"
#include "tests/support/test_database.h"
#include "tests/support/wait.h"

namespace acl::coordinator {

inline constexpr const char* kYaml = "name: hello\nsteps:\n  - name: greet\n    capability: test.echo\n    inputs: {text: hi}\n";

class AppTest : public ::testing::Test {
 protected:
  explicit AppTest(bool migrated = true) : migrated_(migrated) {}

  void SetUp() override {
    SetLogLevel(LogLevel::kOff);
    auto database = test::TestDatabase::Create(migrated_);
    ASSERT_TRUE(database) << database.error();
    database_ = std::move(*database);
    settings_.database_url = database_->conninfo();
    settings_.dev_mode = true;
    settings_.listen.port = settings_.doorbell_listen.port = 0;
    settings_.timers = settings_.reap = settings_.ready_poll = std::chrono::milliseconds(50);
    settings_.leader_ttl = std::chrono::milliseconds(500);
  }
  void TearDown() override {
    apps_.clear();
    SetLogLevel(LogLevel::kInfo);
  }

  // The n-th coordinator; ready unless it cannot become so.
  App& StartApp(bool await = true) {
    apps_.push_back(std::make_unique<App>(settings_, MakePgBackend(settings_)));
    const auto status = apps_.back()->Start();
    EXPECT_TRUE(status.ok()) << status.error();
    const std::size_t n = apps_.size() - 1;
    if (await) {
      EXPECT_TRUE(test::WaitUntil([&] { return Ask("GET", "/readyz", Json(), {}, n).status == 200; }))
          << Ask("GET", "/readyz", Json(), {}, n).body;
    }
    return *apps_.back();
  }

  // A JSON string is sent as bytes, anything else as JSON.
  test::HttpAnswer Ask(const std::string& method, const std::string& path, const Json& body = Json(),
                       std::map<std::string, std::string> headers = {}, std::size_t app = 0) {
    test::HttpAsk request{method, "http://" + apps_[app]->address().ToString() + path, "", std::move(headers), test::kHttpPatience};
    if (!body.is_null()) {
      request.body = body.is_string() ? body.get<std::string>() : DumpJson(body);
      request.headers.emplace("Content-Type", body.is_string() ? "application/octet-stream" : "application/json");
    }
    return test::Http(request);
  }
  std::string Submit(std::size_t app = 0) {
    const auto reply = Ask("POST", "/v1/workflows", {{"workflow", kYaml}}, {}, app);
    EXPECT_EQ(reply.status, 201) << reply.body;
    return reply.status == 201 ? reply.json()["id"] : "";
  }

  const bool migrated_;
  std::unique_ptr<test::TestDatabase> database_;
  Settings settings_;
  std::vector<std::unique_ptr<App>> apps_;
};

}  // namespace acl::coordinator
