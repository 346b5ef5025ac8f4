// What templates may name: what the step waits for, outputs that the capability declares, inputs of the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/definition/loader.h"
#include "tests/unit/definition/test_registry.h"

namespace acl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Loaded LoadTemplates(const std::string& text, bool strict = false) {
  CapabilityRegistry registry = test::SmallRegistry();
  CapabilityDefinition open;
  open.id = "open.any";
  open.results = {{"first", "any"}};
  open.open_results = true;
  registry.Add(std::move(open), [](const Json&, CallContext&) { return StepResult{}; });
  LoadOptions options;
  options.strict_templates = strict;
  return LoadWorkflow(text, registry, options);
}

// "W code line", one a finding.
std::vector<std::string> CodesByLine(const Loaded& loaded) {
  std::vector<std::string> out;
  for (const Finding& finding : loaded.findings)
    out.push_back((finding.severity == Finding::Severity::kError ? "E " : "W ") + finding.code + " " + std::to_string(finding.mark.line));
  return out;
}

std::string Diamond(const std::string& c, const std::string& d) {
  return "name: w\nsteps:\n"
         "  - {name: a, capability: io.fs.read_file, inputs: {path: x}}\n"
         "  - {name: b, capability: sys.exec.run, inputs: {command: ls}, depends_on: [a]}\n"
         "  - {name: c, capability: test.fail, inputs: {message: '" +
         c + "'}, depends_on: [a]}\n  - {name: d, capability: test.fail, inputs: {message: '" + d + "'}, depends_on: [b, c]}\n";
}

TEST(References, AStepSeesOnlyWhatItWaitsFor) {
  EXPECT_TRUE(LoadTemplates(Diamond("{{a.content}} {{content}}", "{{a.content}} {{b.stdout}} {{stdout}} {{c}}"), true).findings.empty());
  Loaded loaded = LoadTemplates(Diamond("{{b.stdout}}", "x"));
  ASSERT_THAT(CodesByLine(loaded), ElementsAre("W template-order 5"));
  EXPECT_TRUE(loaded.ok());
  EXPECT_THAT(loaded.findings[0].message, HasSubstr("add 'b' to 'depends_on'"));
  EXPECT_THAT(CodesByLine(LoadTemplates(Diamond("{{b.stdout}}", "x"), true)), ElementsAre("E template-order 5"));
  // An output by its own name is no other.
  loaded = LoadTemplates(Diamond("{{stdout}}", "x"), true);
  ASSERT_THAT(CodesByLine(loaded), ElementsAre("E template-order 5"));
  EXPECT_THAT(loaded.findings[0].message, HasSubstr("add 'b' to 'depends_on'"));
  // Of a step that waits for this one: depends_on would be a cycle.
  loaded = LoadTemplates(Diamond("{{d}} {{c}}", "x"));
  ASSERT_THAT(CodesByLine(loaded), ElementsAre("W template-order 5", "W template-order 5"));
  EXPECT_THAT(loaded.findings[0].message, HasSubstr("runs after it"));
  EXPECT_THAT(loaded.findings[1].message, HasSubstr("names the step itself"));
}

// Of so many steps no table of all is kept; the answers are the same.
TEST(References, VeryManyStepsAreCheckedAsFewAre) {
  std::string more;
  for (int i = 0; i < 12'000; ++i) more += "  - {name: n" + std::to_string(i) + ", capability: test.fail, depends_on: [d]}\n";
  const Loaded sound = LoadTemplates(Diamond("{{a.content}}", "{{b.stdout}} {{c}}") + more, true);
  EXPECT_TRUE(sound.findings.empty()) << sound.findings[0].message;
  const Loaded loaded = LoadTemplates(Diamond("{{b.stdout}} {{d}}", "x") + more);
  ASSERT_THAT(CodesByLine(loaded), ElementsAre("W template-order 5", "W template-order 5"));
  EXPECT_THAT(loaded.findings[0].message, HasSubstr("add 'b' to 'depends_on'"));
  EXPECT_THAT(loaded.findings[1].message, HasSubstr("runs after it"));
}

TEST(References, AStepWithoutDependenciesWaitsForTheOneBefore) {
  const std::string text =
      "name: w\nsteps:\n  - {name: a, capability: io.fs.read_file, inputs: {path: x}}\n  - {name: b, capability: test.fail}\n"
      "  - {name: c, capability: test.fail, inputs: {message: '{{a.size}}{{b}}'}}\n";
  EXPECT_TRUE(LoadTemplates(text, true).findings.empty());
}

TEST(References, CompensationsSeeTheirStepAndGlobalOnesEverything) {
  const std::string undo = ", compensation: {capability: test.fail, inputs: {message: '{{b.stdout}}{{a.size}}'}}";
  std::string text = Diamond("x", "y");
  text.insert(text.find(", depends_on: [a]}\n"), undo);
  text += "global_compensation_steps: [{name: g, capability: test.fail, inputs: {message: '{{c}}{{b.stdout}}{{b.stdot}}'}}]\n";
  EXPECT_THAT(CodesByLine(LoadTemplates(text)), ElementsAre("W unknown-output 7"));
}

TEST(References, AMisspeltOutputIsSaidWithWhatMayBeMeant) {
  Loaded loaded = LoadTemplates(Diamond("{{a.contnet}} {{a.content}} {{a}}", "{{b.exit_code}}"), true);
  ASSERT_THAT(CodesByLine(loaded), ElementsAre("E unknown-output 5"));
  EXPECT_THAT(loaded.findings[0].message, HasSubstr("(content, size, success)"));
  EXPECT_THAT(loaded.findings[0].message, HasSubstr("did you mean 'content'?"));
  EXPECT_THAT(CodesByLine(LoadTemplates(Diamond("{{a.contnet}}", "x"))), ElementsAre("W unknown-output 5"));
  // Nothing is known of these: no results declared, more than declared, no such capability.
  EXPECT_TRUE(LoadTemplates(Diamond("x", "{{c.whatever}}"), true).findings.empty());
  EXPECT_THAT(CodesByLine(LoadTemplates("name: w\nsteps:\n  - {name: a, capability: open.any}\n  - {name: b, capability: crm.find}\n"
                                        "  - {name: c, capability: test.fail, inputs: {message: '{{a.x}} {{b.y}} {{first}} {{z}}'}}\n",
                                        true)),
              ElementsAre("W unknown-capability 4"));
}

TEST(References, ADefaultMakesAMissingOneHarmless) {
  EXPECT_THAT(CodesByLine(LoadTemplates(Diamond("{{a.contnet | default(1)}} {{nothing | default(2) | json}}", "x"), true)),
              ElementsAre("W unknown-output 5", "W unknown-reference 5"));
  EXPECT_THAT(CodesByLine(LoadTemplates(Diamond("{{nothing | default(1)}} {{nothing}}", "x"), true)), ElementsAre("E unknown-reference 5"));
}

TEST(References, InputsByTheirOwnName) {
  const std::string steps = "steps: [{name: a, capability: test.fail, inputs: {message: '{{inputs.who}} {{inputs}} {{run_id}}'}}]\n";
  EXPECT_TRUE(LoadTemplates("name: w\n" + steps, true).findings.empty());  // a file without `inputs` takes any
  EXPECT_TRUE(LoadTemplates("name: w\ninputs: {who: string}\n" + steps, true).findings.empty());
  Loaded loaded = LoadTemplates("name: w\ninputs: {whom: string}\n" + steps, true);
  ASSERT_THAT(CodesByLine(loaded), ElementsAre("E unknown-reference 3"));
  EXPECT_THAT(loaded.findings[0].message, HasSubstr("did you mean 'whom'?"));
}

TEST(References, AStepWithTheNameOfAnOutputOrVariableIsSaid) {
  Loaded loaded = LoadTemplates(
      "name: w\ninputs: {order: string}\nsteps:\n"
      "  - {name: content, capability: text.template.render, inputs: {template: x, variables: x}}\n"
      "  - {name: read, capability: io.fs.read_file, inputs: {path: '{{content.rendered}}'}}\n"
      "  - {name: timestamp, capability: sys.info.get_time}\n"
      "  - {name: order, capability: test.fail, inputs: {message: '{{timestamp.timestamp}} {{read.content}} {{content}}'}}\n",
      true);
  ASSERT_THAT(CodesByLine(loaded), ElementsAre("W name-collision 4", "W name-collision 6", "W name-collision 7"));
  EXPECT_THAT(loaded.findings[0].message, HasSubstr("an output of step 'read' (io.fs.read_file)"));
  EXPECT_THAT(loaded.findings[0].message, HasSubstr("{{read.content}}"));
  EXPECT_THAT(loaded.findings[1].message, HasSubstr("{{timestamp.timestamp}}"));
  EXPECT_THAT(loaded.findings[2].message, HasSubstr("an input"));
  // The name is the step's, so what its capability does not answer is not there.
  EXPECT_THAT(CodesByLine(LoadTemplates("name: w\nsteps:\n  - {name: content, capability: io.fs.delete, inputs: {path: x}}\n"
                                        "  - {name: b, capability: io.fs.read_file, inputs: {path: x}}\n"
                                        "  - {name: c, capability: test.fail, inputs: {message: '{{content.size}}'}}\n")),
              ElementsAre("W name-collision 3", "W unknown-output 5"));
}

TEST(References, ManyStepsStayCheap) {
  std::string text = "name: w\nsteps:\n";
  for (int i = 0; i < 4000; ++i) text += "- {name: s" + std::to_string(i) + ", capability: test.fail, inputs: {message: '{{s0}}'}}\n";
  CapabilityRegistry registry = test::SmallRegistry();
  LoadOptions options;
  options.max_bytes = 1u << 20;
  EXPECT_THAT(CodesByLine(LoadWorkflow(text, registry, options)), ElementsAre("W template-order 3"));
}

}  // namespace
}  // namespace acl
