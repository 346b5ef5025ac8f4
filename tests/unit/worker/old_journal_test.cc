// Journals that programs of earlier days wrote (tests/data/journals, one event a line): they are read, verified and replayed as they are,
// and a run is taken over at any of their events and goes on to the same end.

#include <gtest/gtest.h>

#include <fstream>

#include "shared/capability/standard.h"
#include "shared/workflow/run_view.h"
#include "shared/workflow/workflow_kind.h"
#include "worker/leased_subject.h"

namespace acl::test {
namespace {

SubjectId Subject() { return *SubjectId::Parse("01890000-0000-7000-8000-000000000001"); }

WallTime Time(int seconds) { return *ParseWallTime("2026-11-24T07:30:00Z") + std::chrono::seconds(seconds); }

std::shared_ptr<const CapabilityRegistry> Capabilities() {
  auto registry = std::make_shared<CapabilityRegistry>();
  RegisterStandardCapabilities(*registry, {});
  return registry;
}

std::vector<Event> JournalOf(const std::string& name) {
  std::ifstream file(ACL_SOURCE_DIR "/tests/data/journals/" + name);
  std::vector<Event> events;
  for (std::string line; std::getline(file, line);) {
    auto json = ParseJson(line);
    EXPECT_TRUE(json.ok()) << json.message();
    if (!json) break;
    Event& event = events.emplace_back();
    event.subject = Subject();
    event.seq = (*json)["seq"];
    event.type = (*json)["type"];
    event.token = Token{(*json)["token"]};
    event.timestamp = *ParseWallTime((*json)["timestamp"].get<std::string>());
    event.payload = (*json)["payload"].get<std::string>();
    event.checksum = *HashFromHex((*json)["checksum"].get<std::string>());
    event.content_hash = *HashFromHex((*json)["content_hash"].get<std::string>());
    event.chain = *HashFromHex((*json)["chain"].get<std::string>());
  }
  return events;
}

// What the steps of the workflow answer.
StepResult AnswerOf(const StepCall& call) {
  StepResult result;
  if (call.step.step_id == "two" && call.attempt_id == 1) {
    result.outcome = StepResult::Outcome::kFailed;
    result.error = "not yet";
  } else if (call.step.step_id == "four") {
    result.outcome = StepResult::Outcome::kFailed;
    result.error = "never";
    result.retryable = false;
  } else if (call.step.call["inputs"].contains("outputs")) {
    result.outputs = call.step.call["inputs"]["outputs"];
  }
  if (call.step.step_id == "three") {
    result.files.push_back({.path = "a/b.txt", .hash = Hash256{1}, .size = 3, .mode = 0644, .is_dir = false, .found = {}});
  }
  result.duration = milliseconds(5);
  return result;
}

// Attempts that the journal says began and not how they ended.
std::vector<AttemptRow> OpenAttempts(const std::vector<Event>& events) {
  std::map<std::string, AttemptRow> open;
  for (const Event& event : events) {
    const Json payload = *ParseJson(*event.payload);
    const auto read = [&](const std::string& type, const Json& facts) {
      if (!facts.contains("step_id")) return;
      const std::string id = facts["step_id"];
      if (type == "step.started") {
        open[id] = {id, facts["attempt"].get<int>(), event.token, event.timestamp};
      } else {
        open.erase(id);
      }
    };
    read(event.type, payload);
    for (const Json& also : payload.value("also", Json::array())) read(also["type"], also);
  }
  std::vector<AttemptRow> rows;
  for (auto& [id, row] : open) rows.push_back(row);
  return rows;
}

struct Driven {
  std::vector<Event> events;
  Document state;
};

// A worker that has it, until it is closed.
Driven GoOn(const std::vector<Event>& before, int seconds) {
  const auto kind = workflow::MakeWorkflowKind(Capabilities());
  auto restored = Restore(Subject(), std::nullopt, before, nullptr);
  EXPECT_TRUE(restored.ok()) << restored.message();
  if (!restored) return {};
  Claimed claimed;
  claimed.subject = Subject();
  claimed.kind = "workflow";
  claimed.token = {before.back().token.value + 1};
  claimed.head = {before.back().seq, before.back().chain, restored->state.Root(), {}, before.back().timestamp};
  claimed.attempts = OpenAttempts(before);
  claimed.db_now = Time(seconds);
  const Json last = *ParseJson(*before.back().payload);
  if (last.contains("retry_at")) {
    claimed.timers.push_back({"retry:" + last["step_id"].get<std::string>(), *ParseWallTime(last["retry_at"].get<std::string>())});
  }
  SubjectLimits limits;
  limits.hold_wait = std::chrono::hours(1);
  LeasedSubject run(claimed, *restored, *kind, WorkerSessionId{}, limits);
  BuildContext context;
  context.free_slots = 4;
  Driven driven{before, {}};
  for (int i = 0; i < 100; ++i) {
    context.now = Time(seconds += 2);
    auto built = run.BuildItem(context);
    EXPECT_TRUE(built.ok()) << built.message();
    if (!built) break;
    bool closed = false;
    if (*built) {
      driven.events.insert(driven.events.end(), (*built)->events.begin(), (*built)->events.end());
      closed = (*built)->disposition == Disposition::kClose;
      driven.state = run.state();
      run.OnOutcome({CommitOutcome::Kind::kCommitted, 0, {}});
    }
    if (closed) break;
    for (const StepCall& call : run.TakeStarts()) run.OnStepDone(call.step.step_id, call.attempt_id, AnswerOf(call));
    run.TakeRecorded();
  }
  auto again = Restore(Subject(), std::nullopt, driven.events, nullptr);
  EXPECT_TRUE(again.ok()) << again.message();
  if (again) driven.state = again->state;
  return driven;
}

// Status, attempts and outputs of every step and compensation, and of the run.
Json EndOf(const Document& state) {
  auto view = workflow::ViewOf(state);
  EXPECT_TRUE(view.ok()) << view.message();
  Json end = Json::object();
  if (!view) return end;
  end["run"] = view->status + " " + view->error;
  for (const auto& step : view->steps) {
    end[step.step_id] = {step.status, step.execution_order, step.outputs ? *step.outputs : Json()};
  }
  for (const auto& undo : view->compensations) end[undo.step_id] = {undo.status, undo.attempts};
  return end;
}

TEST(OldJournal, IsVerifiedAndReplayed) {
  const std::vector<Event> events = JournalOf("2026-11-24.jsonl");
  ASSERT_EQ(events.size(), 13u);
  auto restored = Restore(Subject(), std::nullopt, events, nullptr);
  ASSERT_TRUE(restored.ok()) << restored.message();
  EXPECT_EQ(ToHex(restored->state.Root()), "8241f283bca8550028645ca4be40edc56f609c71cdcd6378c1d6ec44373d0eac");
  const Json end = EndOf(restored->state);
  EXPECT_EQ(end["run"], "ROLLED_BACK step 'four' failed: never");
  EXPECT_EQ(end["one"], Json::parse(R"(["COMPLETED",1,{"deep":[1,2]}])")) << "an output of the step's name stands in its place";
  EXPECT_EQ(end["two"][2]["seen"], 7);
  EXPECT_EQ(end["undo:two"], Json::parse(R"(["COMPLETED",1])"));
}

TEST(OldJournal, GoesOnFromEveryEventToTheSameEnd) {
  const std::vector<Event> events = JournalOf("2026-11-24.jsonl");
  ASSERT_FALSE(events.empty());
  auto whole = Restore(Subject(), std::nullopt, events, nullptr);
  ASSERT_TRUE(whole.ok()) << whole.message();
  const Json end = EndOf(whole->state);
  // A name of a step is the step's alone since then: whichever step completes from now on keeps its outputs under its name.
  const Json begun = EndOf(GoOn({events.begin(), events.begin() + 1}, 1000).state);
  EXPECT_EQ(begun["run"], end["run"]);
  EXPECT_EQ(begun["one"][2]["one"], Json::parse(R"({"deep":[1,2]})"));
  constexpr std::size_t kOneCompletes = 3;
  for (std::size_t kept = 1; kept < events.size(); ++kept) {
    SCOPED_TRACE(kept);
    EXPECT_EQ(EndOf(GoOn({events.begin(), events.begin() + std::ptrdiff_t(kept)}, 1000).state), kept < kOneCompletes ? begun : end);
  }
}

}  // namespace
}  // namespace acl::test
