#include "tests/integration/verify/story.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "coordinator/projects/store_desk.h"
#include "shared/base/random.h"
#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"
#include "shared/kinds/project/project_kind.h"
#include "shared/postgres/pg_project_names.h"
#include "shared/postgres/pg_queries.h"
#include "shared/workflow/workflow_kind.h"
#include "tests/support/script_capabilities.h"

namespace acl::test {
namespace {

constexpr const char* kReport = "the report";  // content of the file that a step writes

PgStoreOptions OptionsOf(const std::string& conninfo) {
  PgStoreOptions options;
  options.conninfo = conninfo;
  options.statement_timeout = options.lock_timeout = milliseconds(60'000);
  return options;
}

StepResult Says(const StepCall& call) {
  StepResult result;
  // Long enough that a handful of steps needs a snapshot in chunks.
  result.outputs = Json{{"said", call.step.step_id + " " + std::string(2'000, 's')}, {"add", 3}};
  return result;
}

StepResult Fails(const std::string& why, bool retryable) {
  StepResult result;
  result.outcome = StepResult::Outcome::kFailed;
  result.error = why;
  result.retryable = retryable;
  return result;
}

}  // namespace

void DropJournals(TestDatabase& database, const SubjectId& subject) {
  database.Exec(
      "SET session_replication_role = replica; UPDATE journal_segments SET began_at = began_at - interval '2 hours' WHERE subject_id = '" +
      subject.ToString() + "'; SET session_replication_role = origin; SELECT * FROM drop_segments(3600000, 100)");
}

Story::Story(const std::string& conninfo) : store_(OptionsOf(conninfo)), capabilities_(ScriptCapabilities()) {
  workflow_ = workflow::MakeWorkflowKind(capabilities_);
}

WorkerSessionId Story::OpenSession() {
  SessionRequest request;
  request.worker_name = "story";
  request.host = "here";
  request.slots = 8;
  request.version = "1";
  request.ttl = milliseconds(3'600'000);
  auto grant = store_.OpenSession(request);
  EXPECT_TRUE(grant.ok()) << grant.error();
  return grant.ok() ? grant->session : WorkerSessionId{};
}

// Every subject has a queue of its own, so that a claim finds this one.
SubjectId Story::Create(const std::string& name, CreateItem item) {
  item.queue = name;
  auto outcomes = store_.Create(std::span(&item, 1));
  EXPECT_TRUE(outcomes.ok()) << outcomes.error();
  subjects_[name] = item.subject;
  return item.subject;
}

SubjectId Story::CreateCounter(const std::string& name, const CounterOptions& options) {
  return Create(name, counter_.MakeCreateItem(SubjectId{NewUuid7()}, options));
}

SubjectId Story::CreateRun(const std::string& name, int steps, bool with_undo, milliseconds retry_delay) {
  const char* const effects[] = {"sim.idempotent", "sim.pure", "sim.keyed"};
  WorkflowDefinition definition;
  definition.name = name;
  definition.owner = "story";
  definition.max_execution_time = std::chrono::seconds(36'000);
  for (int i = 0; i < steps; ++i) {
    StepDefinition step;
    step.name = fmt::format("s{}", i);
    step.agent_name = "story";
    step.capability = effects[i % 3];
    step.inputs = Json{{"text", i > 0 ? fmt::format("{{{{s{}.said}}}}", i - 1) : "begin"}};
    step.retry.max_attempts = 3;
    step.retry.initial_delay = retry_delay;
    if (with_undo) step.compensation = CompensationDefinition{"sim.idempotent", Json{{"text", "undo {{said}}"}}, "", {}};
    definition.steps.push_back(std::move(step));
  }
  workflow::CreateRequest request;
  request.subject = SubjectId{NewUuid7()};
  request.submitter = "story";
  request.request_key = "key of " + name;
  request.request_hash = Sha256(name);
  auto item = workflow::MakeCreateItem(*workflow_, definition, std::move(request));
  EXPECT_TRUE(item.ok()) << item.error();
  return Create(name, std::move(*item));
}

void Story::Post(const std::string& name, const std::string& kind, const Json& payload) {
  auto answer = store_.Post({subjects_[name], InboxId{NewUuid7()}, kind, payload.dump(), std::nullopt});
  EXPECT_TRUE(answer.ok()) << answer.error();
}

// As the worker does, but when the story wants it.
void Story::TakeSnapshot(LeasedSubject& run) {
  PgQueries queries(store_);
  auto view = queries.GetSubject(run.subject());
  ASSERT_TRUE(view.ok()) << view.error();
  EncodedSnapshot encoded = EncodeSnapshot(run.state(), view->head.seq, view->head.chain);
  if (!encoded.contents.empty()) {
    Status put = store_.PutContents(encoded.contents);
    ASSERT_TRUE(put.ok()) << put.error();
  }
  encoded.snapshot.id = NewUuid7();
  encoded.snapshot.created_at = view->head.last_timestamp;
  run.OnSnapshot(std::move(encoded.snapshot));
}

void Story::RunAs(const WorkerSessionId& session, const std::string& name, const Drive& drive) {
  SCOPED_TRACE(name);
  ClaimRequest request;
  request.session = session;
  request.queues = {name};
  auto answer = store_.Claim(request);
  ASSERT_TRUE(answer.ok()) << answer.error();
  ASSERT_EQ(answer->claimed.size(), 1u);
  Claimed claimed = answer->claimed.front();
  auto restored = Restore(claimed.subject, claimed.snapshot, claimed.events, [&](const Hash256& hash) { return store_.GetContent(hash); });
  ASSERT_TRUE(restored.ok()) << restored.error();
  const SubjectKind& kind = claimed.kind == "counter" ? static_cast<const SubjectKind&>(counter_) : *workflow_;
  SubjectLimits limits;
  limits.hold_wait = milliseconds(0);
  limits.segment_events = drive.segment_events;
  WallTime now = claimed.db_now;
  LeasedSubject run(std::move(claimed), *restored, kind, session, limits);
  for (int items = 0; items < drive.stop_after;) {
    BuildContext context;
    context.now = now += milliseconds(1);
    context.free_slots = 4;
    auto item = run.BuildItem(context);
    ASSERT_TRUE(item.ok()) << item.error();
    if (*item) {
      auto outcomes = store_.Commit(std::span(&**item, 1));
      ASSERT_TRUE(outcomes.ok()) << outcomes.error();
      ASSERT_TRUE(outcomes->front().kind == CommitOutcome::Kind::kCommitted || outcomes->front().kind == CommitOutcome::Kind::kMoved)
          << outcomes->front().error;
      if (run.OnOutcome(outcomes->front()) == LeasedSubject::After::kGone) return;
      ++items;
      if (drive.snapshot_every > 0 && items % drive.snapshot_every == 0) TakeSnapshot(run);
    }
    if (items >= drive.stop_after) return;
    auto starts = run.TakeStarts();
    ASSERT_TRUE(*item || !starts.empty()) << "nothing to do and nothing to wait for";
    for (const StepCall& call : starts) run.OnStepDone(call.step.step_id, call.attempt_id, drive.script(call));
  }
}

void Story::TellRuns() {
  Status put = store_.PutContents(std::vector<std::pair<Hash256, std::string>>{{Sha256(kReport), kReport}});
  EXPECT_TRUE(put.ok());

  CreateRun("completed", 9, true);
  bool failed_once = false;
  Run("completed",
      {[&](const StepCall& call) {
         if (call.step.step_id == "s3" && !std::exchange(failed_once, true)) return Fails("a fault of the outside", true);
         StepResult result = Says(call);
         if (call.step.step_id == "s1") {
           result.files.push_back({"out/report.md", Sha256(kReport), std::int64_t(std::string_view(kReport).size()), 0644, false});
         }
         return result;
       },
       1'000, 3});

  CreateRun("rolled_back", 5, true);
  Run("rolled_back", {[](const StepCall& call) { return call.step.step_id == "s3" ? Fails("for good", false) : Says(call); }});

  CreateRun("paused", 3, false);
  Post("paused", "pause", Json{{"reason", "a person wants to look"}, {"by", "story"}});
  Run("paused", {Says});

  CreateRun("retrying", 3, false, milliseconds(3'600'000));
  Run("retrying", {[](const StepCall&) { return Fails("not yet", true); }});
}

// One run waits for a person, another was stopped while it did.
void Story::TellApprovals() {
  for (const char* name : {"asking", "unasked"}) {
    WorkflowDefinition definition;
    definition.name = name;
    definition.queue = name;
    StepDefinition gate;
    gate.name = "gate";
    gate.type = StepType::kHumanApproval;
    gate.inputs = {{"message", "go on?"}};
    gate.approval.emplace();
    definition.steps.push_back(std::move(gate));
    workflow::CreateRequest request;
    request.subject = SubjectId{NewUuid7()};
    request.submitter = "story";
    request.request_key = std::string("key of ") + name;
    request.request_hash = Sha256(name);
    auto item = workflow::MakeCreateItem(*workflow_, definition, std::move(request));
    ASSERT_TRUE(item.ok()) << item.error();
    Create(name, std::move(*item));
    Run(name, {Says});
  }
  Post("unasked", "cancel", Json{{"reason", "nobody needs it"}, {"by", "story"}});
  Run("unasked", {Says});
}

void Story::TellCounters() {
  CreateCounter("counted", {});
  Run("counted", {Says, 1'000, 4});

  // Journals that roll; of one of them the oldest are dropped (story's user: drop_segments).
  for (const char* name : {"rolled", "dropped"}) {
    CreateCounter(name, {20, "pi"});
    Run(name, {Says, 1'000, 3, 5});
  }

  CreateCounter("ready", {});
  CreateCounter("held", {6, "i"});
  Run("held", {Says, 3});

  CreateCounter("taken_over", {6, "i"});
  const WorkerSessionId lost = OpenSession();
  RunAs(lost, "taken_over", {Says, 2});
  EXPECT_TRUE(store_.CloseSession(lost).ok());
  auto reaped = store_.Reap(100);
  ASSERT_TRUE(reaped.ok()) << reaped.error();
  EXPECT_EQ(reaped->leases_freed, 1);
  Run("taken_over", {Says});

  CreateCounter("direct", {2, "p", true});
  Run("direct", {Says});  // waits for a signal
  auto done = store_.Direct(subjects_["direct"], counter_.Increment(5));
  ASSERT_TRUE(done.ok()) << done.error();
  EXPECT_EQ(done->kind, CommitOutcome::Kind::kCommitted) << done->error;

  CreateCounter("posted", {2, "p", true});
  Run("posted", {Says});
  Post("posted", "signal", Json{{"n", 1}});  // and nobody has read it

  CreateCounter("quarantined", {});
  ClaimRequest request;
  request.session = session_;
  request.queues = {"quarantined"};
  auto answer = store_.Claim(request);
  ASSERT_TRUE(answer.ok() && answer->claimed.size() == 1u);
  Status put_away = store_.Quarantine(subjects_["quarantined"], session_, answer->claimed[0].token, "corrupt", "the story wants it");
  EXPECT_TRUE(put_away.ok()) << put_away.error();

  CreateCounter("erased", {});
  Run("erased", {Says, 1'000, 2});
}

void Story::TellProjects() {
  PgQueries queries(store_);
  PgProjectNames names(store_.pool());
  SystemClock clock;
  SystemRandom random;
  Uuid7Maker ids(clock, random);
  const auto kind = project::MakeProjectKind();
  coordinator::StoreDesk desk(store_, queries, names, *kind, ids);
  const auto create = [&](const std::string& name) {
    auto done = desk.Create({{"create_project", {{"name", name}}, "story"}, std::nullopt, std::nullopt});
    ASSERT_TRUE(done && !done->refused) << (done ? done->refused->message : done.message());
    subjects_[name] = SubjectId{done->project.uuid};
  };
  create("book");
  create("fresh");
  int number = 0;
  const auto tell = [&](const std::string& name, Json arguments) {
    auto done = desk.Execute(ProjectId{subjects_["book"].uuid},
                             {{name, std::move(arguments), "story"}, "key " + std::to_string(++number), std::nullopt});
    ASSERT_TRUE(done && !done->refused) << (done ? done->refused->message : done.message());
  };
  tell("create_goal", {{"text", "Write the book"}});
  tell("add_task", {{"goal_id", "g1"}, {"title", "Chapter one"}, {"acceptance_criteria", {"it has a title", "it ends"}}});
  tell("add_task", {{"goal_id", "g1"}, {"title", "Chapter two"}, {"depends_on", {"t1"}}});
  tell("add_task", {{"goal_id", "g1"}, {"title", "A cover"}});
  tell("start_task", {{"task_id", "t1"}, {"claim_seconds", 3600}});
  tell("update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "The first page is written."}, {"next_step", "Write page two"}});
  tell("withdraw_task", {{"task_id", "t3"}, {"reason", "the printer makes one"}});
}

void Story::Tell() {
  session_ = OpenSession();
  TellRuns();
  TellApprovals();
  TellCounters();
  TellProjects();
}

}  // namespace acl::test
