// A whole ask against a real inference server with a small real model: protocol, record, rebuild. Never what it says.
#include <gtest/gtest.h>

#include "tests/support/fleet.h"
#include "tests/support/llm_server.h"

namespace acl::test {
namespace {

TEST(AsksARealModel, AnswersOnRecordAndTheSamePromptAgain) {
  const TestLlm llm;
  TestFolder folder;
  std::string kernel = ReadFile(std::string(ACL_SOURCE_DIR) + "/examples/aegis/local-model.yaml");
  WriteFile(folder / "kernel.yaml", kernel);
  WriteFile(folder / "providers.json",
            R"({"providers": [{"name": "local", "kind": "openai", "model": "smollm2-135m", "base_url": ")" + llm.base_url() + R"("}]})");
  WriteFile(folder / "key", "0123456789abcdef0123456789abcdef");
  std::filesystem::permissions(folder / "key", std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  FleetOptions options;
  options.environment = {{"ACL_AEGIS_KERNEL_FILE", folder / "kernel.yaml"},
                         {"ACL_AEGIS_PROVIDERS_FILE", folder / "providers.json"},
                         {"ACL_AEGIS_KEY_FILE", folder / "key"}};
  Fleet fleet(options);
  fleet.StartCoordinator();
  ASSERT_TRUE(fleet.AwaitReady());
  const HttpAnswer answer = fleet.Api("POST", "/v1/ask", {{"question", "What is the capital of France?"}, {"by", "ann"}});
  ASSERT_EQ(answer.status, 200) << answer.body << fleet.Logs();
  const Json exchange = answer.json()["exchange"];
  EXPECT_EQ(exchange["status"], "RECORDED");
  EXPECT_FALSE(exchange["response"].get<std::string>().empty());
  EXPECT_GT(exchange["answer"]["usage"]["prompt"], 0) << exchange["answer"].dump();
  EXPECT_GT(exchange["answer"]["usage"]["completion"], 0);
  EXPECT_EQ(fleet.Cli({"aegis", "rebuild", exchange["exchange_id"]}).exit_code, 0);
  fleet.ExpectVerified();
}

}  // namespace
}  // namespace acl::test
