// docs/guides/agents.md and examples/agent say what the code takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/unit/kinds/agent/agent_driver.h"

namespace acl::agent::test {
namespace {

using testing::HasSubstr;

std::string TextOf(const std::string& path) {
  std::ifstream file(std::string(ACL_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(AgentGuideTest, ItsFilesAreAgentFiles) {
  const std::string guide = TextOf("docs/guides/agents.md");
  int files = 0, parts = 0;
  for (std::size_t at = guide.find("```yaml\n"); at != std::string::npos; at = guide.find("```yaml\n", at + 1)) {
    std::string text = guide.substr(at + 8, guide.find("```", at + 8) - at - 8);
    if (text.starts_with("extensions:")) {
      text = "agent: x\nplanner: {command: p}\n" + text;
      ++parts;
    }
    const LoadedAgent loaded = LoadAgent(text, nullptr);
    for (const Finding& finding : loaded.findings) ADD_FAILURE() << text << FormatFinding("guide", finding);
    files += loaded.definition.has_value() ? 1 : 0;
  }
  EXPECT_EQ(files, 5);
  EXPECT_EQ(parts, 1);
}

TEST(AgentGuideTest, NamesEveryPhaseKeyLimitAndCode) {
  const std::string guide = TextOf("docs/guides/agents.md");
  for (const PhaseRule& rule : kPhaseRules) EXPECT_THAT(guide, HasSubstr("`" + std::string(rule.name) + "`"));
  for (const char* word : {"turns_per_wake",
                           "actions_per_turn",
                           "moves_per_minute",
                           "moves_without_change",
                           "requests",
                           "on_unknown_outcome",
                           "pollers",
                           "ask_before",
                           "extensions",
                           "tasks: next",
                           "every",
                           "ask_first",
                           "budget",
                           "prune",
                           "redact",
                           "on_failure",
                           "not-allowed",
                           "unknown-capability",
                           "bad-inputs",
                           "too-many",
                           "loop",
                           "rejected",
                           "approval-timeout",
                           "interrupted",
                           "uncertain",
                           "dropped"})
    EXPECT_THAT(guide, HasSubstr("`" + std::string(word))) << word;
  const Limits limits;
  EXPECT_THAT(guide,
              HasSubstr("`turns_per_wake` (" + std::to_string(limits.turns_per_wake) + "), `actions_per_turn` (" +
                        std::to_string(limits.actions_per_turn) + "), `moves_per_minute` (" + std::to_string(limits.moves_per_minute) +
                        "), `moves_without_change` (" + std::to_string(limits.moves_without_change) + ")"));
}

TEST(AgentGuideTest, TheExampleIsAnAgentFile) {
  const LoadedAgent loaded = LoadAgent(TextOf("examples/agent/tidy-notes.yaml"), nullptr);
  for (const Finding& finding : loaded.findings) ADD_FAILURE() << FormatFinding("tidy-notes.yaml", finding);
  EXPECT_TRUE(loaded.definition);
}

TEST(AgentFileTest, EveryMistakeHasAPlaceAndAWayOut) {
  struct Case {
    const char *file, *said;
  };
  const Case cases[] = {
      {"", "begin with 'agent: NAME'"},
      {"agent: a b\nplanner: {command: p}\n", "1:8: error: bad-name"},
      {"agent: a\nplanner: {command: p}\nask_before: ['risk:HUGE']\n", "a risk is LOW, MEDIUM, HIGH or CRITICAL"},
      {"agent: a\nplanner: {command: p}\ncapabilities: ['*.read']\n", "write 'io.fs.read_file', 'io.fs.*' or '*'"},
      {"agent: a\nplanner: {command: p}\ncapabilities: [look.pur]\n", "did you mean 'look.pure'"},
      {"agent: a\nplanner: {command: p}\nlimits: {turns_per_wake: 0}\n", "turns_per_wake"},
      {"agent: a\nplanner: {rules: [{actions: [{inputs: {}}]}]}\n", "'capability' of an action is missing"},
      {"agent: a\nplanner: {command: p}\nextensions: [{name: e, phases: [before_action]}]\n", "one of command, url and builtin"},
      {"agent: a\nplanner: {command: p}\nextensions: [{name: e, phases: [before_action], command: x, on_failure: open}]\n", "fails-open"},
      {"agent: a\nplanner: {command: p}\nevery: 10ms\n", "at least 1000 ms"},
      {"agent: a\nplanner: {rules: [{when: \"stimulus.knd == 'x'\"}]}\n", "did you mean 'kind'"},
      {"agent: a\nplanner: {rules: [{when: \"length(stimulis) > 0\"}]}\n", "did you mean 'stimuli'"},
      {"agent: a\nplanner: {command: p}\nextensions: [{name: e, phases: [before_request], builtin: redact, config: {patterns: ['[']}}]\n",
       "no regular expression"},
      {"agent: a\nplanner: {command: p}\nextensions: [{name: e, phases: [before_request], builtin: budgets}]\n",
       "none of ask_first, budget"},
      {"agent: a\nplanner: {command: p}\nextensions: [{name: e, phases: [before_request], url: 'ftp://x'}]\n", "http:// or https://"},
      {"agent: a\n---\nagent: b\n", "one agent a file"},
  };
  for (const Case& one : cases) {
    std::string all;
    const LoadedAgent loaded = LoadAgent(one.file, Capabilities().get());
    for (const Finding& finding : loaded.findings) all += FormatFinding("file", finding) + "\n";
    EXPECT_THAT(all, HasSubstr(one.said)) << one.file;
  }
}

}  // namespace
}  // namespace acl::agent::test
