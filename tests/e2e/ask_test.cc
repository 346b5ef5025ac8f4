// Asking a language model on real processes and PostgreSQL, against a model that does what the test says: nothing is asked without a
// bundle, nothing is shown that is not on record.
#include <gtest/gtest.h>

#include "shared/base/sha256.h"
#include "shared/postgres/chaos_mark.h"
#include "tests/e2e/ask_fixture.h"

namespace acl::test {
namespace {

TEST_F(Asks, EveryAnswerHasABundleARecordAndTheSameHashAgain) {
  const HttpAnswer answer = Ask("What is next?");
  ASSERT_EQ(answer.status, 200) << answer.body << fleet->Logs();
  const Json told = answer.json();
  EXPECT_EQ(told["text"], "The next task is to write the report.");
  const Json exchange = told["exchange"];
  const std::string id = exchange["exchange_id"];
  EXPECT_EQ(exchange["status"], "RECORDED");
  EXPECT_EQ(exchange["context_bundle_hash"], "sha256:" + ToHex(Sha256(exchange["context_bundle"].get<std::string>())));
  EXPECT_EQ(exchange["turns"].size(), 2u);
  EXPECT_EQ(Sql("SELECT count(*) FROM chat_session"), "1");
  EXPECT_EQ(Sql("SELECT string_agg(speaker, ' ' ORDER BY created_at, speaker DESC) FROM chat_turn"), "user aurora");
  EXPECT_EQ(Sql("SELECT count(*) FROM llm_exchange WHERE response_hash <> '' AND prompt_hash <> ''"), "1");
  // What the model was sent is what the record says.
  ASSERT_EQ(model.asked().size(), 1u);
  std::string sent;
  for (const std::string& text : PromptTexts(model.asked()[0].body)) sent += text;
  EXPECT_NE(sent.find("What is next?"), std::string::npos);
  const auto rebuilt = fleet->Cli({"aegis", "rebuild", id});
  EXPECT_EQ(rebuilt.exit_code, 0) << rebuilt.out << rebuilt.err;
  const auto again = fleet->Cli({"ask", "and then?", "--as", "ann"});
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  EXPECT_EQ(Sql("SELECT count(*) FROM chat_session"), "1") << "the open session is gone on with";
  EXPECT_NE(fleet->Cli({"ask", "show", id}).out.find("What is next?"), std::string::npos);
  EXPECT_NE(fleet->Cli({"ask", "list"}).out.find(id), std::string::npos);
  fleet->ExpectVerified();
}

TEST_F(Asks, AKeyAsksOnce) {
  const auto once = Ask("What is next?", Json::object(), {{"Idempotency-Key", "k1"}});
  const auto twice = Ask("What is next?", Json::object(), {{"Idempotency-Key", "k1"}});
  ASSERT_EQ(once.status, 200) << once.body;
  ASSERT_EQ(twice.status, 200) << twice.body;
  EXPECT_EQ(once.json()["exchange"]["exchange_id"], twice.json()["exchange"]["exchange_id"]);
  EXPECT_EQ(model.asked().size(), 1u);
  const auto other = Ask("What is the weather?", Json::object(), {{"Idempotency-Key", "k1"}});
  EXPECT_EQ(other.status, 422) << other.body;
  EXPECT_NE(other.body.find("key-reused"), std::string::npos);
  const auto elsewhere = Ask("What is next?", {{"session_id", "01890000-0000-7000-8000-000000000001"}}, {{"Idempotency-Key", "k1"}});
  EXPECT_EQ(elsewhere.status, 422) << "in another session: " << elsewhere.body;
  ASSERT_EQ(Ask("What is next?", {{"intent", "planning"}}, {{"Idempotency-Key", "k2"}}).status, 200);
  EXPECT_EQ(Ask("What is next?", {{"intent", "planning"}}, {{"Idempotency-Key", "k2"}}).status, 200);
  const auto purpose = Ask("What is next?", {{"intent", "spying"}}, {{"Idempotency-Key", "k2"}});
  EXPECT_EQ(purpose.status, 422) << "for something else: " << purpose.body;
}

TEST_F(Asks, LongAnswersAreWholeAndTooLongOnesAreNone) {
  says = std::string(400'000, 'a') + " end";  // beyond what stands in a row of the journal
  const auto answer = Ask("Say a");
  ASSERT_EQ(answer.status, 200) << answer.body.substr(0, 500);
  EXPECT_EQ(answer.json()["text"].get<std::string>().size(), says.size());
  says = std::string(1'200'000, 'a');
  const auto large = Ask("Say more");
  EXPECT_EQ(large.status, 502) << large.body.substr(0, 500);
  EXPECT_NE(large.body.find("too-large"), std::string::npos) << large.body.substr(0, 500);
  EXPECT_EQ(Sql("SELECT string_agg(status, ' ' ORDER BY ended_at) FROM ask_outcome"), "RECORDED FAILED");
  fleet->ExpectVerified();
}

TEST_F(Asks, OnlyRatifiedFactsAreTold) {
  ASSERT_EQ(fleet->Cli({"ledger", "propose", "The report is due on Friday.", "--source", "mail of bob", "--as", "ann"}).exit_code, 0);
  ASSERT_EQ(fleet->Cli({"ledger", "propose", "The report was cancelled.", "--source", "hearsay", "--as", "ann"}).exit_code, 0);
  ASSERT_EQ(fleet->Cli({"ledger", "ratify", "ledger:000001", "--as", "bob"}).exit_code, 0);
  const auto answer = Ask("When is the report due?");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const std::string bundle = answer.json()["exchange"]["context_bundle"];
  EXPECT_NE(bundle.find("due on Friday"), std::string::npos) << bundle;
  EXPECT_EQ(bundle.find("was cancelled"), std::string::npos) << bundle;
  ASSERT_EQ(fleet->Cli({"ledger", "retract", "ledger:000001", "--reason", "it moved", "--as", "bob"}).exit_code, 0);
  const std::string later = Ask("When is the report due?").json()["exchange"]["context_bundle"];
  EXPECT_EQ(later.find("\"claim\":\"The report is due on Friday.\""), std::string::npos) << later;
  fleet->ExpectVerified();
}

TEST_F(Asks, SecretsAreNeitherStoredNorSent) {
  const std::string secret = "ghp_" + std::string("16C7e42F292c6912E7710c838347Ae178B4a");
  says = "Your token is " + secret + ".";
  const auto answer = Ask("My GitHub token is " + secret + ", is it good?");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body.find(secret), std::string::npos);
  EXPECT_NE(answer.json()["text"].get<std::string>().find("[secret:"), std::string::npos) << answer.body;
  EXPECT_EQ(model.asked()[0].body.dump().find(secret), std::string::npos);
  EXPECT_EQ(fleet->Logs().find(secret), std::string::npos);
  EXPECT_EQ(Sql("SELECT count(*) FROM event_rows WHERE payload LIKE '%" + secret + "%'"), "0");
  EXPECT_EQ(Sql("SELECT count(*) FROM chat_turn WHERE content LIKE '%" + secret + "%'"), "0");
}

TEST_F(Asks, WhatTheValidatorClosesIsRecordedAndWithheld) {
  says = "I have restarted the service nginx for you.";
  const auto answer = Ask("Is nginx up?");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json told = answer.json();
  EXPECT_TRUE(told["withheld"]) << told.dump();
  EXPECT_EQ(told["text"], "");
  EXPECT_EQ(answer.body.find("restarted the service"), std::string::npos) << "nowhere in the answer: " << answer.body;
  EXPECT_NE(fleet->Cli({"ask", "show", told["exchange"]["exchange_id"]}).out.find("restarted the service"), std::string::npos)
      << "but on record";
  EXPECT_EQ(Sql("SELECT count(*) FROM llm_exchange"), "1");
  ASSERT_FALSE(told["exchange"]["drift"].empty()) << told.dump();
  const std::string id = told["exchange"]["drift"][0]["driftwatch_id"];
  const auto listed = fleet->Cli({"drift", "list"});
  EXPECT_NE(listed.out.find(id), std::string::npos) << listed.out << listed.err;
  const std::string next = Ask("What about nginx and authority drift?").json()["exchange"]["context_bundle"];
  EXPECT_NE(next.find(id), std::string::npos) << "open drift comes back: " << next;
  EXPECT_EQ(next.find("restarted the service"), std::string::npos) << "what was withheld does not: " << next;
  ASSERT_EQ(fleet->Cli({"drift", "close", id, "--reason", "looked at", "--as", "bob"}).exit_code, 0);
  EXPECT_EQ(fleet->Cli({"drift", "list"}).out.find(id), std::string::npos);
  fleet->ExpectVerified();
}

TEST_F(Asks, ABudgetSaysNoBeforeTheModelIsAsked) {
  ASSERT_EQ(fleet->Cli({"ledger", "budget", "0.000001", "--period", "day", "--as", "bob"}).exit_code, 0);
  const auto answer = Ask("What is next?");
  EXPECT_EQ(answer.status, 409) << answer.body;
  EXPECT_NE(answer.body.find("resets_at"), std::string::npos) << answer.body;
  EXPECT_TRUE(model.asked().empty());
  EXPECT_EQ(Sql("SELECT count(*) FROM ask_prepared"), "0");
}

class AsksWithoutAPrice : public Asks {
 protected:
  void SetUp() override { Start(""); }
};

TEST_F(AsksWithoutAPrice, AreRefusedOnABudgetAndAnsweredWithoutOne) {
  EXPECT_EQ(Ask("What is next?").status, 200);
  ASSERT_EQ(fleet->Cli({"ledger", "budget", "5", "--period", "day", "--as", "bob"}).exit_code, 0);
  const auto answer = Ask("And then?");
  EXPECT_EQ(answer.status, 409) << answer.body;
  EXPECT_NE(answer.body.find("no-price"), std::string::npos) << answer.body;
  EXPECT_EQ(model.asked().size(), 1u);
}

// Wherever a coordinator dies: never an answer without a record, never a call that is not on record, and the journals verify.
TEST_F(Asks, ACoordinatorMayDieAtEveryBoundary) {
  ASSERT_TRUE(pg::MarkForChaos(fleet->database_url(), true).ok());
  fleet->StartCoordinator(1);
  const auto orders = fleet->folder() / "orders";
  std::filesystem::create_directories(orders);
  std::size_t calls = 0;
  for (const char* place : {"ask.before_prepared", "ask.prepared", "ask.invoked", "ask.before_recorded", "ask.recorded"}) {
    SCOPED_TRACE(place);
    setenv("ACL_FAILPOINTS", orders.c_str(), 1);  // of the one that is to die
    fleet->StartCoordinator(2);
    unsetenv("ACL_FAILPOINTS");
    ASSERT_TRUE(WaitUntil([&] { return fleet->Api("GET", "/readyz", Json(), {}, 2).status == 200; })) << fleet->Logs();
    WriteFile(orders / place, "kill");
    const std::string key = std::string("key-") + place;
    const Json body = {{"question", "What is next?"}, {"by", "ann"}};
    EXPECT_NE(fleet->Api("POST", "/v1/ask", body, {{"Idempotency-Key", key}}, 2).status, 200) << "it was killed";
    EXPECT_EQ(fleet->coordinator(2).Wait(), 128 + SIGKILL);
    const std::string prepared = "SELECT count(*) FROM ask_prepared WHERE request_key = '" + key + "'";
    const bool before = std::string_view(place) == "ask.before_prepared", after = std::string_view(place) == "ask.recorded";
    EXPECT_EQ(Sql(prepared), before ? "0" : "1");
    EXPECT_EQ(Sql("SELECT count(*) FROM llm_exchange x JOIN ask_prepared p USING (exchange_id) WHERE request_key = '" + key + "'"),
              after ? "1" : "0");
    calls += before || std::string_view(place) == "ask.prepared" ? 0 : 1;
    EXPECT_EQ(model.asked().size(), calls) << "no call without a record of it";
    const HttpAnswer again = fleet->Api("POST", "/v1/ask", body, {{"Idempotency-Key", key}}, 1);
    if (after) {
      EXPECT_EQ(again.status, 200) << again.body;
    } else {
      EXPECT_EQ(again.status, 409) << "what is under way, or set aside for it, is not asked again blindly: " << again.body;
    }
    EXPECT_EQ(model.asked().size(), calls);
  }
  fleet->ExpectVerified();
}

TEST_F(Asks, ACoordinatorThatDiesInTheCallLeavesItUncertain) {
  std::unique_lock hold(mutex);  // the model does not answer
  std::thread asking([&] { Ask("What is next?"); });
  EXPECT_TRUE(WaitUntil([&] { return !model.asked().empty(); }));
  EXPECT_EQ(Sql("SELECT count(*) FROM ask_prepared"), "1") << "on record before the call";
  fleet->coordinator().Kill();
  hold.unlock();
  asking.join();
  EXPECT_EQ(Sql("SELECT count(*) FROM ask_outcome"), "0");
  EXPECT_EQ(Sql("SELECT count(*) FROM timers WHERE timer_id LIKE 'call:%'"), "1") << "and what ends it is set";
  fleet->StartCoordinator();
  ASSERT_TRUE(WaitUntil([&] { return fleet->Api("GET", "/v1/ask/exchanges").status == 200; }));
  const Json page = fleet->Api("GET", "/v1/ask/exchanges").json();
  EXPECT_EQ(page["exchanges"][0]["status"], "UNDER_WAY");
  EXPECT_EQ(model.asked().size(), 1u) << "nobody asks again blindly";
  fleet->ExpectVerified();
}

}  // namespace
}  // namespace acl::test
