// Runs that are waited for, many at once, and made together.
#include <thread>

#include "coordinator/api/created.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

using WaitTest = ApiFixture;
using std::chrono::seconds;

HttpRequest Preferring(const std::string& text) {
  HttpRequest request;
  if (!text.empty()) request.headers = {{"prefer", text}};
  return request;
}

TEST_F(WaitTest, ReadsHowLong) {
  EXPECT_EQ(ReadWait(Preferring("")), seconds(0));
  EXPECT_EQ(ReadWait(Preferring("wait=5")), seconds(5));
  EXPECT_EQ(ReadWait(Preferring("respond-async, wait=7")), seconds(7));
  EXPECT_EQ(ReadWait(Preferring("wait=100000000")), kLongestWait);
  for (const char* none : {"wait", "wait=", "wait=x", "wait=-1", "wait=0", "wait=1.5", "waiting=3", "wait=99999999999999999999"}) {
    EXPECT_EQ(ReadWait(Preferring(none)), seconds(0)) << none;
  }
}

TEST_F(WaitTest, AnswersWhenTheRunHasEnded) {
  std::thread ender([&] {
    while (store_.Subjects().empty()) std::this_thread::yield();
    const SubjectId run = store_.Subjects().front();
    Close(run.ToString());
    ends_.Nudge(run);
  });
  const auto answer = Ask("POST", "/v1/workflows", kYaml, {{"content-type", "application/yaml"}, {"prefer", "wait=30"}});
  ender.join();
  ASSERT_EQ(answer.status, 201) << answer.text;
  EXPECT_EQ(answer.body["closed"], true);
  EXPECT_EQ(answer.body["status"], "COMPLETED");
  EXPECT_EQ(answer.Header("Preference-Applied"), "wait=30");
  EXPECT_EQ(Post("/v1/workflows", {{"workflow", kYaml}}).Header("Preference-Applied"), "");
}

TEST_F(WaitTest, AReplayFindsARunThatEndedLongAgo) {
  const auto first = Post("/v1/workflows", {{"workflow", kYaml}}, "key");
  Close(first.body["id"]);
  const auto again = Ask("POST", "/v1/workflows", Json{{"workflow", kYaml}}.dump(),
                         {{"content-type", "application/json"}, {"idempotency-key", "key"}, {"prefer", "wait=30"}});
  EXPECT_EQ(again.body["id"], first.body["id"]);
  EXPECT_EQ(again.body["status"], "COMPLETED");
  EXPECT_EQ(again.Header("Idempotent-Replayed"), "true");
}

TEST_F(WaitTest, AnEarlyHintIsRemembered) {
  const std::string id = Submit();
  Close(id);
  const SubjectId run{*Uuid::Parse(id)};
  ends_.Nudge(run);
  std::promise<std::optional<EndView>> told;
  ASSERT_TRUE(ends_.Add(run, seconds(30), [&](const std::optional<EndView>& end) { told.set_value(end); }));
  const auto end = told.get_future().get();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, "COMPLETED");
}

TEST_F(WaitTest, WhoeverWaitsIsToldWhenThisProcessStops) {
  const SubjectId run{*Uuid::Parse(Submit())};
  std::promise<bool> told;
  ASSERT_TRUE(ends_.Add(run, seconds(3600), [&](const std::optional<EndView>& end) { told.set_value(end.has_value()); }));
  ends_.Stop();
  EXPECT_FALSE(told.get_future().get());
  EXPECT_FALSE(ends_.Add(run, seconds(1), [](const std::optional<EndView>&) { FAIL(); }));
}

TEST_F(WaitTest, ABatchIsMadeOfOneWorkflow) {
  const Json body = {{"workflow", kYaml},
                     {"runs", Json::array({Json::object(), {{"labels", {{"team", "a"}}}}, {{"idempotency_key", "own"}}})}};
  const auto answer = Post("/v1/workflows/batch", body, "batch-1");
  ASSERT_EQ(answer.status, 201) << answer.text;
  ASSERT_EQ(answer.body["runs"].size(), 3u);
  std::set<std::string> ids;
  for (const Json& run : answer.body["runs"]) ids.insert(run["id"].get<std::string>());
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_EQ(store_.Subjects().size(), 3u);
  const auto again = Post("/v1/workflows/batch", body, "batch-1");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(again.body["runs"][i]["id"], answer.body["runs"][i]["id"]);
    EXPECT_EQ(again.body["runs"][i]["replayed"], true);
  }
  const auto other =
      Post("/v1/workflows/batch", {{"workflow", kYaml}, {"runs", Json::array({{{"idempotency_key", "own"}, {"labels", {{"b", "c"}}}}})}});
  EXPECT_EQ(other.body["runs"][0]["error"]["code"], "key-reused");
  EXPECT_EQ(store_.Subjects().size(), 3u);
}

TEST_F(WaitTest, ABatchThatDoesNotFitMakesNothing) {
  const std::vector<Json> bad = {Json(),
                                 Json::array(),
                                 Json::array({7}),
                                 Json::array({Json::object(), {{"inputs", 7}}}),
                                 Json::array({{{"input", Json::object()}}}),
                                 Json::array({{{"labels", {{"a", 7}}}}}),
                                 Json::array({{{"idempotency_key", ""}}})};
  for (const Json& runs : bad) {
    const auto answer = Post("/v1/workflows/batch", {{"workflow", kYaml}, {"runs", runs}});
    EXPECT_EQ(answer.status, 422) << runs.dump() << answer.text;
  }
  EXPECT_EQ(Post("/v1/workflows/batch", {{"runs", Json::array({Json::object()})}}).status, 422);
  EXPECT_TRUE(store_.Subjects().empty());
}

// With a relay, no worker is notified of a run whose row it was told of.
TEST_F(WaitTest, TheRelayIsToldOfWhatWasMade) {
  bool takes = true;
  std::vector<StepMessage> rows;
  std::vector<std::string> notified;
  RunCreator::Options options;
  options.hinted = [&](const std::vector<StepMessage>& told) {
    rows.insert(rows.end(), told.begin(), told.end());
    return takes;
  };
  RunCreator creator(
      store_, [&](const std::string& queue) { notified.push_back(queue); }, {}, options);
  ASSERT_TRUE(creator.Start());
  const auto make = [&] {
    CreateItem item;
    item.subject = ids_.New<SubjectId>();
    item.kind = "workflow";
    std::promise<SubjectId> made;
    EXPECT_TRUE(creator.Add(std::move(item), [&](Result<CreateOutcome> outcome) { made.set_value(outcome->subject); }));
    return made.get_future().get();
  };
  const SubjectId first = make();
  EXPECT_TRUE(notified.empty());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.front().key.subject, first);
  const auto due = store_.DueReadyOf(ReadyShard(first), {}, 10);
  ASSERT_TRUE(due);
  ASSERT_EQ(due->rows.size(), 1u);
  EXPECT_EQ(rows.front().key, due->rows.front().key);
  takes = false;
  make();
  EXPECT_EQ(notified, std::vector<std::string>{"default"}) << "it is looked for";
  creator.Stop();
}

TEST_F(WaitTest, AnItemThatCannotBeMadeSpoilsOnlyItself) {
  std::vector<std::future<Result<CreateOutcome>>> made;
  std::vector<CreateItem> items;
  for (int i = 0; i < 4; ++i) {
    CreateItem item;
    item.subject = ids_.New<SubjectId>();
    item.kind = "workflow";
    if (i == 2) item.contents.push_back(Sha256("never stored"));
    items.push_back(std::move(item));
  }
  RunCreator creator(store_, [](const std::string&) {});
  for (CreateItem& item : items) {
    auto told = std::make_shared<std::promise<Result<CreateOutcome>>>();
    made.push_back(told->get_future());
    ASSERT_TRUE(creator.Add(std::move(item), [told](Result<CreateOutcome> outcome) { told->set_value(std::move(outcome)); }));
  }
  ASSERT_TRUE(creator.Start());  // all four are taken together
  for (int i = 0; i < 4; ++i) EXPECT_EQ(made[std::size_t(i)].get().ok(), i != 2) << i;
  creator.Stop();
  EXPECT_FALSE(creator.Add({}, [](const Result<CreateOutcome>&) { FAIL(); }));
}

}  // namespace
}  // namespace acl::coordinator
