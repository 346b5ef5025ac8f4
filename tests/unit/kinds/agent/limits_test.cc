// What an agent may spend, what is put into its working directory, and what its project says: each is heard, held and said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/sha256.h"
#include "shared/kinds/agent/events.h"
#include "shared/kinds/agent/put_files.h"
#include "tests/unit/kinds/agent/agent_driver.h"

namespace acl::agent::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

StepResult Answers(std::int64_t tokens, std::int64_t micros, const Json& answer = {{"say", "nothing is left"}}) {
  return Gives({{"text", DumpJson(answer)}, {"tokens", tokens}, {"cost_micros", micros}, {"success", true}});
}

AgentDriver Asking(const std::string& limits) {
  AgentDriver agent("agent: a\ncapabilities: ['*']\nplanner: {model: {}}\nlimits: " + limits + "\n");
  agent.Claim();
  return agent;
}

TEST(AgentLimitsTest, TokensAreCountedSaidWhenMostAreGoneAndEndIt) {
  AgentDriver agent = Asking("{tokens: 1000}");
  agent.Tell("one");
  agent.Run([](const StartStep&) { return Answers(700, 0); });
  EXPECT_TRUE(agent.Events(event::kNearLimit).empty());
  agent.Tell("two");
  agent.Run([](const StartStep&) { return Answers(150, 0); });
  ASSERT_EQ(agent.Events(event::kNearLimit).size(), 1U);
  EXPECT_EQ(agent.Last(event::kNearLimit)["tokens"], 850);
  agent.Tell("three");
  agent.Run([](const StartStep&) { return Answers(200, 0); });
  agent.Tell("four");
  EXPECT_TRUE(agent.Pump().empty()) << "it asks though nothing is left";
  EXPECT_EQ(agent.Reason(), "budget: asking took 1050 tokens in its life, of 1000 (limits.tokens)");
  EXPECT_EQ(agent.Now().waiting.size(), 1U) << "what it was told is not lost";
  EXPECT_EQ(agent.Events(event::kNearLimit).size(), 1U);
}

TEST(AgentLimitsTest, MoneyOfADayComesBackWithTheNext) {
  AgentDriver agent = Asking("{dollars: 0.50, per: day}");
  agent.Tell("one");
  agent.Run([](const StartStep&) { return Answers(10, 500'000); });
  agent.Tell("two");
  EXPECT_TRUE(agent.Pump().empty());
  EXPECT_EQ(agent.Reason(), "budget: asking cost 0.500000 dollars today, of 0.50 (limits.dollars)");
  const WallTime before = agent.now;
  ASSERT_TRUE(agent.FireNextTimer()) << "nothing wakes it";
  EXPECT_EQ(std::chrono::floor<std::chrono::days>(agent.now) - std::chrono::floor<std::chrono::days>(before), std::chrono::days(1));
  agent.Run([](const StartStep&) { return Answers(10, 100'000); });
  EXPECT_EQ(agent.Now().micros, 100'000);
  EXPECT_TRUE(agent.Now().waiting.empty());
}

TEST(AgentLimitsTest, WhatAnAnswerOfNoUseTookIsCountedToo) {
  AgentDriver agent = Asking("{tokens: 100}");
  agent.Tell("one");
  agent.Run([](const StartStep&) { return Gives({{"text", "no plan at all"}, {"tokens", 60}, {"cost_micros", 1}}); });
  EXPECT_EQ(agent.Now().tokens, 60);
}

TEST(AgentLimitsTest, ABudgetOfItsProjectIsTheReason) {
  AgentDriver agent = Asking("{tokens: 0}");
  agent.Tell("one");
  agent.Run([](const StartStep&) { return FailsWith("budget: the project has 0.01 dollars left", false); });
  EXPECT_THAT(agent.Reason(), StartsWith("budget: the project has"));
  EXPECT_TRUE(agent.Now().wake_at.has_value());
}

Json Put(const std::string& path, const std::string& content) {
  FileChange file;
  file.path = path;
  file.hash = Sha256(content);
  file.size = std::int64_t(content.size());
  file.mode = 0644;
  return FilesPayload({file}, {});
}

TEST(AgentLimitsTest, AFileThatIsPutIsThereAndWakesIt) {
  AgentDriver agent("agent: a\ncapabilities: ['*']\nplanner: {command: p}\n");
  agent.Claim();
  Json put = Put("notes/a.md", "hello");
  put["by"] = "ann";
  agent.Post("agent.files", put);
  EXPECT_EQ(agent.Status(), "MOVING");
  EXPECT_TRUE(agent.state.Has("file:notes/a.md"));
  EXPECT_TRUE(agent.state.Has("file:notes"));
  EXPECT_EQ(agent.Last(event::kStimulus)["kind"], "file");
  EXPECT_EQ(agent.Last(event::kStimulus)["text"], "files: notes/a.md");
  Json seen;
  agent.Run([&](const StartStep& step) {
    seen = *ParseJson(step.call["inputs"]["stdin"].get<std::string>());
    return Says({{"say", "seen"}});
  });
  EXPECT_EQ(seen["context"]["files"]["paths"], Json::array({"notes/a.md"}));
  // Quietly: it is there, and nobody is woken.
  Json quiet = Put("notes/b.md", "more");
  quiet["quiet"] = true;
  agent.Post("agent.files", quiet);
  EXPECT_EQ(agent.Status(), "RESTING");
  EXPECT_TRUE(agent.state.Has("file:notes/b.md"));
  // A folder goes with what is in it; what is not there cannot go.
  agent.Post("agent.files", FilesPayload({}, {"notes"}));
  EXPECT_FALSE(agent.state.Has("file:notes/a.md"));
  EXPECT_FALSE(agent.state.Has("file:notes"));
  agent.Post("agent.files", FilesPayload({}, {"notes"}));
  EXPECT_THAT(agent.Last(event::kInputRefused)["reason"].get<std::string>(), HasSubstr("there is no file 'notes'"));
}

TEST(AgentLimitsTest, WhatItsProjectSaysWakesItAndAsksNoPlannerInVain) {
  AgentDriver agent("agent: a\ntasks: next\ncapabilities: ['*']\nplanner: {command: p}\nintention: \"\"\n");
  agent.Claim();
  const auto nothing = [](const StartStep& step) {
    EXPECT_TRUE(step.step_id.ends_with("/look")) << step.step_id << " though there is nothing to do";
    EXPECT_EQ(step.call["inputs"], Json({{"watch", true}}));
    return Gives({{"rule", "propose"}});
  };
  agent.Run(nothing);
  EXPECT_EQ(agent.Status(), "RESTING");
  agent.Post("project_changed", {{"from", "p"}, {"said", {{"event", "task.added"}, {"of", "t1"}, {"by", "ann"}}}});
  EXPECT_EQ(agent.Last(event::kStimulus)["text"], "its project changed: task.added t1");
  EXPECT_EQ(agent.Last(event::kStimulus)["by"], "ann");
  agent.Run(nothing);
  EXPECT_EQ(agent.Status(), "RESTING");
  agent.Post("project_changed", {{"said", {{"event", "task.added"}, {"of", "t2"}, {"by", "ann"}}}});
  int asked = 0;
  agent.Run([&](const StartStep& step) {
    if (step.step_id.ends_with("/look")) return Gives(asked == 0 ? Json{{"task_id", "t2"}, {"next_step", "begin"}} : Json::object());
    ++asked;
    return Says({{"say", "done"}});
  });
  EXPECT_EQ(asked, 1);
}

TEST(AgentLimitsTest, ItsFileSaysEachLimitAndMistakesHaveAPlace) {
  const AgentDefinition definition = DefinitionOf("agent: a\nplanner: {rules: []}\nlimits: {tokens: 5, dollars: 2.5, per: day}\n");
  EXPECT_EQ(definition.limits.tokens, 5);
  EXPECT_EQ(definition.limits.micros, 2'500'000);
  EXPECT_TRUE(definition.limits.per_day);
  const LoadedAgent wrong = LoadAgent("agent: a\nplanner: {rules: []}\nlimits: {per: day}\n", nullptr);
  ASSERT_FALSE(wrong.definition);
  EXPECT_THAT(wrong.findings[0].message, HasSubstr("none of them is here"));
}

// A new session from every event of a life: it comes to rest, and does nothing again that was done.
TEST(AgentLimitsTest, AForkFromEveryEventGoesOn) {
  AgentDriver agent("agent: a\ncapabilities: ['*']\nplanner: {command: p}\n");
  const auto script = [](const StartStep& step) {
    if (step.step_id.find("/action[") != std::string::npos) return step.call["capability"] == "files.write" ? Writes("a.md", "x") : Gives();
    const Json asked = *ParseJson(step.call["inputs"]["stdin"].get<std::string>());
    if (asked["context"]["stimuli"].empty()) return Says({{"say", "nothing is left"}});
    return Says({{"actions", {{{"capability", "files.write"}}, {{"capability", "do.effect"}}}}});
  };
  agent.Claim();
  agent.Tell("one");
  agent.Run(script);
  agent.Tell("two");
  agent.Run(script);
  Document at;
  for (const Event& event : agent.events) {
    const Json payload = *ParseJson(*event.payload, kStoredJson);
    if (payload.contains("state_delta")) {
      ASSERT_TRUE(at.Apply(payload["state_delta"]).ok());
    }
    SCOPED_TRACE("fork at " + std::to_string(event.seq) + ", " + event.type);
    CreateAgent request;
    request.fork = CreateAgent::Fork{"01890000-0000-7000-8000-000000000001", event.seq, KeptInFork(at)};
    AgentDriver fork("agent: a\ncapabilities: ['*']\nplanner: {command: p}\n", std::move(request));
    // Turns that were over are over.
    const std::int64_t turns = FindStanding(at)->turns - (FindCourse(at) ? 1 : 0);
    fork.Claim();
    fork.Run(script);
    EXPECT_EQ(fork.Status(), "RESTING");
    EXPECT_TRUE(fork.Now().waiting.empty());
    for (const std::string& call : fork.calls) EXPECT_GT(std::stoll(call.substr(5)), turns) << call << " again";
  }
}

}  // namespace
}  // namespace acl::agent::test
