// A run's trace as a collector gets it: whole, each span once, whoever ran the run.
#include "worker/trace_observer.h"

#include <gmock/gmock.h>

#include "tests/support/small_server.h"
#include "tests/unit/worker/core_bench.h"

namespace acl::test {
namespace {

const TraceContext kCaller{"0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", true};

// What a collector was sent.
struct Sent {
  nlohmann::json span;
  std::string Text(const char* key) const { return span.value(key, ""); }
  std::string Attribute(const std::string& name) const {
    for (const auto& attribute : span.at("attributes")) {
      if (attribute["key"] == name) {
        const auto& value = attribute["value"];
        return value.contains("boolValue") ? value["boolValue"].dump() : value.begin()->get<std::string>();
      }
    }
    return "";
  }
  std::vector<std::string> Events() const {
    std::vector<std::string> names;
    for (const auto& event : span.value("events", nlohmann::json::array())) names.push_back(event["name"]);
    return names;
  }
  std::vector<std::string> Links() const {
    std::vector<std::string> ids;
    for (const auto& link : span.value("links", nlohmann::json::array())) ids.push_back(link["spanId"]);
    return ids;
  }
};

class TraceObserverTest : public CoreBench {
 protected:
  TraceObserverTest() { counter->trace = {kCaller, "counting"}; }

  Tracer MakeTracer(const std::string& sampler = "") {
    return Tracer(ReadOtelConfig({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", collector_.Url()}, {"OTEL_TRACES_SAMPLER", sampler}}, "test"), {},
                  system_clock_, nullptr);
  }
  // Another worker, as a new process would be: it knows nothing of the one before.
  void StartWorker(const std::string& name) {
    config.session.worker_name = name;
    observers_.push_back(std::make_unique<TraceObserver>(tracer_, clock, name));
    core = std::make_unique<WorkerCore>(config, kinds, random, observers_.back().get());
    core->Start(clock.Steady());
    Settle();
    ASSERT_TRUE(core->live());
  }
  // kill -9: nothing more is heard of it, and its session ends.
  void KillWorker() {
    core.reset();
    steps.clear();
    Advance(kTtl + milliseconds(1));
    ASSERT_EQ(memory.Reap(10)->leases_freed, 1);
  }
  std::vector<Sent> Collected() {
    tracer_.Stop(milliseconds(30'000));
    std::vector<Sent> all;
    for (const std::string& request : collector_.requests()) {
      const auto body = nlohmann::json::parse(request.substr(request.find("\r\n\r\n") + 4));
      for (const auto& span : body["resourceSpans"][0]["scopeSpans"][0]["spans"]) all.push_back({span});
    }
    return all;
  }
  // One trace, each span id once, each parent there but the caller's.
  static void ExpectWhole(const std::vector<Sent>& all) {
    std::set<std::string> ids{kCaller.span_id};
    for (const Sent& sent : all) EXPECT_TRUE(ids.insert(sent.Text("spanId")).second) << sent.span.dump(1);
    for (const Sent& sent : all) {
      EXPECT_EQ(sent.Text("traceId"), kCaller.trace_id);
      EXPECT_TRUE(ids.contains(sent.Text("parentSpanId"))) << "an orphan: " << sent.span.dump(1);
    }
  }
  static std::vector<Sent> Named(const std::vector<Sent>& all, const std::string& start) {
    std::vector<Sent> found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found), [&](const Sent& sent) { return sent.Text("name").starts_with(start); });
    return found;
  }

  SystemClock system_clock_;
  SmallServer collector_{[](const std::string&) { return SmallServer::Answer("200 OK", "{}"); }};
  Tracer tracer_ = MakeTracer();
  std::vector<std::unique_ptr<TraceObserver>> observers_;
};

TEST_F(TraceObserverTest, ATakeoverGoesOnWithTheSameTrace) {
  const SubjectId subject = Create({.steps = 2, .effects = "i"});
  StartWorker("w1");
  Settle();
  EndStep();
  Settle();
  ASSERT_EQ(steps.size(), 1u) << "the second step runs";
  const Token first = steps[0].call.token;
  KillWorker();
  StartWorker("w2");
  Live(milliseconds(500));
  ASSERT_EQ(steps.size(), 1u);
  const Token second = steps[0].call.token;
  EndStep();
  Settle();
  const auto all = Collected();
  ExpectWhole(all);

  const auto runs = Named(all, "workflow ");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].Text("name"), "workflow counting");
  EXPECT_EQ(runs[0].Text("spanId"), RunSpanId(subject));
  EXPECT_EQ(runs[0].Text("parentSpanId"), kCaller.span_id);
  const auto steps_told = Named(all, "step ");
  ASSERT_EQ(steps_told.size(), 2u);
  EXPECT_EQ(steps_told[0].Attribute("acl.worker"), "w1");
  EXPECT_EQ(steps_told[1].Attribute("acl.worker"), "w2");
  EXPECT_EQ(steps_told[1].Attribute("acl.attempts"), "2");

  const auto attempts = Named(all, "attempt");
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts[0].Attribute("acl.outcome"), "succeeded");
  const Sent &lost = attempts[1], &again = attempts[2];
  EXPECT_EQ(lost.Attribute("acl.outcome"), "lost");
  EXPECT_EQ(lost.Attribute("acl.reported_by"), "w2");
  EXPECT_EQ(lost.Attribute("acl.token"), std::to_string(first.value));
  EXPECT_EQ(lost.Text("spanId"), AttemptSpanId(subject, "step1", 1, first)) << "as the killed worker handed it out";
  EXPECT_THAT(lost.Links(), ::testing::ElementsAre(ClaimSpanId(subject, first)));
  EXPECT_EQ(again.Attribute("acl.outcome"), "succeeded");
  EXPECT_EQ(again.Attribute("acl.token"), std::to_string(second.value));
  EXPECT_THAT(again.Links(), ::testing::ElementsAre(lost.Text("spanId")));
  EXPECT_THAT(again.Events(), ::testing::ElementsAre("acl.takeover"));

  const auto claims = Named(all, "claim");
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_TRUE(claims[0].Events().empty());
  EXPECT_THAT(claims[1].Events(), ::testing::ElementsAre("acl.takeover"));
  EXPECT_THAT(claims[1].Links(), ::testing::ElementsAre(claims[0].Text("spanId")));
  for (const Sent& commit : Named(all, "commit")) EXPECT_EQ(commit.Attribute("db.operation.batch.size"), "1");
}

TEST_F(TraceObserverTest, ATakeoverWhoseTakerDiesTooIsToldOnce) {
  Create({.steps = 1, .effects = "i"});
  StartWorker("w1");
  Settle();
  ASSERT_EQ(steps.size(), 1u);
  KillWorker();
  store.FailNext("Commit", FaultyStore::Fault::kUnavailable);  // the one that says that the attempt was lost
  StartWorker("w2");
  KillWorker();
  StartWorker("w3");
  Live(5 * kTtl);  // two workers died with it: it is given to a worker that has lived for a while
  ASSERT_EQ(steps.size(), 1u);
  EndStep();
  Settle();
  const auto all = Collected();
  ExpectWhole(all);
  EXPECT_EQ(Named(all, "attempt").size(), 2u);
}

TEST_F(TraceObserverTest, ARetryLinksToTheAttemptBefore) {
  const SubjectId subject = Create({.steps = 1, .effects = "n"});
  StartWorker("w1");
  Settle();
  EndStep(StepResult::Outcome::kFailed);
  Live(milliseconds(2'000));
  ASSERT_EQ(steps.size(), 1u);
  EndStep();
  Settle();
  const auto all = Collected();
  ExpectWhole(all);
  const auto attempts = Named(all, "attempt");
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].Attribute("error.type"), "failed");
  EXPECT_THAT(attempts[1].Links(), ::testing::ElementsAre(attempts[0].Text("spanId")));
  EXPECT_THAT(attempts[1].Events(), ::testing::ElementsAre("acl.retry"));
  EXPECT_EQ(attempts[1].Text("parentSpanId"), StepSpanId(subject, "step0"));
}

// A collector is for more eyes than the journal: how something ended is in its span, not what it was given and answered.
TEST_F(TraceObserverTest, ValuesOfARunAreInNoSpan) {
  const std::string secret = "card 4111-1111";
  const SubjectId subject = Create({.steps = 1, .effects = "n"});
  StartWorker("w1");
  Settle();
  const Token token = steps.at(0).call.token;
  EndStep(StepResult::Outcome::kFailed, "the service answered: " + secret);
  Live(milliseconds(2'000));
  EndStep(StepResult::Outcome::kTimedOut, "no answer of " + secret);
  CommitItem item;
  item.subject = subject;
  item.token = token;
  item.disposition = Disposition::kClose;
  item.listing = ListingChange{"FAILED", "step 's' failed: " + secret, {}, {}};
  CommitOutcome rejected;
  rejected.kind = CommitOutcome::Kind::kRejected;
  rejected.error = "Failing row contains (" + secret + ")";
  observers_.back()->OnOutcome(item, rejected);
  observers_.back()->OnLetGo(item);
  const auto all = Collected();
  for (const Sent& sent : all) EXPECT_EQ(sent.span.dump().find(secret), std::string::npos) << sent.span.dump(1);
  const auto runs = Named(all, "workflow");
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].span["status"]["message"], "step_failed");
  ASSERT_FALSE(Named(all, "attempt").empty());
  EXPECT_EQ(Named(all, "attempt")[0].span["status"]["message"], "failed");
}

TEST_F(TraceObserverTest, WhatLeavesNoRowIsToldByTheWorkerThatLostIt) {
  Create({.steps = 1, .effects = "p"});
  StartWorker("w1");
  Settle();
  ASSERT_EQ(steps.size(), 1u);
  store.SetDown(true);  // it freezes out of reach, and is no more
  Live(kTtl * 3);
  store.SetDown(false);
  ASSERT_EQ(memory.Reap(10)->leases_freed, 1);
  steps.clear();
  Live(milliseconds(4'000));
  ASSERT_EQ(steps.size(), 1u) << "claimed again";
  EndStep();
  Settle();
  const auto all = Collected();
  ExpectWhole(all);
  const auto attempts = Named(all, "attempt");
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].Attribute("acl.outcome"), "lost");
  EXPECT_EQ(attempts[1].Attribute("acl.outcome"), "succeeded");
}

TEST_F(TraceObserverTest, TellsNothingOfATraceThatIsNotSampled) {
  counter->trace.parent.sampled = false;
  Create({.steps = 2, .effects = "ip"});
  StartWorker("w1");
  Settle();
  while (!steps.empty()) {
    EndStep();
    Settle();
  }
  EXPECT_TRUE(Collected().empty());
}

TEST_F(TraceObserverTest, HandsOutTheAttemptsSpanOrTheCallers) {
  StepCall call;
  call.subject = SubjectId{ids.Make()};
  call.step.step_id = "a";
  call.attempt_id = 1;
  call.token = Token{7};
  EXPECT_EQ(OutgoingTraceparent(tracer_, call), "") << "of no trace";
  call.trace = kCaller;
  const std::string own = AttemptSpanId(call.subject, "a", 1, Token{7});
  EXPECT_EQ(OutgoingTraceparent(tracer_, call), "00-" + kCaller.trace_id + "-" + own + "-01");
  EXPECT_EQ(OutgoingTraceparent(Tracer(), call), FormatTraceparent(kCaller)) << "not recorded here: the next one hangs below the caller";
  Tracer unsampled = MakeTracer("always_off");
  EXPECT_EQ(OutgoingTraceparent(unsampled, call), "00-" + kCaller.trace_id + "-" + kCaller.span_id + "-00");
  call.trace.span_id.clear();
  EXPECT_EQ(OutgoingTraceparent(Tracer(), call), "00-" + kCaller.trace_id + "-" + own + "-00");
}

}  // namespace
}  // namespace acl::test
