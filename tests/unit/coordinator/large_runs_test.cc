// What runs with large outputs cost: views and pages are bounded by bytes, what is cut is named with its size and its address.
#include "coordinator/api/answer_budget.h"
#include "shared/kernel/fold.h"
#include "tests/unit/coordinator/api_fixture.h"

namespace acl::coordinator {
namespace {

class LargeRuns : public ApiFixture {
 protected:
  // A run of so many steps, each with outputs of so many bytes, as a worker would leave it.
  std::string Run(int steps, std::size_t bytes, const Json& inputs = Json::object()) {
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

TEST_F(LargeRuns, ReadersBesideALargeOneAreToldToTryAgain) {
  const std::string id = Run(3, 100'000);
  AnswerBudget::Part held(api_->answers);
  ASSERT_TRUE(held.Take(limits::kAnswersBytes));
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + id).status, 503);
  EXPECT_EQ(Ask("GET", "/v1/workflows/" + id + "/events").status, 503);
}

}  // namespace
}  // namespace acl::coordinator
