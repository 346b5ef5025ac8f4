// What runs with large outputs cost: views and pages are bounded by bytes, what is cut is named with its size and its address.
#include "coordinator/api/answer_budget.h"
#include "coordinator/api/event_feed.h"
#include "shared/kernel/fold.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

class LargeRuns : public ApiFixture {
 protected:
  // A run of so many steps, each with outputs of so many bytes, as a worker would leave it.
  std::string Run(int steps, std::size_t bytes, const Json& inputs = Json::object(), const Json& outputs = Json::object()) {
    std::string text = "name: large\nsteps:\n";
    for (int i = 0; i < steps; ++i) text += "  - {name: s" + std::to_string(i) + ", capability: test.echo}\n";
    const auto made = Post("/v1/workflows", {{"workflow", text}, {"inputs", inputs}});
    EXPECT_EQ(made.status, 201) << made.text;
    const std::string id = made.body["id"];
    auto session = store_.OpenSession({.worker_name = "w", .slots = 8, .queues = {"default"}, .ttl = milliseconds(60'000)});
    auto claimed = store_.Claim({.session = session->session, .max = 1});
    EXPECT_TRUE(claimed && claimed->claimed.size() == 1);
    const Claimed& run = claimed->claimed.front();
    auto restored = Restore(run.subject, run.snapshot, run.events, {});
    EXPECT_TRUE(restored.ok());
    CommitItem item;
    item.subject = run.subject;
    item.session = session->session;
    item.token = run.token;
    item.base_seq = run.head.seq;
    item.chain = run.head.chain;
    item.last_timestamp = run.head.last_timestamp;
    item.disposition = Disposition::kRelease;
    item.requeue = true;
    item.expected_wake = run.wake;
    Document state = restored->state;
    const auto take = [&](const Input& input) {
      for (EventDraft& draft : kind_->Decide(state, input, clock_.Wall()).events) {
        auto folded = FoldDraft(*kind_, state, std::move(draft));
        ASSERT_TRUE(folded.ok());
        Event event = std::move(*folded);
        event.subject = run.subject;
        event.seq = item.base_seq + std::int64_t(item.events.size()) + 1;
        event.journal = run.head.journal;
        event.token = run.token;
        event.timestamp = clock_.Wall();
        event.chain = ChainNext(item.chain, event);
        item.chain = event.chain;
        item.last_timestamp = event.timestamp;
        item.events.push_back(std::move(event));
      }
    };
    take(ResumedInput{});
    for (int i = 0; i < steps; ++i) {
      StepResult result;
      result.outputs = {{"text", std::string(bytes, char('a' + i % 26))}};
      result.outputs.update(outputs);
      take(StepFinishedInput{"s" + std::to_string(i), 1, std::move(result), {}});
    }
    item.state_root = state.Root();
    auto outcome = store_.Commit({&item, 1});
    EXPECT_TRUE(outcome && outcome->front().kind == CommitOutcome::Kind::kCommitted) << outcome->front().error;
    return id;
  }
};

TEST_F(LargeRuns, AViewNamesWhatIsTooLargeForIt) {
  const std::string id = Run(3, 100'000, {{"big", std::string(200'000, 'i')}});
  const auto view = Ask("GET", "/v1/workflows/" + id);
  ASSERT_EQ(view.status, 200) << view.text;
  EXPECT_LT(view.text.size(), 20'000u);
  const Json cut = view.body["steps"][1]["outputs"];
  EXPECT_EQ(cut["truncated"], true);
  EXPECT_GE(cut["bytes"].get<std::size_t>(), 100'000u);
  EXPECT_EQ(cut["url"], "/v1/workflows/" + id + "/steps/s1/outputs");
  const auto whole = Ask("GET", cut["url"]);
  ASSERT_EQ(whole.status, 200);
  EXPECT_EQ(whole.body["text"], std::string(100'000, 'b'));
  EXPECT_EQ(view.body["inputs"]["truncated"], true);
  EXPECT_EQ(Ask("GET", view.body["inputs"]["url"]).body["big"], std::string(200'000, 'i'));
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + id + "/steps/nobody/outputs").code(), "no-outputs");
}

TEST_F(LargeRuns, ManySmallOutputsAreCutTooOnceTheyAreMuchTogether) {
  const std::string id = Run(60, 60'000);
  const auto view = Ask("GET", "/v1/workflows/" + id);
  ASSERT_EQ(view.status, 200);
  EXPECT_LT(view.text.size(), limits::kViewOutputsBytes + 200'000);
  EXPECT_EQ(view.body["steps"][0]["outputs"]["text"].get<std::string>().size(), 60'000u);
  EXPECT_EQ(view.body["steps"][59]["outputs"]["truncated"], true);
}

TEST_F(LargeRuns, APageOfEventsEndsByItsBytes) {
  const std::string id = Run(12, 1'000'000);
  std::size_t events = 0, largest = 0;
  std::string next = "/v1/workflows/" + id + "/events?limit=1000";
  for (int pages = 0; !next.empty() && pages < 20; ++pages) {
    const auto page = Ask("GET", next);
    ASSERT_EQ(page.status, 200);
    events += page.body["events"].size();
    largest = std::max(largest, page.text.size());
    next.clear();
    if (page.body.contains("next_after_seq"))
      next = "/v1/workflows/" + id + "/events?limit=1000&after_seq=" + std::to_string(page.body["next_after_seq"].get<std::int64_t>());
  }
  EXPECT_EQ(events, std::size_t(Ask("GET", "/v1/workflows/" + id).body["head_seq"].get<std::int64_t>()));
  EXPECT_LT(largest, limits::kPageBytes + 1'100'000);
}

// What is stored may be deeper than what is taken from outside: an accepted value with what stands around it.
TEST_F(LargeRuns, WhatIsStoredIsReadHoweverDeepItIs) {
  Json deep = 1;
  for (int i = 0; i < 63; ++i) deep = Json::array({std::move(deep)});
  const std::string id = Run(1, 10, Json::object(), {{"deep", deep}});
  const auto step = Ask("GET", "/v1/workflows/" + id + "/steps/s0");
  ASSERT_EQ(step.status, 200) << step.text;
  ASSERT_EQ(step.body["history"].size(), 1u) << step.text;
  EXPECT_EQ(step.body["history"][0]["event_type"], "step.completed");
  for (const Json& event : Ask("GET", "/v1/workflows/" + id + "/events").body["events"])
    EXPECT_TRUE(event["payload"].is_object()) << event["event_type"];
}

// Whoever is alone may take what it needs; beside others only what is left.
TEST(AnswerBudget, IsSharedButNeverKeepsOutWhoIsAlone) {
  auto budget = std::make_shared<AnswerBudget>(100);
  {
    AnswerBudget::Part large(budget);
    EXPECT_TRUE(large.Take(150));
    AnswerBudget::Part other(budget);
    EXPECT_EQ(other.Take(1).code(), Code::kUnavailable);
  }
  EXPECT_EQ(budget->used(), 0u);
  AnswerBudget::Part one(budget), two(budget);
  EXPECT_TRUE(one.Take(60));
  EXPECT_TRUE(two.Take(40));
  EXPECT_FALSE(two.Take(1).ok());
  EXPECT_EQ(budget->used(), 100u);
}

// One that is alone goes beyond the bound: small ones are made all the same, and what was folded into a state is given back.
TEST(AnswerBudget, SmallPartsAreNotCounted) {
  auto budget = std::make_shared<AnswerBudget>(100, 10);
  AnswerBudget::Part large(budget), small(budget), other(budget);
  EXPECT_TRUE(small.Take(10));
  EXPECT_TRUE(large.Take(150)) << "small ones do not make it less alone";
  EXPECT_TRUE(other.Take(10));
  EXPECT_EQ(other.Take(1).code(), Code::kUnavailable);
  EXPECT_EQ(budget->used(), 150u);
  large.Keep(60);
  EXPECT_TRUE(other.Take(1));
  EXPECT_EQ(budget->used(), 71u) << "the whole of what is large";
  large.Keep(10);
  EXPECT_EQ(budget->used(), 11u);
  other.Keep(0);
  EXPECT_EQ(budget->used(), 0u);
}

TEST_F(LargeRuns, ReadersBesideALargeOneAreToldToTryAgain) {
  const std::string id = Run(3, 1'000'000), small = Submit();
  AnswerBudget::Part held(api_->answers);
  ASSERT_TRUE(held.Take(limits::kAnswersBytes));
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + id).status, 503);
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + id + "/events").status, 503);
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + id + "/steps/s1").status, 503);
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + small).status, 200);
}

// Takes what it is sent once it was asked three times whether it has.
class SlowStream final : public HttpStream {
 public:
  Wrote Write(std::string_view bytes) override {
    std::lock_guard lock(mutex_);
    if (ended_) return Wrote::kClosed;
    if (waiting_ > 0 && waiting_ + bytes.size() > kMaxBuffered) {
      Asked();
      return Wrote::kFull;
    }
    waiting_ += bytes.size();
    return Wrote::kOk;
  }
  std::size_t waiting() const override {
    std::lock_guard lock(mutex_);
    const std::size_t now = waiting_;
    Asked();
    return now;
  }
  void End() override {
    std::lock_guard lock(mutex_);
    ended_ = true;
  }
  bool closed() const override { return false; }
  bool ended() const {
    std::lock_guard lock(mutex_);
    return ended_;
  }

 private:
  void Asked() const {
    if (waiting_ == 0 || ++asked_ % 3 != 0) return;
    waiting_ = 0;
  }

  mutable std::mutex mutex_;
  mutable std::size_t waiting_ = 0;
  mutable int asked_ = 0;
  bool ended_ = false;
};

class CountingQueries final : public MemoryQueries {
 public:
  using MemoryQueries::MemoryQueries;
  Result<std::vector<Event>> Events(const SubjectId& subject, std::int64_t after, int limit, std::size_t most_bytes) override {
    auto page = MemoryQueries::Events(subject, after, limit, most_bytes);
    for (const Event& event : *page) read += event.payload ? event.payload->size() : 0;
    return page;
  }
  std::atomic<std::size_t> read{0};
};

// What is read for a slow reader is what it takes, whatever lies behind that: what is read again costs the others their turns.
TEST_F(LargeRuns, ASlowReaderOfEventsIsReadForOnce) {
  const std::string id = Run(12, 900'000);
  Close(id);
  CountingQueries queries(store_, clock_);
  const SystemClock clock;
  EventFeed feed(queries, clock, {.busy = milliseconds(1), .idle = milliseconds(5)});
  ASSERT_TRUE(feed.Start());
  auto stream = std::make_shared<SlowStream>();
  ASSERT_TRUE(feed.Reserve());
  feed.Follow(*SubjectId::Parse(id), 0, stream);
  while (!stream->ended()) std::this_thread::yield();
  EXPECT_LT(queries.read, std::size_t(13 * 2 * 900'000));
}

// A body that would become very much waits for others like it; one that is alone is handled, and small ones always.
TEST_F(LargeRuns, BodiesOfManyValuesShareABudget) {
  std::string values = "[]";
  for (int i = 0; i < 100'000; ++i) values += ",[]";
  const std::string body = R"({"workflow": )" + Json(kYaml).dump() + R"(, "inputs": {"a": [)" + values + "]}}";
  const HttpHeaders json = {{"content-type", "application/json"}};
  EXPECT_EQ(Ask("POST", "/v1/workflows", body, json).status, 201);
  AnswerBudget::Part held(api_->requests);
  ASSERT_TRUE(held.Take(limits::kRequestsBytes));
  for (const char* route : {"/v1/workflows", "/v1/validate", "/v1/schedules", "/v1/workflows/batch"}) {
    const auto refused = Ask("POST", route, body, json);
    EXPECT_EQ(refused.status, 503) << route;
    EXPECT_EQ(refused.Header("Retry-After"), "1") << route;
  }
  Submit();
  // Folders that it need not name, and a workflow of many steps, are not seen by its values.
  std::string path = "0";
  for (int names = 1; names < 200; ++names) path += "/d";
  std::string files;
  for (int i = 0; i < 20; ++i) files += (i == 0 ? "" : ",") + (R"({"path": ")" + path) + R"("})";
  EXPECT_EQ(Ask("POST", "/v1/workflows", R"({"workflow": "x", "files": [)" + files + "]}", json).status, 503);
  EXPECT_EQ(Ask("POST", "/v1/validate", std::string(100'000, '#'), {{"content-type", "application/yaml"}}).status, 503);
}

// A run of a million values costs what it costs once, not once for each who looks at it.
TEST_F(LargeRuns, ReadersOfManyValuesShareABudget) {
  std::string values = "[]";
  for (int i = 0; i < 400'000; ++i) values += ",[]";
  const auto made = Ask("POST", "/v1/workflows", R"({"workflow": )" + Json(kYaml).dump() + R"(, "inputs": {"a": [)" + values + "]}}",
                        {{"content-type", "application/json"}});
  ASSERT_EQ(made.status, 201) << made.text;
  const std::string run = "/v1/workflows/" + made.body["id"].get<std::string>();
  const std::string small = "/v1/workflows/" + Submit();
  EXPECT_EQ(Ask("GET", run).status, 200);
  AnswerBudget::Part held(api_->answers);
  ASSERT_TRUE(held.Take(limits::kAnswersBytes - 60'000'000));
  EXPECT_EQ(Ask("GET", run).status, 503) << "its text is short, what it makes is not";
  EXPECT_EQ(Ask("GET", small).status, 200);
}

}  // namespace
}  // namespace acl::coordinator
