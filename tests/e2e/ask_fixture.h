#pragma once
// A fleet whose coordinators ask a model that says what the test wants (docs/guides/aegis.md).

#include <gtest/gtest.h>

#include "tests/support/fleet.h"
#include "tests/support/model_scripts.h"

namespace acl::test {

inline constexpr const char* kAskKernel = R"(
kernel: aegis/1
phase: beta
tier: 2
host_role: brain
authority: {rules: [A person approves every change before it runs.]}
constraints: [read_only_default, evidence_first, unknowns_are_risk]
tools:
  actuation: {systemctl_restart: {from_tier: 3, about: restarts a service, verbs: [restart, stop]}}
caps: {ring0: {tokens: 800, bytes: 6144}, ring1: {tokens: 3000, bytes: 24576}, ring2: {tokens: 1500, bytes: 12288}}
drift:
  authority: [{tiers: [1, 2, 3], severity: critical, action: fail_closed}]
  evidence: [{tiers: [1, 2, 3], severity: high, action: mark}]
  completeness: [{tiers: [1, 2, 3], severity: high, action: mark}]
  schema: [{tiers: [1, 2, 3], severity: medium, action: mark}]
  tone: [{tiers: [1, 2, 3], severity: low, action: mark}]
model: {provider: local, api: openai_compatible, model: tiny, max_tokens: 100}
pricing: {}
budgets: {}
)";

// The answer that the test wants next; what is asked is kept.
class Asks : public ::testing::Test {
 protected:
  void SetUp() override { Start("1"); }
  // `price`: of a million tokens; empty: the model has none. `more`: members of the provider, as they stand in its file.
  void Start(const std::string& price, const std::string& more = "") {
    WriteFile(folder / "kernel.yaml", kernel);
    const std::string row = R"({"model": "tiny", "from": "2020-01-01T00:00:00Z", "prompt": ")" + price + R"(", "completion": "2"})";
    WriteFile(folder / "providers.json", R"({"providers": [{"name": "local", "kind": "openai", "model": "tiny", "base_url": ")" +
                                             model.BaseUrl() + R"(", "prices": [)" + (price.empty() ? "" : row) + "]" + more + "}]}");
    WriteFile(folder / "key", "0123456789abcdef0123456789abcdef");
    std::filesystem::permissions(folder / "key", std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    FleetOptions options;
    options.environment = {{"ACL_AEGIS_KERNEL_FILE", folder / "kernel.yaml"},
                           {"ACL_AEGIS_PROVIDERS_FILE", folder / "providers.json"},
                           {"ACL_AEGIS_KEY_FILE", folder / "key"}};
    fleet.emplace(options);
    fleet->StartCoordinator();
    ASSERT_TRUE(fleet->AwaitReady());
  }

  HttpAnswer Ask(const std::string& question, Json more = Json::object(), std::map<std::string, std::string> headers = {}) {
    more["question"] = question;
    more["by"] = "ann";
    return fleet->Api("POST", "/v1/ask", more, std::move(headers));
  }
  std::string Sql(const std::string& query) { return Psql(fleet->database_url(), query); }

  TestFolder folder;
  std::string kernel = kAskKernel;
  std::mutex mutex;
  bool fails = false;  // with too many requests
  std::string says = "The next task is to write the report.";
  std::function<std::string(const ModelAsked&)> answers;      // instead, by what was asked
  std::vector<std::pair<std::string, std::string>> proposes;  // calls of tools, with what the model says
  ScriptedModel model{[this](const ModelAsked& asked) {
    std::lock_guard lock(mutex);
    return fails ? RefusingModel(429)(asked) : TurnOf(asked, {answers ? answers(asked) : says, proposes});
  }};
  std::optional<Fleet> fleet;
};

}  // namespace acl::test
