#include "tests/integration/chaos/healthy_fleet.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "shared/workflow/create_run.h"
#include "shared/workflow/workflow_kind.h"
#include "tests/support/script_capabilities.h"

namespace acl::test {
namespace {

StepDefinition Step(const std::string& name, const std::string& capability) {
  StepDefinition step;
  step.name = name;
  step.agent_name = "test";
  step.capability = capability;
  step.inputs = Json{{"text", name}};
  return step;
}

}  // namespace

HealthyFleet::HealthyFleet(const std::string& conninfo)
    : store_([&] {
        PgStoreOptions options;
        options.conninfo = conninfo;
        return options;
      }()),
      queries_(store_),
      queue_(store_),
      capabilities_(ScriptCapabilities()) {
  workflow_ = workflow::MakeWorkflowKind(capabilities_);
  kinds_.Add(workflow_);
  runner_.SetDefault([this](const StepCall& call) { return Answer(call); });
  history_.key_prefix = "healthy-";
}

StepResult HealthyFleet::Answer(const StepCall& call) {
  StepResult result;
  result.outputs = Json{{"said", std::string(3'000, 's')}};
  const std::scoped_lock lock(mutex_);
  if (call.step.effect != EffectClass::kPure) {
    ledger_.effects.push_back(Json{{"n", ledger_.effects.size()},
                                   {"key", call.step.idempotency_key},
                                   {"run", call.subject.ToString()},
                                   {"scope", call.scope},
                                   {"step", call.step.step_id},
                                   {"token", call.token.value},
                                   {"payload_hash", "p"},
                                   {"outcome", call.attempt_id == 1 ? "applied" : "deduped"}});
  }
  if (call.step.step_id == "retried" && call.attempt_id == 1) {
    result.outcome = StepResult::Outcome::kFailed;
    result.error = "not yet";
    result.retryable = true;
  }
  if (call.step.step_id == "doubtful") {
    result.outcome = StepResult::Outcome::kUnknown;
    result.error = "no answer";
  }
  return result;
}

void HealthyFleet::Operation(Json fields) {
  fields.update(Json{{"op", fmt::format("c1-{}", history_.operations.size())},
                     {"process", "c1"},
                     {"phase", history_.operations.size() < 4 ? "faults" : "healed"},
                     {"outcome", "ok"},
                     {"target", "api"},
                     {"try", 1},
                     {"at_ms", 1'000}});
  history_.operations.push_back(std::move(fields));
}

SubjectId HealthyFleet::Start(const std::string& key) {
  WorkflowDefinition definition;
  definition.name = key;
  definition.owner = "test";
  definition.steps = {Step("first", "sim.pure"),         Step("elsewhere", "sim.idempotent"), Step("pause", ""),
                      Step("retried", "sim.idempotent"), Step("doubtful", "sim.unkeyed"),     Step("last", "sim.idempotent")};
  definition.steps[1].queue = "other";
  definition.steps[2].type = StepType::kWait;
  definition.steps[2].inputs = Json::object();
  definition.steps[2].wait = WaitDefinition{false, Json("50ms")};
  definition.steps[3].retry.max_attempts = 3;
  definition.steps[3].retry.initial_delay = milliseconds(50);
  for (int i = 0; i < 14; ++i) definition.steps.push_back(Step(fmt::format("more{}", i), "sim.idempotent"));
  workflow::CreateRequest request;
  request.subject = SubjectId{NewUuid7()};
  request.submitter = "test";
  request.request_key = key;
  request.request_hash = Sha256(key);
  auto item = workflow::MakeCreateItem(*workflow_, definition, std::move(request));
  EXPECT_TRUE(item.ok()) << item.message();
  if (!item) return {};
  auto made = store_.Create(std::span(&*item, 1));
  EXPECT_TRUE(made.ok()) << made.message();
  runs_.push_back(item->subject);
  Operation({{"f", "start"},
             {"key", key},
             {"run", item->subject.ToString()},
             {"request_hash", key},
             {"response_hash", key},
             {"project", kDefaultProject.ToString()},
             {"saw", Json::array({item->subject.ToString()})}});
  return item->subject;
}

void HealthyFleet::Signal(const SubjectId& run, const std::string& mark) {
  auto posted = store_.Post({run, InboxId{NewUuid7()}, "signal", DumpJson(Json{{"name", "go"}, {"payload", {{"mark", mark}}}}), mark});
  EXPECT_TRUE(posted.ok()) << posted.message();
  Operation({{"f", "signal"}, {"run", run.ToString()}, {"mark", mark}});
}

void HealthyFleet::TakeAndDie() {
  SessionRequest request;
  request.worker_name = "dies";
  request.ttl = milliseconds(60'000);
  request.slots = 8;
  auto session = store_.OpenSession(request);
  ASSERT_TRUE(session.ok()) << session.message();
  ClaimRequest claim;
  claim.session = session->session;
  claim.max = 8;
  auto answer = store_.Claim(claim);
  ASSERT_TRUE(answer.ok()) << answer.message();
  EXPECT_FALSE(answer->claimed.empty());
  EXPECT_TRUE(store_.CloseSession(session->session).ok());
  EXPECT_TRUE(store_.Reap(100).ok());
}

std::unique_ptr<WorkerShell> HealthyFleet::Worker(const std::string& name, std::vector<std::string> queues) {
  WorkerConfig config;
  config.session.worker_name = name;
  config.session.ttl = milliseconds(60'000);
  config.session.queues = std::move(queues);
  config.trust_margin = milliseconds(6'000);
  config.heartbeat_every = milliseconds(200);
  config.poll_max = milliseconds(50);
  auto shell = std::make_unique<WorkerShell>(std::move(config), store_, queue_, runner_, kinds_, clock_);
  shell->Start();
  return shell;
}

// Upkeep is done meanwhile, as coordinators do; and a person answers what is uncertain.
void HealthyFleet::Await(const SubjectId& run, const std::string& status) {
  const SteadyTime until = clock_.Steady() + std::chrono::seconds(60);
  bool resolved = false;
  while (clock_.Steady() < until) {
    EXPECT_TRUE(store_.FireTimers(100).ok());
    EXPECT_TRUE(store_.ReapDispatches(std::nullopt, 100).ok());
    auto view = queries_.GetSubject(run);
    if (view && view->state == OpenState::kClosed) break;
    if (!resolved && view && view->waiting_reason == "uncertain") {
      const Json decision = {{"step_id", "doubtful"}, {"decision", "completed"}, {"outputs", {{"said", "yes"}}}, {"by", "test"}};
      auto posted = store_.Post({run, InboxId{NewUuid7()}, "resolve", DumpJson(decision), std::nullopt});
      EXPECT_TRUE(posted.ok()) << posted.message();
      resolved = true;
    }
  }
  auto listing = queries_.GetSubject(run);
  ASSERT_TRUE(listing.ok()) << listing.message();
  EXPECT_EQ(listing->state, OpenState::kClosed) << "the run did not end";
  Operation({{"f", "result"}, {"run", run.ToString()}, {"status", status}});
}

void HealthyFleet::Run() {
  for (int i = 0; i < 4; ++i) Start(fmt::format("healthy-{}", i));
  TakeAndDie();
  for (const SubjectId& run : runs_) Signal(run, "mark of " + run.ToString());
  auto one = Worker("one", {"default"});
  auto other = Worker("other", {"default", "other"});
  for (const SubjectId& run : runs_) Await(run, "COMPLETED");
  for (auto* worker : {&one, &other}) {
    (*worker)->Drain();
    EXPECT_TRUE((*worker)->WaitFinished(milliseconds(30'000)));
    (*worker)->Stop();
  }
  // A definite no: the run is closed.
  auto late =
      store_.Post({runs_[0], InboxId{NewUuid7()}, "signal", DumpJson(Json{{"name", "go"}, {"payload", {{"mark", "late"}}}}), "late"});
  EXPECT_EQ(late.code(), Code::kConflict);
  Operation({{"f", "signal"}, {"run", runs_[0].ToString()}, {"mark", "late"}});
  history_.operations.back().update(Json{{"outcome", "fail"}, {"phase", "faults"}});
}

}  // namespace acl::test
