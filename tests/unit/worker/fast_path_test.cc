// Where a run takes a fast path, and where the long way is left to say what follows. That both say the same is held by LeasedSubject
// itself, in every build with assertions, at every fast path that any test takes: here that it is, and that the journal which comes of it
// replays.

#include <gtest/gtest.h>

#include "shared/capability/standard.h"
#include "shared/definition/loader.h"
#include "shared/workflow/create_run.h"
#include "shared/workflow/workflow_kind.h"
#include "tests/support/watched_kind.h"
#include "worker/leased_subject.h"

namespace acl {
namespace {

Json Text(std::string_view text) { return ParseJson(text).value(); }

WallTime FastPathTime(int micros) { return WallTime(std::chrono::microseconds(1'750'000'000'000'000 + micros)); }

StepResult Succeeds(Json outputs) {
  StepResult result;
  result.outputs = std::move(outputs);
  return result;
}

class FastPathTest : public testing::Test {
 protected:
  FastPathTest() {
    RegisterStandardCapabilities(*registry_, {});
    kind_ = std::make_unique<test::WatchedKind>(workflow::MakeWorkflowKind(registry_));
  }

  // A run of these steps (YAML, a list), driven to its end. What the attempts of a step answer comes from `answer`, else {"text": "x"}.
  void Run(const std::string& steps) {
    const std::string text = "name: fast paths\nversion: '1.0.0'\n" + steps;
    Loaded loaded = LoadWorkflow(text, *registry_, {});
    ASSERT_TRUE(loaded.ok()) << text << (loaded.findings.empty() ? "" : loaded.findings.front().message);
    loaded.definition->strict_templates = strict_;
    workflow::CreateRequest request;
    request.subject.uuid.bytes[0] = 1;
    request.definition_text = text;
    request.submitter = "test";
    request.inputs = Json{{"given", 7}};
    auto created = workflow::MakeCreateItem(*kind_, *loaded.definition, std::move(request), nullptr);
    ASSERT_TRUE(created.ok()) << created.message();
    Event& first = created->events.front();
    first.timestamp = FastPathTime(0);
    first.token = {1};
    first.chain = ChainNext(ChainStart(created->subject), first);
    events_ = created->events;
    Hold(2);
  }

  // Claimed under this token with what is in the journal, and driven until it closes or `until_` steps have begun.
  void Hold(std::int64_t token) {
    Claimed claimed;
    claimed.subject = events_.front().subject;
    claimed.kind = "workflow";
    claimed.queue = "default";
    claimed.token = {token};
    auto restored = Restore(claimed.subject, std::nullopt, events_, nullptr);
    ASSERT_TRUE(restored.ok()) << restored.message();
    claimed.head = {events_.back().seq, events_.back().chain, restored->state.Root(), {}, events_.back().timestamp};
    claimed.events = events_;
    claimed.attempts = std::exchange(open_, {});
    claimed.db_now = FastPathTime(micros_);
    LeasedSubject run(claimed, *restored, *kind_, WorkerSessionId{}, limits_);
    BuildContext context;
    context.free_slots = 64;
    std::map<std::string, int> attempts;
    for (int turns = 0; turns < 2'000; ++turns) {
      context.now = FastPathTime(micros_ += 100);
      auto built = run.BuildItem(context);
      if (!built.ok()) {
        refused_ = built.message();
        return;
      }
      ASSERT_TRUE(built->has_value());
      if ((**built).disposition != Disposition::kKeep && moved_-- > 0) {
        ASSERT_EQ(run.OnOutcome({CommitOutcome::Kind::kMoved, 1, {}}), LeasedSubject::After::kGoOn);
        run.OnInbox({{}, 1});
        continue;
      }
      for (const Event& event : (**built).events) events_.push_back(event);
      const bool closes = (**built).disposition == Disposition::kClose;
      const bool ready = (**built).requeue;
      if (run.OnOutcome({CommitOutcome::Kind::kCommitted, 0, {}}) == LeasedSubject::After::kGone || closes) {
        if (ready) return Hold(token + 1);
        break;
      }
      std::vector<StepCall> calls = run.TakeStarts();
      begun_ += int(calls.size());
      if (begun_ >= until_) {
        for (const StepCall& call : calls) open_.push_back({call.step.step_id, call.attempt_id, run.token(), FastPathTime(micros_)});
        return;
      }
      for (StepCall& call : calls) {
        if (call.step.step_id == signalled_) {
          run.OnInbox({{InboxRow{InboxId{call.subject.uuid}, "signal", R"({"name":"n"})", FastPathTime(micros_)}}, 1});
        }
        const auto given = answers.find({call.step.step_id, call.attempt_id});
        run.OnStepDone(call.step.step_id, call.attempt_id, given == answers.end() ? Succeeds(Json{{"text", "x"}}) : given->second);
      }
      run.TakeRecorded();
    }
    auto replayed = Restore(claimed.subject, std::nullopt, events_, nullptr);
    ASSERT_TRUE(replayed.ok()) << replayed.message();
    EXPECT_EQ(replayed->state.Root(), run.state().Root());
    EXPECT_EQ(DumpJson(replayed->state.ToJson()), DumpJson(run.state().ToJson()));
    EXPECT_EQ((*run.state().Find("run"))["status"], "COMPLETED");
  }

  void TearDown() override { EXPECT_EQ(refused_.empty(), !may_refuse_) << refused_; }

  std::vector<std::string> FastPaths() const { return kind_->fast_paths; }

  std::shared_ptr<CapabilityRegistry> registry_ = std::make_shared<CapabilityRegistry>();
  std::unique_ptr<test::WatchedKind> kind_;
  std::map<std::pair<std::string, int>, StepResult> answers;  // by step id and attempt
  std::vector<Event> events_;
  std::vector<AttemptRow> open_;  // attempts of whoever held it last
  SubjectLimits limits_;
  int micros_ = 10, begun_ = 0, until_ = 1'000;
  int moved_ = 0;          // items that close or give back, and find that something came in beside them
  std::string signalled_;  // this step is answered together with a signal
  bool strict_ = false, may_refuse_ = false;
  std::string refused_;  // why an item could not be built
};

using Names = std::vector<std::string>;

std::string Chain(int steps) {
  std::string text = "steps:\n";
  for (int i = 0; i < steps; ++i) text += "  - {name: s" + std::to_string(i) + ", capability: test.effect, inputs: {size: 1}}\n";
  return text;
}

constexpr const char* kFork = R"(steps:
  - {name: a, capability: test.effect, inputs: {size: 1}}
  - {name: b, capability: test.effect, inputs: {size: 1}, depends_on: [a]}
  - {name: c, capability: test.effect, inputs: {size: 1}, depends_on: [a]}
  - {name: d, capability: test.effect, inputs: {size: 1}, depends_on: [b, c]}
  - {name: e, capability: test.effect, inputs: {size: 1}}
)";

TEST_F(FastPathTest, IsAllOfAChain) {
  Run(Chain(4));
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "s0", "s1", "s2", "s3"}));
}

// The set of steps that are ready has a word for each 32, and words above words.
TEST_F(FastPathTest, GoesOnPastAWordOfSteps) {
  std::size_t fast_paths = 0;
  for (const int steps : {31, 32, 33, 70, 1'030}) {
    until_ = 2'000, begun_ = 0;
    Run(Chain(steps));
    fast_paths += std::size_t(steps) + 1;
    EXPECT_EQ(FastPaths().size(), fast_paths);
  }
}

TEST_F(FastPathTest, TakesStepsInTheOrderOfThePlan) {
  Run(R"(steps:
  - {name: z, capability: test.effect, inputs: {size: 1}, depends_on: [y]}
  - {name: y, capability: test.effect, inputs: {size: 1}}
  - {name: x, capability: test.effect, inputs: {size: 1}, depends_on: [z]}
)");
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "y", "z", "x"}));
}

// Something came in beside the close: nothing of it landed, and the same input is decided on again.
TEST_F(FastPathTest, ClosesAgainIfSomethingCameIn) {
  moved_ = 1;
  Run(Chain(2));
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "s0", "s1", "s1"}));
}

// What the last fast path knew is of another state then.
TEST_F(FastPathTest, GoesOnAfterASignal) {
  signalled_ = "s1";
  Run(Chain(5));
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "s0", "s2", "s3", "s4"}));
}

TEST_F(FastPathTest, EndsWithOutputsThatAreTooLargeForTheLastEvent) {
  answers[{"s1", 1}] = Succeeds(Json{{"text", std::string(70'000, 'x')}});
  Run(Chain(2));
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "s0", "s1"}));
}

// The first one has nothing to stand on but the state as it was restored.
TEST_F(FastPathTest, GoesOnAfterATakeover) {
  until_ = 4;
  Run(Chain(8));
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "s0", "s1", "s2"}));
  until_ = 1'000;
  Hold(3);  // s3 ran when its worker died: lost, and begun again; its record counts that, which is more than a fast path says
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "s0", "s1", "s2", "s4", "s5", "s6", "s7"}));
}

TEST_F(FastPathTest, EndsAfterATakeover) {
  until_ = 2;
  Run(Chain(2));
  until_ = 1'000;
  Hold(3);
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "s0"})) << "the record of s1 counts its lost attempt";
}

// Each step goes through the queue: it completes under one lease and the next one begins under another.
TEST_F(FastPathTest, IsAllOfAChainThatIsReleasedAfterEachStep) {
  limits_.go_on = false;
  Run(Chain(4));
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "s0", "(goes on)", "s1", "(goes on)", "s2", "(goes on)", "s3"}));
}

// The same where the lease was to be released: the step is heard of again, in many words.
TEST_F(FastPathTest, GivesBackAgainIfSomethingCameIn) {
  limits_.go_on = false;
  moved_ = 2;
  Run(Chain(2));
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "s0", "(goes on)", "s1"}));
}

TEST_F(FastPathTest, OfRunsThatAreReleasedGivesTemplatesWhatTheyAskFor) {
  limits_.go_on = false;
  answers[{"a", 1}] = Succeeds(Text(R"({"text":"hello","count":3,"bee":1})"));
  answers[{"b", 1}] = Succeeds(Text(R"({"count":4})"));
  Run(R"(max_execution_time: 1h
lenient_templates: true
steps:
  - {name: a, capability: test.effect, inputs: {size: 1}}
  - {name: b, capability: test.effect, inputs: {size: 1, z: '{{a.text}} of {{given}}', n: '{{count}}'}}
  - {name: c, capability: test.effect, inputs: {size: 1, n: '{{count}} {{bee}} {{nobody.says}}'}}
  - {name: d, capability: test.effect, inputs: {size: 1, n: '{{count}}'}}
)");
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "a", "(goes on)", "b", "(goes on)", "d"})) << "c has a note of what its template did not find";
}

TEST_F(FastPathTest, OfRunsThatAreReleasedIsNotTakenBesideOtherSteps) {
  limits_.go_on = false;
  Run(kFork);
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "(goes on)", "e"})) << "d has a record from before: it counts what it waits for";
}

TEST_F(FastPathTest, GivesTemplatesWhatTheyAskFor) {
  answers[{"a", 1}] = Succeeds(Text(R"({"text":"hello","count":3,"deep":{"b":[1,{"c":"d"}]},"other":1})"));
  answers[{"c", 1}] = Succeeds(Text(R"({"count":4})"));
  Run(R"(steps:
  - {name: a, capability: test.effect, inputs: {size: 1}}
  - {name: b, capability: test.effect, inputs: {size: 1, z: '{{a.text}} of {{given}}', n: '{{count}}', a: '{{deep.b}}'}}
  - {name: c, capability: test.effect, inputs: {size: 1, n: '{{count}} {{workflow_id}}'}}
  - {name: d, capability: test.effect, inputs: {size: 1, n: '{{count}}'}}
)");
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "a", "b", "c", "d"}));
}

TEST_F(FastPathTest, IsNotTakenWhereATemplateHasNoAnswer) {
  Run(R"(lenient_templates: true
steps:
  - {name: a, capability: test.effect, inputs: {size: 1}}
  - {name: b, capability: test.effect, inputs: {size: 1, n: '{{nobody.says}}'}}
  - {name: c, capability: test.effect, inputs: {size: 1}}
  - {name: d, capability: test.effect, inputs: {size: 1}}
)");
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "c", "d"}));
}

TEST_F(FastPathTest, IsNotTakenWhereAStrictTemplateHasNoAnswer) {
  strict_ = true;
  answers[{"a", 1}] = Succeeds(Text(R"({"there":1})"));
  Run(R"(steps:
  - {name: a, capability: test.effect, inputs: {size: 1}}
  - {name: b, capability: test.effect, inputs: {size: 1, n: '{{there}}'}}
  - {name: c, capability: test.effect, inputs: {size: 1, n: '{{there}}'}}
)");
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "a", "b", "c"}));
}

// A record that is too deep to be stored is refused, as the long way does: else the journal could not be read.
TEST_F(FastPathTest, LeavesWhatIsTooDeepToBeRefused) {
  const auto nested = [](int levels, const std::string& inmost) {
    std::string text;
    for (int i = 0; i < levels; ++i) text += "{a: ";
    return text + inmost + std::string(std::size_t(levels), '}');
  };
  std::string deep = "1";
  for (int i = 0; i < 58; ++i) deep = R"({"a":)" + deep + "}";
  answers[{"a", 1}] = Succeeds(Text(deep));
  may_refuse_ = true;
  Run("steps:\n  - {name: a, capability: test.effect, inputs: {size: 1}}\n  - {name: b, capability: test.effect, inputs: {size: 1, n: " +
      nested(40, "'{{a}}'") + "}}\n");
  EXPECT_EQ(FastPaths(), Names{"(begins)"});
  EXPECT_NE(refused_.find("does not apply"), std::string::npos) << refused_;
}

// A name that no variable had when it was asked for may be one later.
TEST_F(FastPathTest, SeesVariablesThatCameSince) {
  answers[{"a", 1}] = Succeeds(Text(R"({"bee":1,"inputs":2,"":3})"));
  answers[{"c", 1}] = Succeeds(Text(R"({"bee":4,"dee":5})"));
  answers[{"d", 1}] = Succeeds(Text(R"({"bee":6,"aye":7})"));
  Run(R"(steps:
  - {name: a, capability: test.effect, inputs: {size: 1}}
  - {name: b, capability: test.effect, inputs: {size: 1, n: '{{inputs}}'}}
  - {name: c, capability: test.effect, inputs: {size: 1}}
  - {name: d, capability: test.effect, inputs: {size: 1}}
  - {name: e, capability: test.effect, inputs: {size: 1, n: '{{bee}} {{d.bee}}'}}
)");
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "a", "b", "c", "d", "e"}));
}

// Names that are asked for are remembered, but not so many that looking through them is the work.
TEST_F(FastPathTest, TakesManyOutputs) {
  Json wide = Json::object();
  for (int i = 0; i < 5'000; ++i) wide.get_ref<Json::object_t&>().emplace_back("k" + std::to_string(i), i);
  for (const char* step : {"s0", "s1", "s2"}) answers[{step, 1}] = Succeeds(wide);
  Run(Chain(3));
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "s0", "s1", "s2"}));
}

TEST_F(FastPathTest, TakesOutputsAndNamesAsTheyAre) {
  answers[{"s0", 1}] = Succeeds(Text(R"({"z":1.5,"a":[1,-0.0,1e300,null,true],"":"\u0001\"\\/ü","b/~c":{"y":1,"x":{"2":1,"10":2}}})"));
  answers[{"s1", 1}] = Succeeds(Json::object());
  answers[{"s2", 1}] = Succeeds(Text(R"({"n":9007199254740993,"text":18446744073709551615})"));
  Run(Chain(4));
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "s0", "s1", "s2", "s3"}));
}

TEST_F(FastPathTest, SaysTheNameOfAStepWhereItsIdIsAnother) {
  Run(R"(steps:
  - {name: 'a: "b" ~ ü', capability: test.effect, inputs: {size: 1}}
  - {name: 'c%d', capability: test.effect, inputs: {size: 1}}
  - {name: e, capability: test.effect, inputs: {size: 1}}
)");
  EXPECT_EQ(FastPaths().size(), 4u);
}

TEST_F(FastPathTest, LeavesWhatIsNotAsUsualToTheLongWay) {
  // An output with the step's own name, one with another's, a failure, a success that is none.
  StepResult fails;
  fails.outcome = StepResult::Outcome::kFailed;
  fails.error = "no";
  answers[{"s0", 1}] = Succeeds(Text(R"({"s0":1})"));
  answers[{"s1", 1}] = Succeeds(Text(R"({"given":8,"s0":2})"));
  answers[{"s2", 1}] = fails;
  answers[{"s3", 1}] = Succeeds(Text(R"({"success":false})"));
  answers[{"s4", 1}] = Succeeds(Text(R"({"success":true})"));
  Run(R"(steps:
  - {name: s0, capability: test.effect, inputs: {size: 1}}
  - {name: s1, capability: test.effect, inputs: {size: 1}}
  - {name: s2, capability: test.effect, inputs: {size: 1}, max_retries: 2, retry: {initial_delay: 0s}}
  - {name: s3, capability: test.effect, inputs: {size: 1}, max_retries: 2, retry: {initial_delay: 0s}}
  - {name: s4, capability: test.effect, inputs: {size: 1}}
  - {name: s5, capability: test.effect, inputs: {size: 1}}
)");
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "s4", "s5"}));
}

TEST_F(FastPathTest, AnOutputThatIsAVariableAlreadyIsPutBesideTheStep) {
  answers[{"s1", 1}] = Succeeds(Text(R"({"given":8})"));
  Run(Chain(3));
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "s0", "s1", "s2"}));
}

TEST_F(FastPathTest, IsNotTakenBesideOtherSteps) {
  Run(kFork);
  EXPECT_EQ(FastPaths(), (Names{"(begins)", "e"}));
}

// A fast path that says another thing than the long way does not pass.
using FastPathDeathTest = FastPathTest;

TEST_F(FastPathDeathTest, ThatSaysAnotherThingIsNoticed) {
#ifdef NDEBUG
  GTEST_SKIP() << "this build has no assertions";
#endif
  const std::pair<const char*, std::function<void(FastPathResult&)>> spoilt[] = {
      {"a fast path's event", [](FastPathResult& fast_path) { fast_path.events.back().payload->back() = ' '; }},
      {"a fast path's event", [](FastPathResult& fast_path) { fast_path.events.front().checksum[0] ^= 1; }},
      {"the state after a fast path", [](FastPathResult& fast_path) { fast_path.next_state.Remove("progress"); }},
      {"a fast path's rows",
       [](FastPathResult& fast_path) { fast_path.completion ? void(fast_path.completion->result_checksum[0] ^= 1) : void(); }},
      {"what a fast path begins",
       [](FastPathResult& fast_path) { fast_path.start ? void(fast_path.start->timeout += milliseconds(1)) : void(); }},
      {"a fast path's timers",
       [](FastPathResult& fast_path) { fast_path.timer_set ? void(fast_path.timer_set->fire_at += milliseconds(1)) : void(); }},
      {"a fast path's timers", [](FastPathResult& fast_path) { fast_path.timer_cleared.reset(); }},
      {"what a fast path lists",
       [](FastPathResult& fast_path) { fast_path.listing ? void(fast_path.listing->status = "FAILED") : void(); }},
      {"where a fast path ends", [](FastPathResult& fast_path) { fast_path.closed = false; }},
  };
  for (const auto& [says, spoil] : spoilt) {
    kind_->spoil = spoil;
    EXPECT_DEATH(Run(Chain(3)), says);
  }
}

}  // namespace
}  // namespace acl
