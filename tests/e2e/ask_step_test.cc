// llm.ask as a step of a workflow: the same pipeline and the same record, whoever dies.
#include <gtest/gtest.h>

#include "tests/e2e/ask_fixture.h"

namespace acl::test {
namespace {

constexpr const char* kAsking = R"(
name: asking
steps:
  - name: ask
    capability: llm.ask
    inputs: {question: "What is next?", intent: planning}
  - name: note
    capability: test.echo
    depends_on: [ask]
    inputs: {outputs: {text: "{{ask.text}}"}}
)";

class AskSteps : public Asks {
 protected:
  Process& StartWorker(int n) { return fleet->StartWorker(n, {{"ACL_AEGIS_URLS", fleet->ApiUrl()}}); }
  Json OutputsOf(const std::string& run, const std::string& step) {
    const Json whole = fleet->Run(run);
    for (const Json& one : whole["steps"]) {
      if (one.value("name", "") == step) return one.value("outputs", Json::object());
    }
    return Json();
  }
};

TEST_F(AskSteps, AreOnRecordLikeEveryAsk) {
  StartWorker(1);
  const std::string run = fleet->Submit(kAsking);
  ASSERT_TRUE(fleet->AwaitStatus(run, "COMPLETED")) << fleet->Logs();
  EXPECT_EQ(Sql("SELECT asked_by FROM ask_prepared"), "run:" + run);
  EXPECT_EQ(Sql("SELECT response_sanitized FROM llm_exchange"), says);
  EXPECT_EQ(OutputsOf(run, "note")["text"], says) << fleet->Run(run).dump();
  const std::string second = fleet->Submit(kAsking);
  ASSERT_TRUE(fleet->AwaitStatus(second, "COMPLETED"));
  EXPECT_EQ(Sql("SELECT count(*) FROM chat_session"), "2") << "a run is told no turns of another";
  fleet->ExpectVerified();
}

TEST_F(AskSteps, AWorkerThatDiesInTheMiddleLeavesOneExchange) {
  StartWorker(1);
  std::unique_lock hold(mutex);  // the model does not answer
  const std::string run = fleet->Submit(kAsking);
  ASSERT_TRUE(WaitUntil([&] { return !model.asked().empty(); })) << fleet->Logs();
  fleet->worker(1).Kill();
  StartWorker(2);
  ASSERT_TRUE(WaitUntil([&] { return fleet->HolderOf(run) == 2; })) << fleet->Logs();
  hold.unlock();
  ASSERT_TRUE(fleet->AwaitStatus(run, "COMPLETED")) << fleet->Logs();
  EXPECT_EQ(model.asked().size(), 1u) << "the second attempt has the recorded answer";
  EXPECT_EQ(Sql("SELECT count(*) FROM ask_prepared"), "1");
  EXPECT_EQ(Sql("SELECT status FROM ask_outcome"), "RECORDED");
  EXPECT_EQ(OutputsOf(run, "note")["text"], says);
  fleet->ExpectVerified();
}

TEST_F(AskSteps, WhoHoldsTheRunNoLongerAsksNothing) {
  StartWorker(1);
  const std::string run = fleet->Submit(kAsking);
  ASSERT_TRUE(fleet->AwaitStatus(run, "COMPLETED"));
  const Json body = {{"question", "And then?"}, {"run", {{"id", run}, {"step", "ask"}, {"token", 1}}}};
  const auto late = fleet->Api("POST", "/v1/ask", body, {{"Idempotency-Key", "late"}});
  EXPECT_EQ(late.status, 409) << late.body;
  EXPECT_NE(late.body.find("lease-lost"), std::string::npos) << late.body;
  EXPECT_EQ(fleet->Api("POST", "/v1/ask", body).status, 422) << "a step asks under its key";
  EXPECT_EQ(model.asked().size(), 1u);
}

// Of a step that is sent to another queue the task's token counts, not the run's, which nobody holds meanwhile.
TEST_F(AskSteps, ADispatchedStepAsksByItsTask) {
  fleet->StartWorker(1);
  fleet->StartWorker(2, {{"ACL_AEGIS_URLS", fleet->ApiUrl()}, {"ACL_QUEUES", "asks"}});
  const std::string run = fleet->Submit(R"(
name: asking
steps:
  - name: ask
    queue: asks
    capability: llm.ask
    inputs: {question: "What is next?"}
)");
  ASSERT_TRUE(fleet->AwaitStatus(run, "COMPLETED")) << fleet->Logs();
  EXPECT_EQ(OutputsOf(run, "ask")["text"], says);
  EXPECT_EQ(Sql("SELECT count(*) FROM llm_exchange"), "1");
  const Json body = {{"question", "And then?"}, {"run", {{"id", run}, {"step", "ask"}, {"token", 1}, {"dispatched", true}}}};
  EXPECT_EQ(fleet->Api("POST", "/v1/ask", body, {{"Idempotency-Key", "late"}}).json()["code"], "lease-lost");
  fleet->ExpectVerified();
}

TEST_F(AskSteps, WhatSurelyDidNotRunIsAskedAgainUnderTheSameKey) {
  fails = true;
  StartWorker(1);
  const std::string run = fleet->Submit(R"(
name: asking
steps:
  - name: ask
    capability: llm.ask
    inputs: {question: "What is next?"}
    max_retries: 50
    retry: {backoff: fixed, initial_delay: 100ms}
)");
  ASSERT_TRUE(WaitUntil([&] { return Sql("SELECT count(*) FROM ask_outcome WHERE status = 'FAILED'") != "0"; })) << fleet->Logs();
  {
    std::lock_guard lock(mutex);
    fails = false;
  }
  ASSERT_TRUE(fleet->AwaitStatus(run, "COMPLETED")) << fleet->Logs();
  EXPECT_EQ(Sql("SELECT count(DISTINCT request_key) FROM ask_prepared"), "1");
  EXPECT_EQ(Sql("SELECT count(*) FROM llm_exchange"), "1");
  fleet->ExpectVerified();
}

}  // namespace
}  // namespace acl::test
