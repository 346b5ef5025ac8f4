// What becomes of an exchange and of its money when the call, or what stands behind it, goes wrong: the desk over memory, the model a
// server that does what the test says.
#include "coordinator/ask/ask_desk.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "shared/kernel/memory_queries.h"
#include "tests/support/memory_ask_rows.h"
#include "tests/support/model_scripts.h"
#include "tests/support/process.h"

namespace acl::coordinator {
namespace {

constexpr const char* kDeskKernel = R"(
kernel: aegis/1
phase: beta
tier: 1
host_role: brain
constraints: [read_only_default, evidence_first, unknowns_are_risk]
caps: {ring0: {tokens: 800, bytes: 6144}, ring1: {tokens: 3000, bytes: 24576}, ring2: {tokens: 1500, bytes: 12288}}
drift:
  authority: [{tiers: [1], severity: critical, action: fail_closed}]
  evidence: [{tiers: [1], severity: high, action: mark}]
  completeness: [{tiers: [1], severity: high, action: mark}]
  schema: [{tiers: [1], severity: medium, action: mark}]
  tone: [{tiers: [1], severity: low, action: mark}]
model: {provider: local, api: openai_compatible, model: tiny, max_tokens: 100}
)";

// Time as it is, until something is to break, once.
class BreakingClock final : public Clock {
 public:
  WallTime Wall() const override { return clock_.Wall(); }
  SteadyTime Steady() const override {
    if (breaks.exchange(false)) throw std::runtime_error("planted");
    return clock_.Steady();
  }
  mutable std::atomic<bool> breaks{false};

 private:
  SystemClock clock_;
};

class AskDeskTest : public ::testing::Test {
 protected:
  void Start(test::ScriptedModel::Script script) {
    model_ = std::make_unique<test::ScriptedModel>(std::move(script));
    test::WriteFile(folder_ / "kernel.yaml", kDeskKernel);
    test::WriteFile(folder_ / "providers.json",
                    R"({"providers": [{"name": "local", "kind": "openai", "model": "tiny", "attempts": 2, "first_wait_ms": 0, )"
                    R"("retry_unknown_outcomes": true, "base_url": ")" +
                        model_->BaseUrl() +
                        R"(", "prices": [{"model": "tiny", "from": "2020-01-01T00:00:00Z", "prompt": "1", "completion": "2"}]}]})");
    test::WriteFile(folder_ / "key", "0123456789abcdef0123456789abcdef");
    std::filesystem::permissions(folder_ / "key", std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    Settings settings;
    settings.aegis_kernel_file = folder_ / "kernel.yaml";
    settings.aegis_providers_file = folder_ / "providers.json";
    settings.aegis_key_file = folder_ / "key";
    auto setup = AskSetup::Open(settings, CapabilityRegistry(), clock_, random_);
    ASSERT_TRUE(setup) << setup.message();
    desk_ = std::make_unique<AskDesk>(
        AskDesk::Parts{store_, queries_, rows_, *ask_kind_, *ledger_kind_, nullptr, ids_, clock_, random_, {}}, std::move(*setup));
  }
  AskRefusal Refused() {
    auto told = desk_->Ask({.project = kDefaultProject, .by = "ann", .question = "What is next?"});
    if (const auto* refusal = std::get_if<AskRefusal>(&told)) return *refusal;
    ADD_FAILURE() << "it was answered";
    return {};
  }
  ledger::Account Account() {
    auto state = desk_->ReadLedger(kDefaultProject);
    EXPECT_TRUE(state);
    return ledger::FindLedger(*state)->account;
  }

  test::TestFolder folder_;
  BreakingClock clock_;
  SeededRandom random_{1};
  MemoryStore store_{clock_};
  MemoryQueries queries_{store_, clock_};
  Uuid7Maker ids_{clock_, random_};
  MemoryAskRows rows_;
  std::shared_ptr<const CommandKind> ask_kind_ = ask::MakeAskKind(), ledger_kind_ = ledger::MakeLedgerKind();
  std::unique_ptr<test::ScriptedModel> model_;
  std::unique_ptr<AskDesk> desk_;
};

// The first attempt may have run, and is billed; that the second was refused does not make it free.
TEST_F(AskDeskTest, AnAttemptThatMayHaveRunCountsThoughTheLastSurelyDidNot) {
  Start(test::InTurns({[](const test::ModelAsked&) { return test::ModelTurn{.end = test::ModelTurn::End::kReset}; },
                       test::RefusingModel(429, {}, "rate_limit_error")}));
  const AskRefusal refusal = Refused();
  EXPECT_EQ(refusal.code, "rate-limited") << refusal.message;
  EXPECT_EQ(model_->asked().size(), 2u);
  EXPECT_EQ(Account().reserved_micros, 0);
  EXPECT_GT(Account().spent_micros, 0);
}

TEST_F(AskDeskTest, WhateverThrowsBehindTheCallLeavesItUncertainAndItsMoneySpent) {
  Start([this](const test::ModelAsked& asked) {
    clock_.breaks = true;
    return test::TurnOf(asked, {.text = "The report."});
  });
  const AskRefusal refusal = Refused();
  EXPECT_EQ(refusal.code, "uncertain") << refusal.message;
  EXPECT_EQ(refusal.message.find("The report"), std::string::npos);
  EXPECT_EQ(Account().reserved_micros, 0);
  EXPECT_GT(Account().spent_micros, 0);
}

}  // namespace
}  // namespace acl::coordinator
