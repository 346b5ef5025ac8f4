// Templates, braces and keys as they are written in a file: what the loader says of them, and what a run is told to do about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/definition/loader.h"
#include "tests/unit/definition/test_registry.h"

namespace acl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Loaded LoadText(const std::string& text, LoadOptions options = {}) {
  static const CapabilityRegistry registry = test::SmallRegistry();
  return LoadWorkflow(text, registry, options);
}

// "E code line:column", one a finding.
std::vector<std::string> PlacesOf(const Loaded& loaded) {
  std::vector<std::string> out;
  for (const Finding& finding : loaded.findings)
    out.push_back((finding.severity == Finding::Severity::kError ? "E " : "W ") + finding.code + " " + std::to_string(finding.mark.line) +
                  ":" + std::to_string(finding.mark.column));
  return out;
}

const std::string kOneStep = "name: w\nsteps:\n  - name: a\n    capability: test.fail\n";

// With one capability that has an effect and waits between attempts, beside the small ones.
Loaded LoadWithEffect(const std::string& text, LoadOptions options = {}) {
  CapabilityRegistry registry = test::SmallRegistry();
  CapabilityDefinition effect;
  effect.id = "do.effect";
  effect.effect = EffectClass::kNonIdempotent;
  effect.retry_delay = seconds(1);
  registry.Add(std::move(effect), [](const Json&, CallContext&) { return StepResult{}; });
  return LoadWorkflow(text, registry, options);
}

TEST(LoaderTemplates, EffectsNeedValuesUnlessTheFileOrTheCallerIsLenient) {
  const auto needs = [](const std::string& text, LoadOptions options = {}) {
    Loaded loaded = LoadWithEffect(text, options);
    EXPECT_TRUE(loaded.ok()) << text;
    if (!loaded.ok()) return false;
    EXPECT_EQ(DefinitionToJson(*loaded.definition).contains("effects_need_values"), loaded.definition->effects_need_values);
    return DefinitionFromJson(DefinitionToJson(*loaded.definition))->effects_need_values;
  };
  const std::string effect = "name: w\nsteps: [{name: a, capability: do.effect, inputs: {x: '{{y}}'}}]\n";
  EXPECT_TRUE(needs(effect));
  EXPECT_FALSE(needs(effect, {.strict_templates = false, .lenient_templates = true}));
  EXPECT_FALSE(needs("lenient_templates: true\n" + effect));
  EXPECT_TRUE(needs("lenient_templates: false\n" + effect));
  EXPECT_TRUE(needs("name: w\nsteps: [{name: a, capability: crm.find, inputs: {x: '{{y}}'}}]\n")) << "a worker may know it";
  EXPECT_TRUE(needs("name: w\nsteps: [{name: a, capability: test.fail, compensation: {capability: do.effect, inputs: {x: '{{a}}'}}}]\n"));
  // Nothing that costs a byte where no effect has a template.
  EXPECT_FALSE(needs("name: w\nsteps: [{name: a, capability: do.effect, inputs: {x: y}}]\n"));
  EXPECT_FALSE(needs("name: w\nsteps: [{name: a, capability: test.fail, inputs: {message: '{{y}}'}}]\n"));
}

TEST(LoaderTemplates, WhatIsNearlyATemplateIsAnErrorAtItsPlace) {
  const std::string text =
      "name: w\nsteps:\n  - name: a\n    capability: test.fail\n    inputs:\n      message: |\n        über {{ l }}\n"
      "        and {{ l | uper }} then {{ l | uper }}\n";
  EXPECT_THAT(PlacesOf(LoadText(text)), testing::ElementsAre("W unknown-reference 3:5", "E bad-template 8:13", "E bad-template 8:33"));
  EXPECT_THAT(LoadText(text).findings[1].message, testing::HasSubstr("did you mean 'upper'?"));
  const std::vector<std::string> warned = {"W unknown-reference 3:5", "W bad-template 8:13", "W bad-template 8:33"};
  LoadOptions lenient, before;
  lenient.lenient_templates = true;
  before.accepted_before = true;
  for (const LoadOptions& options : {lenient, before}) {
    EXPECT_EQ(PlacesOf(LoadText(text, options)), warned);
    EXPECT_TRUE(LoadText(text, options).ok());
  }
}

// A key that says whether or when something happens is not passed over; other unknown keys are.
TEST(LoaderTemplates, AKeyThatWouldDecideIsAnError) {
  for (const char* key : {"unless",
                          "needs",
                          "run_if",
                          "only_if",
                          "skip",
                          "rollback",
                          "on_error",
                          "continue_on_error",
                          "depend_on",
                          "dependsOn",
                          "If",
                          "IF",
                          "continue-on-error",
                          "continueOnError",
                          "continue_on_fail",
                          "timout",
                          "retires",
                          "start_at",
                          "retries",
                          "timeout",
                          "loop",
                          "requires_approval",
                          "finally",
                          "trigger_rule",
                          "compensatoin"}) {
    Loaded loaded = LoadText(kOneStep + "    " + key + ": x\n");
    ASSERT_THAT(PlacesOf(loaded), testing::ElementsAre("E unknown-key 5:5")) << key;
    EXPECT_THAT(loaded.findings[0].message, testing::HasSubstr("would not happen: "));
    LoadOptions before;
    before.accepted_before = true;
    EXPECT_THAT(PlacesOf(LoadText(kOneStep + "    " + key + ": x\n", before)), testing::ElementsAre("W unknown-key 5:5")) << key;
  }
  for (const char* key : {"tags", "notes", "labels", "x-if", "icon", "owner", "title"})
    EXPECT_TRUE(LoadText(kOneStep + "    " + key + ": x\n").ok()) << key;
  EXPECT_FALSE(LoadText("schedule: x\n" + kOneStep).ok());
  EXPECT_FALSE(LoadText(kOneStep + "    retry: {delay: 3s}\n").ok());
  EXPECT_FALSE(LoadText(kOneStep + "    compensation: {capability: test.fail, if: x}\n").ok());
  EXPECT_TRUE(LoadText("metadata: {if: x, when: y}\n" + kOneStep).ok());
  EXPECT_FALSE(LoadText(kOneStep + "    queue: '{{q}}'\n").ok()) << "nobody serves a queue of that name";
  EXPECT_FALSE(LoadText("queue: '{{q}}'\n" + kOneStep).ok());
}

TEST(LoaderTemplates, AttemptsOutsideWaitUnlessTheFileSaysOtherwise) {
  const auto retry = [](const std::string& more) {
    return LoadWithEffect("name: w\nsteps: [{name: a, capability: do.effect" + more + "}]\n").definition->steps.at(0).retry;
  };
  EXPECT_EQ(retry("").initial_delay, seconds(1));
  EXPECT_EQ(retry("").backoff, RetryPolicy::Backoff::kExponential);
  EXPECT_GT(retry("").jitter, 0);
  EXPECT_EQ(retry(", max_retries: 5").initial_delay, seconds(1));
  EXPECT_EQ(retry(", retry: {initial_delay: 0}").initial_delay, milliseconds(0));
  EXPECT_EQ(retry(", retry: {backoff: fixed}").jitter, 0);
  EXPECT_EQ(LoadText(kOneStep).definition->steps.at(0).retry.initial_delay, milliseconds(0));
}

TEST(LoaderTemplates, ACompensationSaysWhatItsUnknownOutcomeMeans) {
  WorkflowDefinition definition =
      *LoadText(kOneStep + "    compensation: {capability: test.fail, on_unknown_outcome: retry}\n" +
                "global_compensation_steps: [{capability: test.fail, on_unknown_outcome: fail}, {capability: test.fail}]\n")
           .definition;
  definition = *DefinitionFromJson(DefinitionToJson(definition));
  EXPECT_EQ(definition.steps.at(0).compensation->on_unknown_outcome, UnknownOutcome::kRetry);
  EXPECT_EQ(definition.global_compensation_steps.at(0).on_unknown_outcome, UnknownOutcome::kFail);
  EXPECT_EQ(definition.global_compensation_steps.at(1).on_unknown_outcome, UnknownOutcome::kAsk);
  EXPECT_FALSE(LoadText(kOneStep + "    compensation: {capability: test.fail, on_unknown_outcome: sometimes}\n").ok());
}

TEST(LoaderTemplates, AReferenceInsideJsonTextIsSaid) {
  const auto codes = [](const std::string& text) {
    return PlacesOf(
        LoadText("name: w\ninputs: {o: string, n: integer}\nsteps:\n  - name: a\n    capability: test.fail\n    inputs:\n"
                 "      message: '" +
                 text + "'\n"));
  };
  EXPECT_THAT(codes(R"({"order":"{{o}}"})"), testing::ElementsAre("W json-text 7:27"));
  EXPECT_THAT(codes(R"( [{"a": {{o}}, "b": {{n}}, "c": "x {{n}}"}])"), testing::ElementsAre("W json-text 7:25", "W json-text 7:52"));
  EXPECT_THAT(codes(R"({"a":"{{o | json}}"})"), testing::ElementsAre("W json-text 7:23"));
  for (const char* fine :
       {R"({"order":{{o | json}},"n":{{n}},"l":{{ o | length }}})", "{{o}}", "{{o}}{{o}}", "[x] {{o}}", R"("{{o}}")", "{ {{o}} }"})
    EXPECT_TRUE(codes(fine).empty()) << fine;
}

TEST(LoaderTemplates, AReferenceInAProgramsTextIsSaid) {
  const auto codes = [](const std::string& inputs) {
    return PlacesOf(LoadText(
        "name: w\ninputs: {o: string, n: integer}\nsteps:\n  - name: a\n    capability: sys.exec.run\n    inputs: " + inputs + "\n"));
  };
  EXPECT_THAT(codes("{command: 'sh -c \"echo {{o}} {{n}}\" {{o}}'}"), testing::ElementsAre("W program-text 6:36"));
  EXPECT_THAT(codes("{command: sh, args: ['-c', 'echo {{ o }}', '{{o}}']}"), testing::ElementsAre("W program-text 6:46"));
  for (const char* fine : {"{command: sh, args: ['-c', 'echo $1 {{n}}', '{{o}}']}", "{command: echo, args: ['{{o}}']}",
                           "{command: 'sleep {{n}}'}", "{command: 'echo {{o}} {{n}}'}", "{command: '{{o}}'}"})
    EXPECT_TRUE(codes(fine).empty()) << fine;
}

// One way through the text, however many there are and however long its lines: it took minutes, looked for from the line's beginning each
// time.
TEST(LoaderTemplates, ALineOfNothingButMistakesIsReadOnce) {
  std::string text = kOneStep + "    inputs: {message: \"ü ";
  for (int i = 0; i < 150'000; ++i) text += "{{a[}}";
  const Loaded loaded = LoadText(text + "\"}\n");
  EXPECT_FALSE(loaded.ok());
  ASSERT_EQ(loaded.findings.size(), 501u);
  const auto places = PlacesOf(loaded);
  EXPECT_EQ(places[0], "E bad-template 5:26");
  EXPECT_EQ(places[1], "E bad-template 5:32");
  EXPECT_EQ(places[499], "E bad-template 5:" + std::to_string(26 + 499 * 6));
}

// Parts that the file writes otherwise are looked for in vain, and at some point no more: the value's own place is said.
TEST(LoaderTemplates, PartsThatTheFileWritesOtherwiseAreNotLookedForForEver) {
  std::string text = "{\"name\": \"w\", \"steps\": [{\"name\": \"a\", \"capability\": \"test.fail\", \"inputs\": {\"message\": \"";
  for (int i = 0; i < 80'000; ++i) text += "\\u007b{a[}}";
  const Loaded loaded = LoadText(text + "\"}}]}");
  EXPECT_FALSE(loaded.ok());
}

TEST(LoaderTemplates, ManyInputsAndManyReferencesAreCheckedAsFewAre) {
  std::string text = "name: w\ninputs:\n", command;
  for (int i = 0; i < 15'000; ++i) text += "  i" + std::to_string(i) + ": {type: integer}\n";
  text += "initial_state: {i14999x: 1}\nsteps:\n";
  for (int i = 0; i < 20'000; ++i) command += "{{i14999}}";
  for (int i = 0; i < 3'000; ++i) text += "  - {name: s" + std::to_string(i) + ", capability: test.fail}\n";
  text += "  - {name: i14999, capability: test.fail, inputs: {message: '[" + command + "]'}}\n";
  const Loaded loaded = LoadText(text);
  EXPECT_TRUE(loaded.ok());
  const auto collides = [](const Finding& finding) { return finding.code == "name-collision"; };
  EXPECT_EQ(std::count_if(loaded.findings.begin(), loaded.findings.end(), collides), 1);
}

}  // namespace
}  // namespace acl
