// /v1/approvals over runs in memory: what is asked is shown, who decides is told what the run's journal made of it.
#include <gmock/gmock.h>

#include "shared/journal/snapshot.h"
#include "shared/kernel/item_builder.h"
#include "shared/kernel/stored_chunks.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using testing::HasSubstr;

class ApprovalsApi : public ApiFixture {
 protected:
  std::string Gate(const std::string& gate = "") {
    const std::string yaml = "name: deploy\nmetadata: {owner: olga}\nsteps:\n  - {name: gate, step_type: HUMAN_APPROVAL" + gate + "}\n";
    const auto answer = Post("/v1/workflows", {{"workflow", yaml}});
    EXPECT_EQ(answer.status, 201) << answer.text;
    const std::string id = answer.body.value("id", "");
    Turn();
    return id;
  }
  // A worker claims the run, decides what there is to decide, and gives it back.
  void Turn() {
    auto session = store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {"default"}, .ttl = milliseconds(60'000)});
    auto answer = store_.Claim({.session = session->session, .queues = {"default"}, .max = 100});
    ASSERT_TRUE(answer);
    for (const Claimed& claimed : answer->claimed) {
      auto restored = Restore(claimed.subject, claimed.snapshot, claimed.events, ReaderOf(store_, claimed.snapshot, claimed.events));
      ASSERT_TRUE(restored);
      ItemBuilder made(*kind_, BaseOf(claimed, session->session), restored->state);
      const WallTime now = std::max(claimed.db_now, claimed.head.last_timestamp);
      const Input resumed = ResumedInput{claimed.attempts};
      ASSERT_TRUE(made.Decide(resumed, now));
      for (const InboxRow& row : claimed.inbox) {
        made.item.consumed_inbox.push_back(row.id);
        const Input input = InboxInput{row.id, row.kind, Json::parse(row.payload)};
        ASSERT_TRUE(made.Decide(input, now));
      }
      made.Finish(now);
      NextContext context;
      context.now = now;
      const Next next = kind_->WhatNext(made.state, context);
      CommitItem item = std::move(made.item);
      item.expected_wake = claimed.wake;
      item.disposition = next.closed ? Disposition::kClose : Disposition::kRelease;
      if (!next.closed) item.waiting = next.waiting;
      auto outcome = store_.Commit({&item, 1});
      ASSERT_TRUE(outcome);
      ASSERT_EQ(outcome->front().kind, CommitOutcome::Kind::kCommitted) << outcome->front().error;
    }
    ASSERT_TRUE(store_.CloseSession(session->session));
    ASSERT_TRUE(store_.Reap(10));
  }
  static std::string Path(const std::string& run, const std::string& verb = "") { return "/v1/approvals/" + run + "%3Agate" + verb; }
  Json Body(const std::string& run, const std::string& decision, const std::string& who = "alice") {
    return {{"decision", decision}, {"digest", Ask("GET", Path(run)).body.value("digest", "")}, {"approver", who}};
  }
};

TEST_F(ApprovalsApi, ListsWhatWaitsAndShowsWhatIsApproved) {
  const std::string first = Gate(", inputs: {message: 'one?', amount: 7}"), second = Gate();
  auto page = Ask("GET", "/v1/approvals?limit=1");
  ASSERT_EQ(page.status, 200) << page.text;
  EXPECT_EQ(page.body["approvals"][0]["run_id"], second);
  page = Ask("GET", "/v1/approvals?before=" + page.body["next_before"].dump());
  EXPECT_EQ(page.body["approvals"][0]["run_id"], first);
  EXPECT_EQ(Ask("GET", "/v1/approvals?run=" + first).body["approvals"].size(), 1u);
  EXPECT_EQ(Ask("GET", "/v1/approvals?state=APPROVED").body["approvals"], Json::array());
  EXPECT_EQ(Ask("GET", "/v1/approvals?state=odd").status, 400);
  const auto shown = Ask("GET", Path(first));
  ASSERT_EQ(shown.status, 200) << shown.text;
  EXPECT_THAT(shown.body["shown"].dump(), HasSubstr("amount"));
  EXPECT_EQ(shown.body["shown_digest"].get<std::string>().size(), 64u);
  EXPECT_EQ(Ask("GET", "/v1/approvals/nothing").status, 404);
  EXPECT_EQ(Ask("GET", "/v1/workflows?status=PAUSED").body["workflows"].size(), 2u);
}

TEST_F(ApprovalsApi, ADecisionIsTakenAndTheSecondIsToldWhoWon) {
  const std::string run = Gate(", inputs: {x: 1}");
  const Json approve = Body(run, "approve"), reject = Body(run, "reject", "bob");
  auto taken = Post(Path(run, "/decision"), approve, "k1");
  EXPECT_EQ(taken.status, 202) << taken.text;
  auto again = Post(Path(run, "/decision"), approve, "k1");
  EXPECT_EQ(again.status, 202) << again.text;
  EXPECT_EQ(again.Header("Idempotent-Replayed"), "true");
  EXPECT_EQ(Post(Path(run, "/decision"), reject, "k1").status, 422);
  EXPECT_EQ(Ask("GET", Path(run)).body["state"], "PENDING");
  Turn();
  EXPECT_EQ(Ask("GET", Path(run)).body["state"], "APPROVED");
  const auto late = Post(Path(run, "/decision"), reject);
  EXPECT_EQ(late.status, 409) << late.text;
  EXPECT_EQ(late.code(), "already-decided");
  EXPECT_EQ(late.body["winner"]["decided_by"], "alice");
  EXPECT_EQ(late.body["winner"]["state"], "APPROVED");
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + run).body["status"], "COMPLETED");
}

TEST_F(ApprovalsApi, ARepeatedDecisionHasTheAnswerOfTheFirst) {
  const std::string run = Gate(", approval_config: {approvers: [alice]}");
  const Json reject = Body(run, "reject", "bob"), approve = Body(run, "approve");
  EXPECT_EQ(Post(Path(run, "/decision"), reject, "bobs").status, 202);
  Turn();
  EXPECT_EQ(Post(Path(run, "/decision"), reject, "bobs").status, 403) << "refused as the first was";
  EXPECT_EQ(Post(Path(run, "/decision"), approve, "alices").status, 202);
  Turn();
  EXPECT_EQ(Post(Path(run, "/decision"), approve, "alices").status, 200);
  EXPECT_EQ(Post(Path(run, "/decision"), reject, "bobs").status, 403);
}

TEST_F(ApprovalsApi, WhatWasShownIsWhatIsAskedAndSizesAreLookedAt) {
  const std::string run = Gate(", inputs: {x: 1}");
  Json body = Body(run, "approve");
  body["shown_digest"] = std::string(64, '0');
  EXPECT_EQ(Post(Path(run, "/decision"), body).code(), "shown-digest-mismatch");
  body["shown_digest"] = Ask("GET", Path(run)).body["shown_digest"];
  for (const auto& [member, text] : std::map<std::string, std::string>{{"comment", std::string(5'000, 'x')},
                                                                       {"digest", std::string(65, '0')},
                                                                       {"shown_digest", std::string(65, '0')},
                                                                       {"channel", "chat"}}) {
    Json wrong = body;
    wrong[member] = text;
    EXPECT_EQ(Post(Path(run, "/decision"), wrong).status, 422) << member;
  }
  EXPECT_EQ(Post(Path(run, "/decision"), body).status, 202);
  EXPECT_FALSE(Ask("GET", "/v1/approvals").body["approvals"][0].contains("arguments"));
}

TEST_F(ApprovalsApi, WhoTheKeyIsOfDecidesAndANameInTheBodyIsALabel) {
  const std::string run = Gate(", inputs: {approver_role: boss}");
  HttpRequest request;
  request.method = "POST";
  request.headers = {{"content-type", "application/json"}};
  Json body = Body(run, "approve", "olga");
  body["roles"] = {"boss"};
  request.body = body.dump();
  request.principal = "eve";
  request.roles = {"clerk"};
  auto match = router_.Find("POST", Path(run, "/decision"));
  request.params = match.params;
  EXPECT_EQ(match.route->handler(request).status, 202);
  Turn();
  EXPECT_EQ(Ask("GET", Path(run)).body["state"], "PENDING") << "the key has no such role, whatever the body says";
  request.roles = {"boss"};
  EXPECT_EQ(match.route->handler(request).status, 202);
  Turn();
  EXPECT_EQ(Ask("GET", Path(run)).body["decided_by"], "eve");
}

TEST_F(ApprovalsApi, WhatIsNoDecisionIsRefusedAtTheDoor) {
  const std::string run = Gate();
  for (const char* member : {"decision", "digest"}) {
    Json body = Body(run, "approve");
    body.erase(member);
    EXPECT_EQ(Post(Path(run, "/decision"), body).status, 422) << member;
  }
  Json body = Body(run, "perhaps");
  EXPECT_EQ(Post(Path(run, "/decision"), body).status, 422);
  body = Body(run, "approve");
  body["roles"] = "boss";
  EXPECT_EQ(Post(Path(run, "/decision"), body).status, 422);
  body = Body(run, "approve");
  body["other"] = 1;
  EXPECT_EQ(Post(Path(run, "/decision"), body).status, 422);
  EXPECT_EQ(Post("/v1/approvals/nothing/decision", Body(run, "approve")).status, 404);
}

// A GET that decides would be answered by every scanner of mail. (B-r8)
TEST_F(ApprovalsApi, LookingDecidesNothing) {
  const std::string run = Gate();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Ask("GET", Path(run)).body["state"], "PENDING");
  Turn();
  EXPECT_EQ(Ask("GET", Path(run)).body["state"], "PENDING");
  EXPECT_EQ(router_.Find("GET", Path(run, "/decision")).route, nullptr);
}

}  // namespace
}  // namespace acl::coordinator
