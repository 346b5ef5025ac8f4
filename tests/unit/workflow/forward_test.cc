// Order, state, templates, completion.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/limits.h"
#include "shared/capability/manifest.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using testing::ElementsAre;

StepResult Named(const StartStep& step, int) { return Ok({{"from", step.step_id}}); }

TEST(Forward, StepsRunInFileOrderAndTheRunCompletes) {
  RunDriver run(MakeDefinition({MakeStep("a"), MakeStep("b"), MakeStep("c")}));
  EXPECT_EQ(run.Status(), "PENDING");
  run.RunToEnd(Named);
  EXPECT_THAT(run.calls, ElementsAre("a", "b", "c"));
  EXPECT_THAT(run.Types(), ElementsAre("workflow.created", "workflow.started", "step.completed", "step.completed", "step.completed",
                                       "workflow.completed"));
  RunView view = run.View();
  EXPECT_EQ(view.status, "COMPLETED");
  EXPECT_TRUE(view.closed);
  EXPECT_EQ(view.outputs, Json({{"from", "c"}}));
  EXPECT_EQ(run.Step("b").execution_order, 2);
  EXPECT_EQ(run.Step("b").attempts, 1);
  EXPECT_TRUE(run.Ask().closed);
  EXPECT_TRUE(run.timers.empty());
  ASSERT_TRUE(run.listing);
  EXPECT_EQ(run.listing->status, "COMPLETED");
  EXPECT_TRUE(run.listing->completed_at);
}

// 20 steps of 7 MiB: the state would be 140 MiB.
TEST(Forward, AStepWhoseOutputsTheRunHasNoRoomForFailsAndTheRunRollsBack) {
  std::vector<StepDefinition> steps;
  for (int n = 0; n < 20; ++n) {
    steps.push_back(MakeStep("s" + std::to_string(n)));
    if (n > 0) steps.back().depends_on = {steps[std::size_t(n) - 1].name};
    steps.back().retry.max_attempts = 3;
  }
  steps[0].compensation = CompensationDefinition{.capability = "do.effect"};
  RunDriver run(MakeDefinition(std::move(steps)));
  run.RunToEnd([](const StartStep& step, int) { return Ok({{"text", std::string(7 * limits::kMiB, step.step_id.back())}}); });
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_LE(run.state.stored_bytes(), limits::kRunStateBytes + 16 * limits::kMiB);
  const StepView failed = run.Step("s18");
  EXPECT_EQ(failed.status, "FAILED");
  EXPECT_EQ(failed.attempts, 1) << "its outputs would be no smaller";
  EXPECT_THAT(failed.error, testing::HasSubstr("128 MiB"));
}

// What the last event says the run hands out is what the state holds, whoever came last and whatever outputs are called.
TEST(Forward, TheLastEventSaysWhatTheStateHolds) {
  const std::pair<Json, Json> outputs[] = {// of a, of b
                                           {{{"x", 1}}, {{"y", 2}}},
                                           {{{"b", {{"y", 3}}}}, {{"y", 2}}},
                                           {{{"x", 1}}, {{"b", {{"y", 4}}}, {"z", 1}}},
                                           {{{"b", Json::object()}}, {{"b", {{"y", 5}}}}}};
  for (const auto& [of_a, of_b] : outputs) {
    for (const bool b_is_last : {true, false}) {
      RunDriver run(MakeDefinition({MakeStep("r"), MakeStep("a", "do.pure", {"r"}), MakeStep("b", "do.pure", {"r"})}));
      run.Claim();
      run.Pump(2);
      run.Finish("r", Ok());
      ASSERT_EQ(run.Pump(2).size(), 2u);
      run.Finish(b_is_last ? "a" : "b", Ok(b_is_last ? of_a : of_b));
      run.Finish(b_is_last ? "b" : "a", Ok(b_is_last ? of_b : of_a));
      EXPECT_EQ(run.Status(), "COMPLETED");
      const Json said = run.Last("workflow.completed");
      EXPECT_EQ(said["outputs_of"], "b");
      EXPECT_EQ(said["outputs"], *run.Var("b"));
      EXPECT_EQ(said["outputs"], of_b);
    }
  }
}

TEST(Forward, AStepWaitsForWhatItNamesAlsoIfThatStandsLater) {
  RunDriver run(MakeDefinition({MakeStep("late", "do.pure", {"z"}), MakeStep("x"), MakeStep("z", "do.pure", {"x"})}));
  run.RunToEnd(Named);
  EXPECT_THAT(run.calls, ElementsAre("x", "z", "late"));
}

TEST(Forward, PlanOrderIsKeptWhenSeveralAreReady) {
  // After a: b and d are ready; b first, then what b makes ready, because it stands before d.
  RunDriver run(
      MakeDefinition({MakeStep("a"), MakeStep("b", "do.pure", {"a"}), MakeStep("c", "do.pure", {"b"}), MakeStep("d", "do.pure", {"a"})}));
  run.RunToEnd(Named);
  EXPECT_THAT(run.calls, ElementsAre("a", "b", "c", "d"));
}

TEST(Forward, IndependentStepsOverlapUpToTheSlots) {
  RunDriver run(MakeDefinition({MakeStep("a"), MakeStep("b", "do.idempotent", {"a"}), MakeStep("c", "do.pure", {"a"}),
                                MakeStep("d", "do.read", {"a"}), MakeStep("e", "do.pure", {"b", "c", "d"})}));
  run.Claim();
  EXPECT_EQ(run.Pump(8).size(), 1u);
  run.Finish("a", Ok());
  EXPECT_EQ(run.Pump(2).size(), 2u);
  EXPECT_EQ(run.Pump(0).size(), 0u);
  EXPECT_EQ(run.Pump(5).size(), 1u);
  EXPECT_EQ(run.Pump(5).size(), 0u);
  EXPECT_FALSE(run.Ask(5).waiting);  // something runs
  run.Finish("c", Ok());
  run.Finish("d", Ok());
  EXPECT_EQ(run.Pump(5).size(), 0u);
  run.Finish("b", Ok());
  EXPECT_EQ(run.Pump(5).size(), 1u);
  run.Finish("e", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ(run.Step("d").execution_order, 3);
  EXPECT_EQ(run.Step("b").execution_order, 4);
}

TEST(Forward, ReadyWorkWithoutRoomIsNotWaiting) {
  RunDriver run(MakeDefinition({MakeStep("a")}));
  run.Claim();
  Next next = run.Ask(0);
  EXPECT_TRUE(next.start.empty());
  EXPECT_FALSE(next.waiting);
  EXPECT_FALSE(next.closed);
}

TEST(State, OutputsStandUnderTheStepAndMergedOnTop) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("a"), MakeStep("b")});
  definition.steps[1].inputs = {{"all", "{{x}} {{ y.z }} {{b | default('')}}"}};
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  run.Finish("a", Ok({{"x", 1}, {"y", "first"}, {"b", "an output named like a step"}}));
  EXPECT_EQ(run.Var("b"), nullptr) << "the step b has not run";
  run.Pump();
  run.Finish("b", Ok({{"y", "second"}, {"b", 7}}));
  EXPECT_EQ(*run.Var("a"), Json({{"x", 1}, {"y", "first"}, {"b", "an output named like a step"}}));
  EXPECT_EQ(*run.Var("x"), 1);
  EXPECT_EQ(*run.Var("y"), "second");
  EXPECT_EQ(*run.Var("b"), Json({{"y", "second"}, {"b", 7}}));  // its own output of that name does not replace the map
  // Outputs stand once in the delta.
  std::string text = DumpJson(run.Events("step.completed")[0]);
  EXPECT_EQ(text.find("an output named like a step"), text.rfind("an output named like a step"));
}

// What no template can ask for has no entry of its own; one that is there (initial_state) goes with the outputs all the same, and one
// with the name of a step never.
TEST(State, OnlyWhatATemplateMentionsIsMerged) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("a"), MakeStep("b"), MakeStep("c")});
  definition.initial_state = {{"count", 1}};
  definition.steps[0].compensation = CompensationDefinition{.capability = "do.pure", .inputs = {{"k", {"{{ undo.key }}"}}}};
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  run.Finish("a", Ok({{"x", 1}, {"undo", {{"key", 5}}}, {"count", 2}, {"c", 3}}));
  EXPECT_EQ(run.Var("x"), nullptr);
  EXPECT_EQ(run.Var("c"), nullptr) << "the step c has not run";
  EXPECT_EQ((*run.Var("undo"))["key"], 5);
  EXPECT_EQ(*run.Var("count"), 2);
  run.Pump();
  run.Finish("b", Ok({{"a", "over it"}, {"count", 3}}));
  EXPECT_EQ((*run.Var("a"))["x"], 1);
  EXPECT_EQ(*run.Var("count"), 3);
}

TEST(State, KeyOrderAndNumberTextSurvive) {
  RunDriver run(MakeDefinition({MakeStep("a")}));
  run.Claim();
  run.Pump();
  run.Finish("a", Ok(*ParseJson(R"({"z":220.0,"k":{"m":1,"b":2}})")));
  EXPECT_EQ(DumpJson(*run.Var("a")), R"({"z":220.0,"k":{"m":1,"b":2}})");
}

TEST(State, InitialStateAndInputsAreVariables) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("a")});
  definition.initial_state = {{"region", "eu"}, {"size", 1}};
  definition.inputs.push_back({.name = "size", .type = "integer", .default_value = Json(5)});
  definition.workflow_id = "report";
  definition.steps[0].inputs = {{"r", "{{region}}"},      {"s", "{{size}}"},     {"i", "{{inputs.size}}"},
                                {"w", "{{workflow_id}}"}, {"run", "{{run_id}}"}, {"none", "{{nothing.here}}"}};
  CreateRequest request;
  request.inputs = {{"size", 3}};
  RunDriver run(definition, request);
  run.Claim();
  auto started = run.Pump();
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].step.call["inputs"],
            Json({{"r", "eu"}, {"s", 3}, {"i", 3}, {"w", "report"}, {"run", RunDriver::RunId().ToString()}, {"none", "{{nothing.here}}"}}));
  run.Finish("a", Ok());
  EXPECT_EQ(run.Last("step.completed")["missing"], Json::array({"nothing.here"}));
}

TEST(State, MissingReferencesAreWarningsInTheView) {
  StepDefinition pure = MakeStep("a");
  pure.inputs = {{"x", "{{nothing.here}}"}};
  StepDefinition journaled = MakeStep("b", "do.idempotent");
  journaled.inputs = {{"x", "{{nor.here}} {{a.from}}"}};
  journaled.compensation = CompensationDefinition{};
  journaled.compensation->capability = "do.pure";
  journaled.compensation->inputs = {{"x", "{{b.gone}}"}};
  StepDefinition failing = MakeStep("f");
  failing.inputs = {{"x", "{{never}}"}};
  WorkflowDefinition definition = MakeDefinition({pure, journaled, failing});
  definition.global_compensation_steps.emplace_back();
  definition.global_compensation_steps[0].capability = "do.pure";
  definition.global_compensation_steps[0].inputs = {{"x", "{{not.there}}"}};
  definition.global_compensation_names = {"g"};
  RunDriver run(definition);
  run.RunToEnd([](const StartStep& step, int attempt) { return step.step_id == "f" ? Fails("no") : Named(step, attempt); });
  EXPECT_THAT(run.Step("a").missing, ElementsAre("nothing.here"));
  EXPECT_THAT(run.Step("b").missing, ElementsAre("nor.here", "compensation: b.gone"));
  const std::string then = "; it stayed as literal text";
  EXPECT_THAT(run.View().warnings,
              ElementsAre("step 'a': nothing answered {{nothing.here}}" + then, "step 'b': nothing answered {{nor.here}}" + then,
                          "compensation of step 'b': nothing answered {{b.gone}}" + then, "step 'f': nothing answered {{never}}" + then,
                          "compensation 'undo:/global[0]': nothing answered {{not.there}}" + then));
  const Json view = ViewToJson(run.View());
  EXPECT_EQ(view["warnings"].size(), 5u);
  EXPECT_EQ(view["steps"][0]["missing"], Json::array({"nothing.here"}));
}

// b and c overlap: what c's inputs missed is said although b has brought it before c ends.
TEST(State, MissingIsWhatWasMissingAtTheStart) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("a"), MakeStep("b", "do.pure", {"a"}), MakeStep("c", "do.pure", {"a"})});
  definition.steps[2].inputs = {{"x", "{{b.from}}"}};
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  run.Finish("a", Ok());
  ASSERT_EQ(run.Pump(2).size(), 2u);
  run.Finish("b", Ok({{"from", "b"}}));
  run.Finish("c", Ok());
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_THAT(run.Step("c").missing, ElementsAre("b.from"));
}

TEST(State, StrictTemplatesHoldAtRunTime) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("a", "do.idempotent")});
  definition.strict_templates = true;
  definition.steps[0].inputs = {{"x", "{{nothing.here}} {{or | default('there')}}"}};
  RunDriver run(definition);
  run.Claim();
  auto started = run.Pump();
  ASSERT_EQ(started.size(), 1u);
  const std::string error = started[0].step.call["error"];
  EXPECT_THAT(error, testing::HasSubstr("nothing answers {{nothing.here}}, and the run was submitted with strict templates"));
  EXPECT_EQ(started[0].step.effect, EffectClass::kPure);  // nothing is called, nothing is promised
  run.Finish("a", Fails(error, false));                   // as the runner answers a call that holds an error
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
  EXPECT_EQ(run.Step("a").attempts, 1);
  EXPECT_TRUE(run.View().warnings.empty());

  definition.steps[0].inputs = {{"x", "{{or | default('there')}} {{run_id}}"}};
  RunDriver fine(definition);
  fine.RunToEnd(Named);
  EXPECT_EQ(fine.Status(), "COMPLETED");
}

TEST(State, AnAgentlessStepBelongsToTheOwnerWhoeverThatIs) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("a"), MakeStep("b")});
  definition.owner.clear();
  definition.steps[1].agent_name = "bot";
  CreateRequest request;
  request.submitter = "ada";
  RunDriver run(definition, request);
  EXPECT_EQ(run.View().owner, "ada");
  EXPECT_EQ(run.Step("a").agent_name, "ada");
  EXPECT_EQ(run.Step("b").agent_name, "bot");
}

TEST(State, WrongInputsAreRefusedAtCreate) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("a")});
  definition.inputs.push_back({.name = "size", .type = "integer", .required = true});
  auto kind = MakeWorkflowKind(TestCapabilities());
  CreateRequest request;
  request.subject = RunDriver::RunId();
  auto item = MakeCreateItem(*kind, definition, request);
  ASSERT_FALSE(item);
  EXPECT_EQ(item.code(), Code::kInvalid);
}

// A name is one thing: a step's outputs stand under its name, whatever outputs are called and whoever comes last.
TEST(State, StepNamesWinOverOutputsOfThatName) {
  WorkflowDefinition definition =
      MakeDefinition({MakeStep("content", "do.effect"), MakeStep("read", "do.effect"), MakeStep("timestamp", "do.effect"),
                      MakeStep("late", "do.effect"), MakeStep("end", "do.effect")});
  definition.steps[3].inputs = {{"x", "{{content.rendered}} {{timestamp.timestamp}} {{read.content}}"}, {"all", "{{timestamp}}"}};
  definition.steps[2].inputs = {{"x", "{{late | default('not yet')}}"}};
  RunDriver run(definition);
  const std::map<std::string, Json> outputs = {
      {"content", {{"rendered", "R"}}}, {"read", {{"content", "C"}, {"late", "L"}}}, {"timestamp", {{"timestamp", "T"}, {"zone", "utc"}}}};
  std::map<std::string, Json> inputs;
  run.RunToEnd([&](const StartStep& step, int) {
    inputs[step.step_id] = step.call["inputs"];
    auto known = outputs.find(step.step_id);
    return Ok(known == outputs.end() ? Json::object() : known->second);
  });
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ(inputs["timestamp"], Json({{"x", "not yet"}}));
  EXPECT_EQ(inputs["late"], Json({{"x", "R T C"}, {"all", outputs.at("timestamp")}}));
  for (const auto& [name, said] : outputs) EXPECT_EQ(*run.Step(name).outputs, said) << name;
  EXPECT_THAT(run.View().warnings, ElementsAre(testing::HasSubstr("step 'read': its output 'content' has the name of a step"),
                                               testing::HasSubstr("step 'read': its output 'late'"),
                                               testing::HasSubstr("the output is {{timestamp.timestamp}}")));
}

// Also where it says how it would be undone.
TEST(State, ACompensationSeesTheStepNotAnOutputOfItsName) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("other"), MakeStep("a"), MakeStep("f")});
  definition.steps[1].compensation = CompensationDefinition{.capability = "do.pure", .inputs = {{"x", "{{a.id}} {{other.id}}"}}};
  definition.steps[2].retry.max_attempts = 1;
  RunDriver run(definition);
  Json undone;
  run.RunToEnd([&](const StartStep& step, int) {
    if (step.step_id == "undo:a") undone = step.call["inputs"];
    if (step.step_id == "f") return Fails();
    return step.step_id == "a" ? Ok({{"id", 1}, {"a", {{"id", 2}}}, {"other", {{"id", 3}}}}) : Ok({{"id", 4}});
  });
  EXPECT_EQ(undone, Json({{"x", "1 4"}}));
}

// An effect is not called with braces that nobody filled; what has none, and a file that means it, goes on.
TEST(State, AnEffectIsNotCalledWithWhatNothingAnswers) {
  for (const char* capability : {"do.pure", "do.read", "do.idempotent", "do.effect"}) {
    for (const bool need : {true, false}) {
      WorkflowDefinition definition = MakeDefinition({MakeStep("a", capability)});
      definition.effects_need_values = need;
      definition.steps[0].inputs = {{"x", "to {{nothing.here}}"}};
      RunDriver run(definition);
      run.Claim();
      auto started = run.Pump();
      ASSERT_EQ(started.size(), 1u);
      const bool refused = need && std::string(capability) != "do.pure" && std::string(capability) != "do.read";
      ASSERT_EQ(started[0].step.call.contains("error"), refused) << capability;
      if (!refused) {
        EXPECT_EQ(started[0].step.call["inputs"]["x"], "to {{nothing.here}}");
        continue;
      }
      EXPECT_THAT(std::string(started[0].step.call["error"]),
                  testing::HasSubstr("nothing answers {{nothing.here}}, and " + std::string(capability) + " has an effect"));
      EXPECT_EQ(started[0].step.effect, EffectClass::kPure);
    }
  }
}

// docs/reference/other-runtimes.md#a-reference-run: the bare `timestamp` is the merged output.
TEST(State, ReferenceRunOfTemplates) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("now", "do.read"), MakeStep("render")});
  definition.initial_state = {{"run_id", "R1"}};
  definition.steps[1].inputs = {{"template", "run_id={{run_id}}\nts={{timestamp}}\n"}};
  RunDriver run(definition);
  run.Claim();
  run.Pump();
  run.Finish("now", Ok({{"timestamp", "2026-01-01T00:00:00.000001Z"}, {"timezone", "utc"}}));
  EXPECT_EQ(run.Pump()[0].step.call["inputs"]["template"], "run_id=R1\nts=2026-01-01T00:00:00.000001Z\n");
}

TEST(State, FilesAreEntriesAndPartOfTheCompletion) {
  CreateRequest request;
  FileChange at_start;
  at_start.path = "in/data.csv";
  at_start.hash = Hash256{1};
  at_start.size = 10;
  request.files.push_back(at_start);
  RunDriver run(MakeDefinition({MakeStep("w", "file.write")}), request);
  EXPECT_NE(run.state.Find("file:in/data.csv"), nullptr);
  EXPECT_NE(run.state.Find("file:in"), nullptr);
  run.Claim();
  run.Pump();
  StepResult result = Ok();
  FileChange made = at_start, gone = at_start;
  made.path = "out.txt";
  gone.hash.reset();
  result.files = {made, gone};
  run.Finish("w", result);
  EXPECT_NE(run.state.Find("file:out.txt"), nullptr);
  EXPECT_EQ(run.state.Find("file:in/data.csv"), nullptr);
}

FileChange Changed(const Document& seen, const std::string& path, std::optional<std::uint8_t> content) {
  FileChange change;
  change.path = path;
  change.found = FoundAt(seen, path);
  if (content) change.hash = Hash256{*content};
  return change;
}

// docs/architecture.md#workspaces: steps that run at the same time are merged in completion order; the same path changed by both is a clear
// error.
TEST(State, TwoStepsThatChangeTheSamePathAtTheSameTime) {
  struct Case {
    const char* what;
    std::optional<std::uint8_t> first, second;
    const char* second_path;
    bool conflict;
  };
  for (const Case& c : {Case{"both write", 1, 2, "x.txt", true}, Case{"one deletes", std::nullopt, 2, "x.txt", true},
                        Case{"both write the same", 1, 1, "x.txt", false}, Case{"both delete", std::nullopt, std::nullopt, "x.txt", false},
                        Case{"two paths", 1, 2, "y.txt", false}}) {
    SCOPED_TRACE(c.what);
    CreateRequest request;
    FileChange at_start;
    at_start.path = "x.txt";
    at_start.hash = Hash256{9};
    request.files.push_back(at_start);
    RunDriver run(MakeDefinition({MakeStep("start"), MakeStep("a", "file.write", {"start"}), MakeStep("b", "file.write", {"start"})}),
                  request);
    run.Claim();
    run.Pump();
    run.Finish("start", Ok());
    ASSERT_EQ(run.Pump(2).size(), 2u);
    const Document seen = run.state;
    StepResult a = Ok(), b = Ok();
    a.files = {Changed(seen, "x.txt", c.first)};
    b.files = {Changed(seen, c.second_path, c.second)};
    run.Finish("a", a);
    run.Finish("b", b);
    if (c.conflict) {
      EXPECT_THAT(run.Last("step.failed")["error"].get<std::string>(), testing::HasSubstr("it changed /workspace/x.txt, which another"));
      EXPECT_EQ(run.Last("step.failed")["step_id"], "b");
    } else {
      EXPECT_EQ(run.Last("step.completed")["step_id"], "b");
    }
  }
}

TEST(State, AFileInPlaceOfAFolderIntoWhichAnotherStepWrites) {
  for (const bool write_first : {true, false}) {
    CreateRequest request;
    FileChange inside;
    inside.path = "d/x";
    inside.hash = Hash256{9};
    request.files.push_back(inside);
    RunDriver run(
        MakeDefinition({MakeStep("start"), MakeStep("copy", "file.write", {"start"}), MakeStep("write", "file.write", {"start"})}),
        request);
    run.Claim();
    run.Pump();
    run.Finish("start", Ok());
    ASSERT_EQ(run.Pump(2).size(), 2u);
    StepResult copy = Ok(), write = Ok();
    copy.files = {Changed(run.state, "d", 1), Changed(run.state, "d/x", std::nullopt)};
    write.files = {Changed(run.state, "d/y", 2)};
    run.Finish(write_first ? "write" : "copy", write_first ? write : copy);
    run.Finish(write_first ? "copy" : "write", write_first ? copy : write);
    EXPECT_EQ(run.Last("step.failed")["step_id"], write_first ? "copy" : "write");
    EXPECT_THAT(run.Last("step.failed")["error"].get<std::string>(), testing::HasSubstr("/workspace/d"));
  }
}

TEST(Create, TheListingAndTheQueueComeFromTheDefinition) {
  WorkflowDefinition definition = MakeDefinition({MakeStep("a")}, "nightly");
  definition.version = "2.1.0";
  definition.owner.clear();
  definition.queue = "gpu";
  definition.priority = 0;
  CreateRequest request;
  request.submitter = "user:ann";
  request.definition_text = "name: nightly";
  request.request_key = "k1";
  RunDriver run(definition, request);
  EXPECT_EQ(run.created.kind, "workflow");
  EXPECT_EQ(run.created.queue, "gpu");
  EXPECT_EQ(run.created.priority, 0);
  EXPECT_EQ(run.created.request_key, "k1");
  ASSERT_TRUE(run.created.listing);
  EXPECT_EQ(run.created.listing->name, "nightly");
  EXPECT_EQ(run.created.listing->owner, "user:ann");
  EXPECT_EQ(run.created.listing->status, "PENDING");
  EXPECT_EQ(run.created.listing->definition_text, "name: nightly");
}

TEST(Create, ACycleIsRefused) {
  auto kind = MakeWorkflowKind(TestCapabilities());
  CreateRequest request;
  request.subject = RunDriver::RunId();
  auto item = MakeCreateItem(*kind, MakeDefinition({MakeStep("a", "do.pure", {"b"}), MakeStep("b", "do.pure", {"a"})}), request);
  ASSERT_FALSE(item);
  EXPECT_EQ(item.code(), Code::kInvalid);
}

TEST(Forward, AStateThatIsNotARunEndsInARefusedEvent) {
  auto kind = MakeWorkflowKind(TestCapabilities());
  Document state;
  state.Set("run", Json{{"status", "LOST"}});
  Decision decision = kind->Decide(state, ResumedInput{}, WallTime{});
  ASSERT_EQ(decision.events.size(), 1u);
  auto folded = FoldDraft(*kind, state, decision.events[0]);
  ASSERT_FALSE(folded);
  EXPECT_EQ(folded.code(), Code::kInternal);
}

}  // namespace
}  // namespace acl::workflow::test
