#include "shared/definition/loader.h"
#include "shared/definition/duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/definition/test_registry.h"

namespace acl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Loaded Load(const std::string& text, LoadOptions options = {}) {
  static const CapabilityRegistry registry = test::SmallRegistry();
  return LoadWorkflow(text, registry, options);
}

WorkflowDefinition Good(const std::string& text, LoadOptions options = {}) {
  Loaded loaded = Load(text, options);
  for (const Finding& finding : loaded.findings) EXPECT_TRUE(loaded.ok()) << FormatFinding("text", finding);
  return loaded.definition.value_or(WorkflowDefinition{});
}

std::vector<std::string> Codes(const Loaded& loaded) {
  std::vector<std::string> out;
  for (const Finding& finding : loaded.findings)
    out.push_back((finding.severity == Finding::Severity::kError ? "E " : "W ") + finding.code + " " + std::to_string(finding.mark.line) +
                  ":" + std::to_string(finding.mark.column));
  return out;
}

const std::string kOne = "name: w\nsteps:\n  - name: a\n    capability: test.fail\n";

TEST(Loader, DefaultsAreThoseOfCompat) {
  WorkflowDefinition definition = Good(kOne);
  EXPECT_EQ(definition.version, "1.0.0");
  EXPECT_EQ(definition.max_execution_time, seconds(3600));
  EXPECT_TRUE(definition.enable_auto_rollback);
  EXPECT_EQ(definition.queue, "default");
  EXPECT_EQ(definition.priority, 1);
  const StepDefinition& step = definition.steps.at(0);
  EXPECT_EQ(step.type, StepType::kAction);
  EXPECT_EQ(step.risk, RiskLevel::kMedium);
  EXPECT_EQ(step.retry.max_attempts, 3);
  EXPECT_EQ(step.retry.initial_delay, milliseconds(0));
  EXPECT_EQ(step.attempt_timeout, seconds(300));
  EXPECT_FALSE(step.step_timeout);
  EXPECT_FALSE(step.compensation);
  EXPECT_EQ(step.on_unknown_outcome, UnknownOutcome::kAsk);
}

// Equal names are equal bytes: Latin with an accent, Cyrillic, Hangul, marks in another order; composed forms pass.
TEST(Loader, NamesAreNfc) {
  for (std::string decomposed : {"e\u0301", "\u0435\u0308", "\u1100\u1161", "a\u0301\u0323"}) {
    Loaded loaded = Load("name: w\nsteps:\n  - name: \"" + decomposed + "\"\n    capability: test.fail\n");
    EXPECT_THAT(Codes(loaded), testing::ElementsAre("E bad-name 3:11")) << decomposed;
  }
  for (std::string composed : {"\u00e9", "\u0451", "\uac00", "\u1ea1\u0301", "\u4e2d\u6587", "\U0001F600"}) {
    EXPECT_TRUE(Load("name: w\nsteps:\n  - name: \"" + composed + "\"\n    capability: test.fail\n").ok()) << composed;
  }
}

// `timeout_seconds` of a step and `timeout` of its call: the one that is there counts; of both the shorter one, and that is said.
TEST(Loader, TheTimeOfAnAttemptIsWhatTheFileSays) {
  const auto load = [](const std::string& inputs, const std::string& keys) {
    return Load("name: w\ninputs: {t: {type: integer}}\nsteps:\n  - name: a\n    capability: sys.exec.run\n    inputs: {command: x" +
                inputs + "}\n" + keys);
  };
  const auto time_of = [&](const std::string& inputs, const std::string& keys) {
    auto loaded = load(inputs, keys);
    EXPECT_TRUE(loaded.ok()) << testing::PrintToString(Codes(loaded));
    return loaded.definition->steps.at(0).attempt_timeout.count();
  };
  EXPECT_EQ(time_of("", ""), 30) << "the capability's";
  EXPECT_EQ(time_of("", "    timeout_seconds: 120\n"), 120);
  EXPECT_EQ(time_of(", timeout: 600", ""), 600);
  EXPECT_EQ(time_of(", timeout: 10", "    timeout_seconds: 120\n"), 120) << "the call ends itself";
  EXPECT_EQ(time_of(", timeout: '{{t}}'", ""), 86'400) << "the run says it";
  EXPECT_THAT(Codes(load(", timeout: 600", "    timeout_seconds: 120\n")), testing::ElementsAre(testing::StartsWith("W timeout-order 6:")));
  EXPECT_TRUE(Codes(load(", timeout: 100", "    timeout_seconds: 120\n")).empty());
  EXPECT_EQ(Good("name: w\nsteps:\n  - {name: a, capability: no.such}\n").steps.at(0).attempt_timeout, seconds(300));
  const WorkflowDefinition undo = Good(
      "name: w\nsteps:\n  - name: a\n    capability: test.fail\n    compensation: {capability: sys.exec.run, inputs: {command: x, timeout: "
      "600}}\n");
  EXPECT_EQ(undo.steps.at(0).compensation->timeout, seconds(600));
}

TEST(Loader, RetryAndTimeouts) {
  WorkflowDefinition definition =
      Good(kOne +
           "    max_retries: \"5\"\n    timeout_seconds: 10.0\n    step_timeout_seconds: 60\n    on_unknown_outcome: retry\n"
           "    retry: {backoff: linear, initial_delay: 500ms, max_delay: 2m, multiplier: 3, jitter: 0.5}\n");
  const StepDefinition& step = definition.steps.at(0);
  EXPECT_EQ(step.retry.max_attempts, 5);
  EXPECT_EQ(step.retry.backoff, RetryPolicy::Backoff::kLinear);
  EXPECT_EQ(step.retry.initial_delay, milliseconds(500));
  EXPECT_EQ(step.retry.max_delay, milliseconds(120'000));
  EXPECT_EQ(step.retry.multiplier, 3);
  EXPECT_EQ(step.retry.jitter, 0.5);
  EXPECT_EQ(step.attempt_timeout, seconds(10));
  EXPECT_EQ(step.step_timeout, seconds(60));
  EXPECT_EQ(step.on_unknown_outcome, UnknownOutcome::kRetry);
  EXPECT_EQ(Good(kOne + "    retry: {}\n").steps[0].retry.initial_delay, milliseconds(1000));
  EXPECT_EQ(Good(kOne + "    retry: {initial_delay: 90}\n").steps[0].retry.max_delay, milliseconds(90'000));
}

TEST(Loader, RealFilesCoercions) {
  for (const char* yes : {"true", "yes", "on", "1", "'on'", "\"Yes\""})
    EXPECT_TRUE(Good("enable_auto_rollback: " + std::string(yes) + "\n" + kOne).enable_auto_rollback) << yes;
  for (const char* no : {"false", "no", "Off", "0"})
    EXPECT_FALSE(Good("enable_auto_rollback: " + std::string(no) + "\n" + kOne).enable_auto_rollback) << no;
  EXPECT_THAT(Codes(Load("enable_auto_rollback: 2\n" + kOne)), testing::ElementsAre("E wrong-type 1:23"));
  EXPECT_THAT(Codes(Load("max_execution_time_seconds: 2.5\n" + kOne)), testing::ElementsAre("E wrong-type 1:29"));
  EXPECT_THAT(Codes(Load("version: 1.0\n" + kOne)), testing::ElementsAre("E wrong-type 1:10"));
  EXPECT_THAT(Load("version: 1.0\n" + kOne).findings[0].message, testing::HasSubstr("quote it"));
}

TEST(Loader, AttemptsNeverTurnZeroIntoThree) {
  Loaded zero = Load(kOne + "    max_retries: 0\n");
  EXPECT_THAT(Codes(zero), testing::ElementsAre("W no-retries 5:18"));
  EXPECT_EQ(zero.definition->steps[0].retry.max_attempts, 1);
  EXPECT_THAT(Codes(Load(kOne + "    max_retries: -1\n")), testing::ElementsAre("E out-of-range 5:18"));
}

TEST(Loader, AStepThatAsksAPersonIsTakenAtSubmit) {
  LoadOptions submit;
  submit.for_submit = true;
  Loaded loaded = Load(kOne + "  - {name: ask, step_type: HUMAN_APPROVAL, inputs: {message: ok, approval_timeout: 1h}}\n", submit);
  EXPECT_TRUE(loaded.findings.empty());
  ASSERT_TRUE(loaded.ok());
  ASSERT_TRUE(loaded.definition->steps[1].approval);
  EXPECT_EQ(loaded.definition->steps[1].approval->timeout, Json("1h"));
}

TEST(Loader, AStepOnAnotherQueueIsTakenAndOneOnTheRunsOwnIsNothingSpecial) {
  LoadOptions submit;
  submit.for_submit = true;
  Loaded same = Load("queue: gpu\n" + kOne + "    queue: gpu\n", submit);
  ASSERT_TRUE(same.ok());
  EXPECT_FALSE(same.definition->steps[0].queue);
  Loaded other = Load("queue: gpu\n" + kOne + "    queue: cpu\n", submit);
  EXPECT_TRUE(other.findings.empty());
  EXPECT_EQ(other.definition->steps[0].queue, "cpu");
}

TEST(Loader, AStepsPriorityIsTreatedLikeItsQueue) {
  LoadOptions submit;
  submit.for_submit = true;
  EXPECT_TRUE(Load("priority: 2\n" + kOne + "    priority: 2\n", submit).findings.empty());
  EXPECT_TRUE(Load(kOne + "    priority: 1\n", submit).findings.empty());
  Loaded loaded = Load(kOne + "    priority: 0\n", submit);
  EXPECT_TRUE(loaded.findings.empty());
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.definition->steps[0].priority, 0);
  EXPECT_EQ(DefinitionFromJson(DefinitionToJson(*loaded.definition))->steps[0].priority, 0);
  EXPECT_THAT(Codes(Load(kOne + "    priority: 4\n")), testing::ElementsAre("E out-of-range 5:15"));
}

TEST(Loader, CompensationsTakeAttemptsAndTimeAndSayWhatHasNoEffect) {
  Loaded loaded = Load(kOne +
                       "    compensation: {capability: test.fail, max_retries: 5, timeout_seconds: 6}\n"
                       "global_compensation_steps:\n"
                       "  - {name: g, capability: test.fail, max_retries: 0, timeout_seconds: '9', step_type: COMPENSATION}\n"
                       "  - {name: h, capability: test.fail, agent_name: x, risk_level: LOW, step_type: ACTION}\n");
  EXPECT_THAT(Codes(loaded), testing::ElementsAre("W no-retries 7:51", "W ignored-key 8:50", "W ignored-key 8:65", "W ignored-key 8:81"));
  ASSERT_TRUE(loaded.ok());
  const WorkflowDefinition definition = *DefinitionFromJson(DefinitionToJson(*loaded.definition));
  EXPECT_EQ(definition.steps[0].compensation->max_attempts, 5);
  EXPECT_EQ(definition.steps[0].compensation->timeout, std::chrono::seconds(6));
  EXPECT_EQ(definition.global_compensation_steps[0].max_attempts, 1);
  EXPECT_EQ(definition.global_compensation_steps[0].timeout, std::chrono::seconds(9));
  EXPECT_FALSE(definition.global_compensation_steps[1].max_attempts || definition.global_compensation_steps[1].timeout);
}

TEST(Loader, StrictTemplatesAreKeptInTheDefinition) {
  LoadOptions strict;
  strict.strict_templates = true;
  EXPECT_TRUE(DefinitionFromJson(DefinitionToJson(*Load(kOne, strict).definition))->strict_templates);
  EXPECT_FALSE(DefinitionToJson(*Load(kOne).definition).contains("strict_templates"));
}

TEST(Loader, AUnitOfADurationStandsOnce) {
  EXPECT_EQ(ParseDuration("1h30m"), std::chrono::minutes(90));
  for (const char* wrong : {"1h1h", "1h30m10m", "5s5s"}) EXPECT_FALSE(ParseDuration(wrong)) << wrong;
}

TEST(Loader, StrictMakesUnknownThingsErrors) {
  const std::string text = "nmae: x\n" + kOne +
                           "  - {name: b, capability: io.fs.read_fil, inputs: {path: x}}\n  - {name: c, capability: io.fs.read_file, "
                           "inputs: {path: x, mode: y}}\n";
  EXPECT_THAT(Codes(Load(text)), testing::ElementsAre("W unknown-key 1:1", "W unknown-capability 6:27", "W unknown-parameter 7:62"));
  Loaded loaded = Load(text);
  EXPECT_THAT(loaded.findings[0].message, testing::HasSubstr("did you mean 'name'?"));
  EXPECT_THAT(loaded.findings[1].message, testing::HasSubstr("did you mean 'io.fs.read_file'?"));
  LoadOptions strict;
  strict.strict = true;
  EXPECT_THAT(Codes(Load(text, strict)),
              testing::ElementsAre("E unknown-key 1:1", "E unknown-capability 6:27", "E unknown-parameter 7:62"));
}

TEST(Loader, ParametersThatAreNearlyKnownOrStandInTheWrongMapAreErrors) {
  const auto codes = [](const std::string& step) { return Codes(Load("name: w\nsteps:\n  - " + step + "\n")); };
  using testing::ElementsAre;
  const std::string get = "{name: a, capability: net.http.get, ";
  EXPECT_THAT(codes(get + "inputs: {url: u, header: {}}}"), ElementsAre("E unknown-parameter 3:58"));
  EXPECT_THAT(codes(get + "inputs: {url: u, timeuot: 3}}"), ElementsAre("E unknown-parameter 3:58"));
  EXPECT_THAT(codes(get + "inputs: {url: u, time-out: 3}}"), ElementsAre("E unknown-parameter 3:58"));
  EXPECT_THAT(codes(get + "inputs: {url: u, cookies: {}}}"), ElementsAre("W unknown-parameter 3:58")) << "nothing that is known";
  EXPECT_THAT(codes(get + "inputs: {url: u, timeout_seconds: 3}}"), ElementsAre("E misplaced-key 3:58", "W unknown-parameter 3:58"));
  EXPECT_THAT(codes(get + "inputs: {url: u, depends_on: [b]}}"), ElementsAre("E misplaced-key 3:58", "W unknown-parameter 3:58"));
  EXPECT_THAT(codes(get + "inputs: {url: u}, headers: {}}"), ElementsAre("E misplaced-key 3:59", "W unknown-key 3:59"));
  EXPECT_THAT(codes(get + "inputs: {url: u}, compensation: {capability: io.fs.delete, inputs: {path: x, max_retries: 1}}}"),
              ElementsAre("E misplaced-key 3:118", "W unknown-parameter 3:118"));
  LoadOptions before;
  before.accepted_before = true;
  for (const char* step : {"inputs: {url: u, header: {}}}", "inputs: {url: u, timeout_seconds: 3}}", "inputs: {url: u}, headers: {}}"})
    EXPECT_TRUE(Load("name: w\nsteps:\n  - " + get + step + "\n", before).ok()) << "what was accepted goes on: " << step;
}

TEST(Loader, TemplatesNamingWhatIsNotBefore) {
  const std::string text =
      "name: w\ninitial_state: {v: 1}\nsteps:\n"
      "  - {name: a, capability: test.fail, inputs: {message: '{{b.x}} {{v}} {{run_id}}'}}\n"
      "  - {name: b, capability: io.fs.read_file, inputs: {path: '{{a}}'}, compensation: {capability: test.fail, inputs: {message: "
      "'{{b.content}}'}}}\n"
      "  - {name: c, capability: test.fail, inputs: {message: '{{content}} {{contnet}} {{c.x}}'}}\n";
  EXPECT_THAT(Codes(Load(text)), testing::ElementsAre("W template-order 4:5", "W unknown-reference 6:5", "W template-order 6:5"));
  LoadOptions strict;
  strict.strict_templates = true;
  EXPECT_FALSE(Load(text, strict).ok());
  // The plan order counts, not the file order.
  EXPECT_TRUE(Load("name: w\nsteps:\n  - {name: a, capability: test.fail, depends_on: [b], inputs: {message: '{{b}}'}}\n  - {name: b, "
                   "capability: test.fail}\n",
                   strict)
                  .findings.empty());
  // After a capability nobody knows, any bare name may be one of its outputs.
  EXPECT_THAT(Codes(Load("name: w\nsteps:\n  - {name: a, capability: crm.find}\n  - {name: b, capability: test.fail, inputs: {message: "
                         "'{{account_id}}'}}\n")),
              testing::ElementsAre("W unknown-capability 3:27"));
}

TEST(Loader, ParametersAreCheckedWhereLiteral) {
  EXPECT_THAT(
      Codes(Load("name: w\nsteps:\n  - name: a\n    capability: sys.exec.run\n    inputs:\n      args: {}\n      timeout: '{{x}}'\n")),
      testing::ElementsAre("W unknown-reference 3:5", "E bad-parameter 5:5", "E bad-parameter 6:7"));
  EXPECT_TRUE(Load("name: w\nsteps: [{name: a, capability: io.fs.write_file, inputs: {file_path: x, content: y}}]\n").findings.empty());
}

TEST(Loader, AllFindingsOfAFileAtOnceSortedByPlace) {
  Loaded loaded = Load(
      "nam: x\nversion: 2\nsteps:\n  - {name: a, capability: test.fail, depends_on: [zz, a]}\n  - {name: a, capability: 5, risk_level: "
      "low}\n  - {name: ' b'}\n  - 17\n");
  EXPECT_THAT(Codes(loaded),
              testing::ElementsAre("E missing-name 1:1", "W unknown-key 1:1", "E wrong-type 2:10", "E unknown-dependency 4:51",
                                   "E self-dependency 4:55", "E duplicate-name 5:12", "E wrong-type 5:27", "E unknown-word 5:42",
                                   "E missing-capability 6:5", "E bad-name 6:12", "E wrong-type 7:5"));
}

TEST(Loader, CyclesNameTheWayRound) {
  Loaded loaded = Load(
      "name: w\nsteps:\n  - {name: a, capability: test.fail, depends_on: [c]}\n  - {name: b, capability: test.fail, depends_on: [a]}\n  - "
      "{name: c, capability: test.fail, depends_on: [b]}\n");
  ASSERT_EQ(loaded.findings.size(), 1u);
  EXPECT_THAT(loaded.findings[0].message, testing::HasSubstr("a -> c -> b -> a"));
}

TEST(Loader, NamesOfAllScripts) {
  for (const char* name : {"Schritt 1", "größe", "步骤", "خطوة", "a.b-c_d", "\U0001F600"})
    EXPECT_TRUE(Load("name: w\nsteps: [{name: \"" + std::string(name) + "\", capability: test.fail}]\n").ok()) << name;
  for (const char* name : {"", " a", "a ", "a\\tb", "a\\u0000", "a\\u200bb", "a\\u202eb", "e\\u0301", "a/b", "a[0]", "a#1", "undo:a"})
    EXPECT_FALSE(Load("name: w\nsteps: [{name: \"" + std::string(name) + "\", capability: test.fail}]\n").ok()) << name;
  EXPECT_TRUE(Load("name: w\nsteps: [{name: " + std::string(200, 'a') + ", capability: test.fail}]\n").ok());
  EXPECT_FALSE(Load("name: w\nsteps: [{name: " + std::string(201, 'a') + ", capability: test.fail}]\n").ok());
}

TEST(Loader, ManyFindingsAreCut) {
  std::string text = kOne;
  for (int i = 0; i < 2000; ++i) text += "zz" + std::to_string(i) + ": 1\n";
  Loaded loaded = Load(text);
  EXPECT_EQ(loaded.findings.size(), 501u);
  EXPECT_EQ(loaded.findings.back().code, "more-findings");
}

TEST(Loader, LongChainsAndWideGraphs) {
  std::string text = "name: w\nsteps:\n";
  for (int i = 0; i < 4000; ++i)
    text += "- {name: s" + std::to_string(i) + ", capability: test.fail, depends_on: [s" + std::to_string((i + 1) % 4000) + "]}\n";
  LoadOptions options;
  options.max_bytes = 1u << 20;
  Loaded loaded = Load(text, options);
  ASSERT_EQ(loaded.findings.size(), 1u);
  EXPECT_EQ(loaded.findings[0].code, "dependency-cycle");
}

TEST(Plan, FirstInFileOrderWhoseDependenciesAreDone) {
  WorkflowDefinition definition = Good(
      "name: w\nsteps:\n  - {name: a, capability: test.fail}\n  - {name: b, capability: test.fail, depends_on: [d]}\n  - {name: c, "
      "capability: test.fail}\n  - {name: d, capability: test.fail, depends_on: [a]}\n  - {name: e, capability: test.fail}\n");
  EXPECT_EQ(PlanOrder(definition), (std::vector<int>{0, 2, 3, 1, 4}));
  EXPECT_EQ(EffectiveDependencies(definition), (std::vector<std::vector<int>>{{}, {3}, {0}, {0}, {1}}));
}

TEST(Plan, AStepMayWaitForOneThatStandsInAnother) {
  WorkflowDefinition definition = Good(
      "name: w\nsteps:\n  - {name: a, capability: test.fail, depends_on: [y]}\n  - {name: p, step_type: PARALLEL, steps: [{name: x, "
      "capability: test.fail}, {name: y, capability: test.fail}]}\n");
  EXPECT_EQ(PlanOrder(definition), (std::vector<int>{1, 2, 3, 0}));
  EXPECT_EQ(EffectiveDependencies(definition), (std::vector<std::vector<int>>{{3}, {}, {}, {}}));
}

// Against the definition, taken word for word.
RC_GTEST_PROP(Plan, EqualsTheDefinition, ()) {
  const int count = *rc::gen::inRange(1, 12);
  WorkflowDefinition definition;
  for (int i = 0; i < count; ++i) {
    StepDefinition step;
    step.name = std::to_string(i);
    const unsigned mask = *rc::gen::arbitrary<unsigned>() & *rc::gen::arbitrary<unsigned>();
    for (int on = 0; on < count; ++on)
      if (on != i && (mask >> on & 1)) step.depends_on.push_back(std::to_string(on));
    definition.steps.push_back(std::move(step));
  }
  std::vector<int> expected;
  std::set<std::string> done;
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < count && !moved; ++i) {
      const StepDefinition& step = definition.steps[static_cast<std::size_t>(i)];
      if (done.contains(step.name) ||
          !std::all_of(step.depends_on.begin(), step.depends_on.end(), [&](const std::string& on) { return done.contains(on); }))
        continue;
      expected.push_back(i);
      done.insert(step.name);
      moved = true;
    }
  }
  RC_ASSERT(PlanOrder(definition) == expected);
}

TEST(DefinitionJson, RoundTripKeepsEverything) {
  WorkflowDefinition definition = Good(
      "name: w\nworkflow_id: id\nversion: '2'\ndescription: d\nmetadata: {owner: me, tags: [x]}\ninitial_state: {z: 1, a: [2.0]}\nqueue: "
      "q\npriority: 3\nenable_auto_rollback: false\nmax_execution_time_seconds: 9\n"
      "inputs: {i: {type: integer, default: 4}, s: string}\npolicy: [{agent_name: me}]\nglobal_compensation_steps: [{capability: "
      "test.fail}, {name: last, capability: test.fail, inputs: {message: m}}]\n"
      "steps:\n  - {name: a, capability: test.fail, step_timeout_seconds: 700, on_unknown_outcome: fail, retry: {backoff: fixed, jitter: "
      "0.25}, compensation: {capability: io.fs.delete, inputs: {path: p}, description: u}}\n"
      "  - {name: b, capability: test.fail, queue: other, depends_on: [a], risk_level: CRITICAL}\n"
      "  - {name: c, wait: 5}\n  - {name: d, step_type: WAIT, wait: {until: '2027-01-01T08:00:00+01:00'}}\n");
  Json stored = DefinitionToJson(definition);
  auto again = DefinitionFromJson(*ParseJson(DumpJson(stored)));
  ASSERT_TRUE(again.ok()) << again.error();
  EXPECT_EQ(DefinitionToJson(*again).dump(), stored.dump());
  EXPECT_EQ(again->steps[1].queue, "other");
  EXPECT_EQ(again->steps[2].wait->time, 5);
  EXPECT_FALSE(again->steps[2].wait->until);
  EXPECT_TRUE(again->steps[3].wait->until);
  EXPECT_EQ(again->global_compensation_names, (std::vector<std::string>{"global:1", "last"}));
  EXPECT_EQ(again->steps[0].agent_name, "me");
}

// Version 1 said everything of every step, and nothing before them.
TEST(DefinitionJson, TheFirstVersionIsReadAsWell) {
  const Json stored = DefinitionToJson(
      Good("name: w\nsteps:\n  - {name: a, capability: test.fail}\n  - {name: b, capability: test.fail, risk_level: CRITICAL}\n"));
  EXPECT_EQ(stored["steps"][1], Json({{"name", "b"}, {"capability", "test.fail"}, {"risk", "CRITICAL"}}));
  Json first = stored;
  first["schema_version"] = 1;
  for (Json& step : first["steps"]) {
    Json whole = stored["step_defaults"];
    whole.update(step);
    whole["depends_on"] = Json::array();
    step = whole;
  }
  first.erase("step_defaults");
  auto read = DefinitionFromJson(first);
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(DefinitionToJson(*read).dump(), stored.dump());
}

TEST(DefinitionJson, DamageIsCorruptNotACrash) {
  Json stored = DefinitionToJson(Good(kOne));
  for (const auto& [key, value] : stored.items()) {
    Json damaged = stored;
    damaged[key] = value.is_string() ? Json(5) : Json("x");
    EXPECT_EQ(DefinitionFromJson(damaged).ok(), false) << key;
  }
  Json newer = stored;
  newer["schema_version"] = kDefinitionSchemaVersion + 1;
  EXPECT_EQ(DefinitionFromJson(newer).code(), Code::kCorrupt);
  EXPECT_EQ(DefinitionFromJson(Json::array()).code(), Code::kCorrupt);
}

TEST(Inputs, AreBoundedByTheirNumber) {
  Json many = Json::object();
  for (int i = 0; i <= 10'000; ++i) many.get_ref<Json::object_t&>().emplace_back("i" + std::to_string(i), 1);
  WorkflowDefinition definition;
  const auto refused = CheckInputs(definition, many);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.message().find("10001 inputs, 10000 are allowed"), std::string::npos) << refused.message();
  many.erase("i0");
  EXPECT_TRUE(CheckInputs(definition, many));
}

TEST(Inputs, CheckedAndDefaulted) {
  WorkflowDefinition definition =
      Good("name: w\ninputs:\n  folder: string\n  count: {type: integer, default: 3}\n  note: {required: false}\n" + kOne.substr(8));
  EXPECT_EQ(*CheckInputs(definition, *ParseJson(R"({"folder":"x"})")), *ParseJson(R"({"folder":"x","count":3})"));
  auto wrong = CheckInputs(definition, *ParseJson(R"({"count":"x","foldr":1})"));
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.code(), Code::kInvalid);
  for (const char* part : {"'folder' is missing", "'count' must be an integer", "'foldr'; did you mean 'folder'?"})
    EXPECT_THAT(wrong.message(), testing::HasSubstr(part));
  EXPECT_FALSE(CheckInputs(definition, Json::array()).ok());
  EXPECT_EQ(*ReadInput(definition, "count", "12"), 12);
  EXPECT_FALSE(ReadInput(definition, "count", "twelve").ok());
  EXPECT_EQ(*ReadInput(definition, "folder", "12"), "12");
  EXPECT_EQ(*ReadInput(definition, "note", "[1]"), *ParseJson("[1]"));
  EXPECT_EQ(*ReadInput(definition, "note", "plain words"), "plain words");
  EXPECT_FALSE(ReadInput(definition, "cuont", "1").ok());
  EXPECT_EQ(*CheckInputs(Good(kOne), *ParseJson(R"({"any":1})")), *ParseJson(R"({"any":1})"));
}

// What is found is bounded too: a message shows the beginning of what it quotes, and of very many only so many are kept.
TEST(Loader, FindingsAreBounded) {
  std::string many = kOne + "    inputs: {";
  for (int i = 0; i < 40'000; ++i) many += "k" + std::to_string(i) + ": 1, ";
  const Loaded unknown = Load(many + "}\n");
  EXPECT_TRUE(unknown.ok());
  ASSERT_EQ(unknown.findings.size(), 501u);
  EXPECT_EQ(unknown.findings.back().code, "more-findings");
  EXPECT_EQ(unknown.findings.back().message, "and " + std::to_string(limits::kFindingsKept - 500) + " or more");
  const Loaded strict = Load(many + "}\n", {.strict = true});
  EXPECT_FALSE(strict.ok());
  std::string large = kOne + "    inputs: {\"" + std::string(500'000, 'k') + "\": 1}\n";
  const Loaded long_key = Load(large);
  ASSERT_FALSE(long_key.findings.empty());
  for (const Finding& finding : long_key.findings) EXPECT_LT(finding.message.size(), 1'200u);
  std::string references = "name: w\nsteps:\n  - {name: a, capability: test.fail, inputs: {message: \"";
  for (int i = 0; i < 30'000; ++i) references += "{{nobody" + std::to_string(i) + "}}";
  EXPECT_EQ(Load(references + "\"}}\n").findings.back().code, "more-findings");
}

// What is not an error takes no error's place, and of those that are shown no error is left out for what is none.
TEST(Loader, AnErrorBehindManyWarningsIsAnError) {
  std::string many = kOne;
  for (int i = 0; i < 25'000; ++i) many += "    k" + std::to_string(i) + ": 1\n";
  EXPECT_TRUE(Load(many).ok());
  const Loaded loaded = Load(many + "    retry: 7\n");
  EXPECT_FALSE(loaded.ok());
  ASSERT_EQ(loaded.findings.size(), 501u);
  EXPECT_EQ(loaded.findings[499].severity, Finding::Severity::kError);
  EXPECT_EQ(loaded.findings[499].code, "wrong-type");
}

}  // namespace
}  // namespace acl
