#include "coordinator/api/cursor.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using RunsTest = ApiFixture;

TEST_F(RunsTest, ListsPageByPageNewestFirst) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(Submit());
    clock_.Advance(std::chrono::milliseconds(2));
  }
  std::vector<std::string> seen;
  std::string target = "/v1/workflows?limit=2";
  for (int page = 0; page < 3; ++page) {
    const auto answer = Ask("GET", target);
    ASSERT_EQ(answer.status, 200) << answer.text;
    for (const auto& run : answer.body["workflows"]) seen.push_back(run["id"]);
    EXPECT_EQ(answer.body.contains("next_cursor"), page < 2);
    EXPECT_EQ(answer.Header("Link").empty(), page == 2);
    if (page < 2) target = "/v1/workflows?limit=2&cursor=" + answer.body["next_cursor"].get<std::string>();
  }
  std::reverse(ids.begin(), ids.end());
  EXPECT_EQ(seen, ids);
}

TEST_F(RunsTest, FiltersAndRefusesForeignCursors) {
  const std::string first = Submit();
  clock_.Advance(std::chrono::milliseconds(2));
  Submit();
  Close(first);
  EXPECT_EQ(Ask("GET", "/v1/workflows?status=PENDING").body["workflows"].size(), 1u);
  EXPECT_EQ(Ask("GET", "/v1/workflows?status=COMPLETED").body["workflows"][0]["id"], first);
  EXPECT_EQ(Ask("GET", "/v1/workflows?name=hello").body["workflows"].size(), 2u);
  EXPECT_EQ(Ask("GET", "/v1/workflows?name=other").body["workflows"].size(), 0u);
  EXPECT_EQ(Ask("GET", "/v1/workflows?status=pending").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/workflows?limit=0").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/workflows?limit=201").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/workflows?limit=x").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/workflows?cursor=zz").status, 400);
  const std::string cursor = Ask("GET", "/v1/workflows?limit=1").body["next_cursor"];
  EXPECT_EQ(Ask("GET", "/v1/workflows?limit=1&cursor=" + cursor).status, 200);
  EXPECT_EQ(Ask("GET", "/v1/workflows?limit=1&name=hello&cursor=" + cursor).status, 400);
}

TEST_F(RunsTest, FiltersByLabels) {
  const std::string both = Submit({{"labels", {{"team", "a b"}, {"env", "test"}}}});
  clock_.Advance(std::chrono::milliseconds(2));
  Submit({{"labels", {{"team", "a b"}}}});
  const auto found = [&](const std::string& query) { return Ask("GET", "/v1/workflows?" + query).body["workflows"].size(); };
  EXPECT_EQ(found("label=team%3Da%20b"), 2u);
  EXPECT_EQ(found("label=team%3Da"), 0u);
  ASSERT_EQ(found("label=team%3Da%20b&label=env%3Dtest"), 1u);
  EXPECT_EQ(Ask("GET", "/v1/workflows?label=env%3Dtest").body["workflows"][0]["id"], both);
  EXPECT_EQ(found("label=other%3Dx"), 0u);
  EXPECT_EQ(Ask("GET", "/v1/workflows?label=team").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/workflows?label=%3Dx").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/workflows?label=a%3D1&label=a%3D2").status, 400);
  const std::string cursor = Ask("GET", "/v1/workflows?limit=1&label=team%3Da%20b").body["next_cursor"];
  EXPECT_EQ(found("limit=1&label=team%3Da%20b&cursor=" + cursor), 1u);
  EXPECT_EQ(Ask("GET", "/v1/workflows?limit=1&cursor=" + cursor).status, 400) << "the same filters";
}

TEST_F(RunsTest, FindsByAnyPartThatOnlyOneRunHas) {
  const std::string first = Submit();
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + first.substr(0, 8)).body["id"], first);
  clock_.Advance(std::chrono::milliseconds(1));
  const std::string second = Submit();
  const auto ambiguous = Ask("GET", "/v1/workflows/" + first.substr(0, 8));
  EXPECT_EQ(ambiguous.status, 409);
  EXPECT_NE(ambiguous.text.find(second), std::string::npos);
  // Ids of the same time differ in their last digits.
  for (const std::string& part : {second.substr(24), second.substr(28), second.substr(15, 14), second.substr(0, 30)}) {
    EXPECT_EQ(Ask("GET", "/v1/workflows/" + part).body["id"], second) << part;
  }
  for (const char* id : {"abc", "zzzzzz", "ffff0000", "00000000-0000-7000-8000-000000000009", "..."}) {
    EXPECT_EQ(Ask("GET", std::string("/v1/workflows/") + id).status, 404) << id;
  }
}

TEST_F(RunsTest, CancelPauseResumeSignalAreInboxRows) {
  const std::string id = Submit(), run = "/v1/workflows/" + id;
  notified_.clear();
  EXPECT_EQ(Post(run + "/pause", {{"reason", "look"}}).status, 202);
  EXPECT_EQ(Post(run + "/resume", Json()).status, 202);
  EXPECT_EQ(Post(run + "/signal", {{"name", "go"}, {"payload", {1, 2}}}).status, 202);
  EXPECT_EQ(Post(run + "/cancel", {{"reason", "enough"}, {"compensate", true}}).status, 202);
  EXPECT_EQ(notified_.size(), 4u);
  const auto inbox = store_.Inspect(*SubjectId::Parse(id))->inbox;
  ASSERT_EQ(inbox.size(), 4u);
  EXPECT_EQ(inbox[0].kind, "pause");
  EXPECT_EQ(Json::parse(inbox[2].payload), (Json{{"name", "go"}, {"payload", {1, 2}}}));
  EXPECT_EQ(Json::parse(inbox[3].payload), (Json{{"reason", "enough"}, {"compensate", true}}));
}

TEST_F(RunsTest, ActionsAreIdempotentByKeyAlsoAfterTheEnd) {
  const std::string id = Submit(), run = "/v1/workflows/" + id;
  const auto first = Post(run + "/pause", {{"reason", "a"}}, "k");
  EXPECT_EQ(first.Header("Idempotent-Replayed"), "");
  const auto again = Post(run + "/pause", {{"reason", "a"}}, "k");
  EXPECT_EQ(again.status, 202);
  EXPECT_EQ(again.Header("Idempotent-Replayed"), "true");
  EXPECT_EQ(again.text, first.text);
  EXPECT_EQ(store_.Inspect(*SubjectId::Parse(id))->inbox.size(), 1u);
  EXPECT_EQ(Post(run + "/pause", {{"reason", "b"}}, "k").status, 422);
  EXPECT_EQ(Post(run + "/resume", {{"reason", "a"}}, "k").status, 422);
  EXPECT_EQ(metrics_.counter({"hits", "help"}).Value(), 1);
}

TEST_F(RunsTest, AFinishedRunIsNotCancelled) {
  const std::string id = Submit();
  Close(id);
  const auto answer = Post("/v1/workflows/" + id + "/cancel", Json());
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.code(), "run-closed");
  EXPECT_EQ(Post("/v1/workflows/00000000-0000-7000-8000-000000000009/cancel", Json()).status, 404);
}

TEST_F(RunsTest, ActionsCheckTheirBodies) {
  const std::string run = "/v1/workflows/" + Submit();
  EXPECT_EQ(Post(run + "/cancel", {{"compensate", "yes"}}).status, 422);
  EXPECT_EQ(Post(run + "/cancel", {{"compensat", true}}).status, 422);
  EXPECT_EQ(Post(run + "/signal", Json::object()).status, 422);
  EXPECT_EQ(Post(run + "/steps/greet/resolve", {{"decision", "maybe"}}).status, 422);
  EXPECT_EQ(Post(run + "/steps/greet/resolve", {{"decision", "completed"}, {"outputs", 7}}).status, 422);
  EXPECT_EQ(Post(run + "/steps/nobody/resolve", {{"decision", "retry"}}).status, 404);
  const auto not_uncertain = Post(run + "/steps/greet/resolve", {{"decision", "retry"}});
  EXPECT_EQ(not_uncertain.status, 409);
  EXPECT_EQ(not_uncertain.code(), "not-uncertain");
}

TEST_F(RunsTest, JournalPagesSayWhatWasDropped) {
  const std::string id = Submit(), events = "/v1/workflows/" + id + "/events";
  EXPECT_FALSE(Ask("GET", events).body.contains("dropped"));
  RollAndDrop(id);
  const auto page = Ask("GET", events);
  ASSERT_EQ(page.status, 200);
  EXPECT_EQ(page.body["events"][0]["event_seq"], 2);
  EXPECT_EQ(page.body["dropped"]["first"], 1);
  EXPECT_EQ(page.body["dropped"]["last"], 1);
  EXPECT_EQ(page.body["dropped"]["detail"],
            "events 1 to 1 of " + id + " were dropped by retention (journal_retention_days): its journal begins with event 2 now");
  EXPECT_FALSE(Ask("GET", events + "?after_seq=1").body.contains("dropped"));
}

TEST_F(RunsTest, JournalPages) {
  const std::string id = Submit(), events = "/v1/workflows/" + id + "/events";
  const auto page = Ask("GET", events);
  ASSERT_EQ(page.status, 200) << page.text;
  ASSERT_EQ(page.body["events"].size(), 1u);
  const Json& event = page.body["events"][0];
  EXPECT_EQ(event["event_seq"], 1);
  EXPECT_EQ(event["event_type"], "workflow.created");
  EXPECT_TRUE(event["payload"].is_object());
  EXPECT_EQ(event["checksum"].get<std::string>().size(), 64u);
  EXPECT_EQ(page.body["head_seq"], 1);
  EXPECT_FALSE(page.body.contains("next_after_seq"));
  EXPECT_EQ(Ask("GET", events + "?after_seq=1").body["events"].size(), 0u);
  EXPECT_EQ(Ask("GET", events + "?after_seq=-1").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/workflows/00000000-0000-7000-8000-000000000009/events").status, 404);
}

TEST_F(RunsTest, FleetListsAndQuarantine) {
  const std::string id = Submit();
  auto session = store_.OpenSession({.worker_name = "w1", .slots = 2, .queues = {"default"}, .ttl = milliseconds(60'000)});
  auto claimed = store_.Claim({.session = session->session, .max = 1});
  ASSERT_EQ(claimed->claimed.size(), 1u);
  const auto leases = Ask("GET", "/v1/leases");
  ASSERT_EQ(leases.body["leases"].size(), 1u) << leases.text;
  EXPECT_EQ(leases.body["leases"][0]["workflow_id"], id);
  EXPECT_EQ(leases.body["leases"][0]["worker_name"], "w1");
  EXPECT_EQ(Ask("GET", "/v1/workers").body["workers"].size(), 1u);
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + id).body["state"]["name"], "leased");
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + id).body["grants"].size(), 1u);
  EXPECT_EQ(Post("/v1/quarantine/" + id + "/release", Json()).status, 404);
  ASSERT_TRUE(
      store_.Quarantine(claimed->claimed[0].subject, session->session, claimed->claimed[0].token, "journal", "event 1: checksum").ok());
  EXPECT_EQ(Ask("GET", "/v1/quarantine").body["quarantined"][0]["reason"], "journal");
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + id).body["state"]["name"], "quarantined");
  const auto released = Post("/v1/quarantine/" + id + "/release", Json(), "k");
  EXPECT_EQ(released.status, 200) << released.text;
  const auto again = Post("/v1/quarantine/" + id + "/release", Json(), "k");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.Header("Idempotent-Replayed"), "true");
  EXPECT_EQ(store_.Inspect(claimed->claimed[0].subject)->inbox.at(0).kind, "quarantine_released") << "for the journal, once";
  EXPECT_EQ(store_.Inspect(claimed->claimed[0].subject)->inbox.size(), 1u);
  EXPECT_EQ(Ask("GET", "/v1/quarantine").body["quarantined"].size(), 0u);
  EXPECT_EQ(Ask("GET", "/v1/quarantine?include_released=true").body["quarantined"].size(), 1u);
  EXPECT_EQ(Ask("GET", "/v1/workers?include_dead=maybe").status, 400);
}

TEST_F(RunsTest, Reference) {
  const auto list = Ask("GET", "/v1/capabilities");
  EXPECT_GT(list.body["capabilities"].size(), 10u);
  EXPECT_EQ(Ask("GET", "/v1/capabilities/test.echo").body["id"], "test.echo");
  const auto typo = Ask("GET", "/v1/capabilities/test.ecko");
  EXPECT_EQ(typo.status, 404);
  EXPECT_NE(typo.text.find("test.echo"), std::string::npos);
  EXPECT_EQ(Ask("GET", "/schemas/workflow.schema.json").body["type"], "object");
}

TEST(Cursor, IsBoundToItsFilters) {
  const SubjectId id{NewUuid7()};
  EXPECT_EQ(ReadCursor(MakeCursor(id, "a"), "a"), id);
  EXPECT_FALSE(ReadCursor(MakeCursor(id, "a"), "b"));
  EXPECT_FALSE(ReadCursor("", ""));
  EXPECT_FALSE(ReadCursor(MakeCursor(id, "a").substr(2), "a"));
}

}  // namespace
}  // namespace acl::coordinator
