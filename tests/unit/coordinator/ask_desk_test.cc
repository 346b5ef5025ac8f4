// What becomes of an exchange and of its money when the call, or what stands behind it, goes wrong: the desk over memory, the model a
// server that does what the test says.
#include "coordinator/ask/ask_desk.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "shared/base/canonical_json.h"
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
        AskDesk::Dependencies{store_, queries_, rows_, *ask_kind_, *ledger_kind_, nullptr, ids_, clock_, random_, {}, &telemetry_},
        std::move(*setup));
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
  Metrics metrics_;
  Tracer tracer_;
  AskTelemetry telemetry_{tracer_, metrics_};
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

TEST_F(AskDeskTest, CallsAreCountedByTheNamesOfTheConventions) {
  Start(test::InTurns({[](const test::ModelAsked& asked) { return test::TurnOf(asked, {.text = "The report."}); },
                       test::RefusingModel(401, {}, "authentication_error")}));
  Refused();  // the rows of this test do not give it back
  Refused();
  const std::string page = metrics_.Page();
  EXPECT_NE(page.find("gen_ai_client_operation_duration_seconds_count{"), std::string::npos) << page;
  EXPECT_NE(page.find("error_type=\"key_refused\""), std::string::npos) << page;
  EXPECT_NE(page.find("gen_ai_token_type=\"input\""), std::string::npos) << page;
  EXPECT_NE(page.find("gen_ai_request_model=\"tiny\""), std::string::npos) << page;
}

TEST(AskTelemetrySpan, HoldsNumbersAndIdsAndNoWords) {
  aegis::ProviderConfig provider{.kind = aegis::ProviderKind::kAnthropic};
  provider.base_url = "https://models.example:8443/v1";
  aegis::ModelRequest request{
      .messages = {{aegis::Role::kUser, "a-secret-question"}}, .model = "tiny", .max_tokens = 100, .temperature = 0.5};
  aegis::ModelAnswer answer{.text = "a-secret-answer",
                            .finish_reason = "end_turn",
                            .model = "tiny-1",
                            .answer_id = "msg_1",
                            .usage = {.prompt = 12, .completion = 3, .cached = 4}};
  const WallTime at{std::chrono::seconds(1'800'000'000)};
  const ModelCallSeen seen{{std::string(32, 'a'), std::string(16, 'b')}, at, at + std::chrono::seconds(2), "e1", "s1", "sha256:p"};
  const Span span = AskTelemetry::SpanOf(provider, request, answer, seen);
  EXPECT_EQ(span.name, "chat tiny");
  EXPECT_EQ(span.kind, Span::Kind::kClient);
  EXPECT_EQ(span.parent_id, std::string(16, 'b'));
  const Json wanted = {{"gen_ai.operation.name", "chat"},
                       {"gen_ai.provider.name", "anthropic"},
                       {"gen_ai.request.model", "tiny"},
                       {"gen_ai.request.max_tokens", 100},
                       {"gen_ai.request.temperature", 0.5},
                       {"gen_ai.response.model", "tiny-1"},
                       {"gen_ai.response.id", "msg_1"},
                       {"gen_ai.response.finish_reasons", {"end_turn"}},
                       {"gen_ai.usage.input_tokens", 12},
                       {"gen_ai.usage.output_tokens", 3},
                       {"gen_ai.usage.cache_read.input_tokens", 4},
                       {"gen_ai.conversation.id", "s1"},
                       {"server.address", "models.example"},
                       {"server.port", 8443},
                       {"acl.exchange_id", "e1"},
                       {"acl.prompt_hash", "sha256:p"},
                       {"acl.attempts", 0}};
  EXPECT_EQ(CanonicalJson(span.attributes), CanonicalJson(wanted));
  const aegis::ModelFailure failure{.code = aegis::Failure::kRateLimited, .ran = aegis::Ran::kNo};
  const Span failed = AskTelemetry::SpanOf(provider, request, failure, seen);
  EXPECT_TRUE(failed.failed);
  EXPECT_EQ(failed.attributes["error.type"], "rate_limited");
  EXPECT_FALSE(failed.attributes.contains("gen_ai.usage.input_tokens"));
}

}  // namespace
}  // namespace acl::coordinator
