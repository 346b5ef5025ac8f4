// Agents that plan with a language model, through AEGIS alone, on the unfinished work of a project (documents 000, 003 and 004 together).
#include <gmock/gmock.h>

#include <regex>

#include "tests/e2e/ask_fixture.h"

namespace acl::test {
namespace {

using testing::HasSubstr;

class AgentModels : public Asks {
 protected:
  void StartWorker(int n) { fleet->StartWorker(n, {{"ACL_AEGIS_URLS", fleet->ApiUrl()}}); }
  std::string StartAgent(const std::string& file, const std::vector<std::string>& more = {}) {
    WriteFile(folder / "agent.yaml", file);
    std::vector<std::string> arguments = {"agent", "start", folder / "agent.yaml", "--by", "ann"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunResult made = fleet->Cli(arguments);
    EXPECT_EQ(made.exit_code, 0) << made.err << fleet->Logs();
    return made.out.substr(0, made.out.find('\n'));
  }
  Json See(const std::string& id) { return fleet->Api("GET", "/v1/agents/" + id).json(); }
  std::string Trouble(const std::string& id) {
    return See(id).dump(1) + fleet->Api("GET", "/v1/agents/" + id + "/moves?limit=500").body + fleet->Logs();
  }
  void Cli(std::vector<std::string> arguments) {
    const RunResult said = fleet->Cli(arguments);
    ASSERT_EQ(said.exit_code, 0) << said.out << said.err;
  }
};

// What was asked, without what the bundle says beside.
std::string QuestionIn(const ModelAsked& asked) {
  const auto texts = PromptTexts(asked.body);
  return texts.empty() ? "" : texts.back();
}

TEST_F(AgentModels, OneAsksAModelThroughAegisAndActs) {
  answers = [](const ModelAsked& asked) {
    const bool did = QuestionIn(asked).find("bytes_written") != std::string::npos;
    return std::string(
        did ? R"({"say": "Nothing is left to do.", "actions": []})"
            : R"({"say": "I propose to write it down.", "actions": [{"capability": "io.fs.write_file", "inputs": {"path": "a.md", "content": "x"}}]})");
  };
  StartWorker(1);
  const std::string id =
      StartAgent("agent: scribe\nintention: Write down what is said\ncapabilities: [io.fs.write_file]\nplanner: {model: {}}\n",
                 {"-m", "write x to a.md"});
  ASSERT_TRUE(WaitUntil([&] { return See(id)["standing"].value("turns", 0) >= 2 && See(id).value("status", "") == "RESTING"; }))
      << Trouble(id);
  EXPECT_EQ(fleet->Api("GET", "/v1/agents/" + id + "/files/a.md").body, "x") << Trouble(id);
  EXPECT_EQ(Sql("SELECT count(*) FROM llm_exchange"), "2");
  EXPECT_EQ(
      Sql("SELECT count(*) FROM move WHERE type = 'request' AND data ->> 'exchange_id' IN (SELECT exchange_id::text FROM llm_exchange)"),
      "2");
  fleet->ExpectVerified();
}

TEST_F(AgentModels, ATaskThatIsAddedAndARunThatEndsWakeTheAgentOfTheirProject) {
  Cli({"project", "create", "book", "--as", "ann"});
  Cli({"goal", "add", "Write the book", "--project", "book", "--as", "ann"});
  StartWorker(1);
  const std::string id = StartAgent(
      "agent: waiter\ntasks: next\ncapabilities: [io.fs.write_file]\nplanner: {rules: [{when: \"project.task_id != null\", actions: "
      "[{capability: io.fs.write_file, inputs: {path: '{{project.task_id}}.md', content: x}}]}]}\n",
      {"--project", "book"});
  ASSERT_TRUE(WaitUntil([&] { return See(id).value("status", "") == "RESTING"; })) << Trouble(id);
  EXPECT_EQ(Sql("SELECT count(*) FROM timers WHERE subject_id = '" + id + "'"), "0") << "it is woken by its project, not by time";
  Cli({"task", "add", "First chapter", "--goal", "g1", "--project", "book", "--as", "ann"});
  ASSERT_TRUE(WaitUntil([&] { return fleet->Api("GET", "/v1/agents/" + id + "/files/t1.md").status == 200; })) << Trouble(id);
  EXPECT_EQ(Sql("SELECT data ->> 'text' FROM move WHERE session = '" + id + "' AND type = 'stimulus' ORDER BY event_seq LIMIT 1"),
            "its project changed: task.added t1");
  fleet->ExpectVerified();
}

// Document 003's limit on money and tokens, as a model's answers take them.
TEST_F(AgentModels, OneThatHasSpentItsTokensRestsAndSaysSo) {
  answers = [](const ModelAsked&) { return std::string(R"({"say": "Nothing is left to do.", "actions": []})"); };
  StartWorker(1);
  const std::string id = StartAgent("agent: frugal\nintention: Answer\nplanner: {model: {}}\nlimits: {tokens: 1}\n", {"-m", "one"});
  ASSERT_TRUE(WaitUntil([&] { return See(id)["standing"].value("requests", 0) == 1 && See(id).value("status", "") == "RESTING"; }))
      << Trouble(id);
  EXPECT_GT(See(id)["standing"].value("tokens", 0), 1);
  EXPECT_EQ(See(id)["standing"]["tokens"].dump(),
            Sql("SELECT data ->> 'tokens' FROM move WHERE type = 'request' AND session = '" + id + "'"));
  Cli({"agent", "tell", id, "two", "--by", "ann"});
  ASSERT_TRUE(WaitUntil([&] { return See(id).value("reason", "").starts_with("budget: asking took"); })) << Trouble(id);
  EXPECT_EQ(Sql("SELECT count(*) FROM llm_exchange"), "1");
  EXPECT_EQ(See(id)["waiting"].size(), 1U);
  fleet->ExpectVerified();
}

TEST_F(AgentModels, AProjectWithThreeTasksRunsToItsEndThoughTheWorkerIsKilled) {
  Cli({"project", "create", "book", "--as", "ann"});
  Cli({"goal", "add", "Write the book", "--project", "book", "--as", "ann"});
  for (const char* title : {"First chapter", "Second chapter", "Third chapter"})
    Cli({"task", "add", title, "--goal", "g1", "--project", "book", "--as", "ann"});
  std::atomic<int> asked_times{0};
  answers = [&](const ModelAsked& asked) {
    ++asked_times;
    const std::string question = QuestionIn(asked);
    std::smatch task;
    if (!std::regex_search(question, task, std::regex(R"#("task_id":"(t\d+)")#")))
      return std::string(R"({"say": "Nothing is left to do.", "actions": []})");
    const Json answer = {
        {"say", "The chapter is drafted."},
        {"actions", {{{"capability", "io.fs.write_file"}, {"inputs", {{"path", task.str(1) + ".md"}, {"content", "text"}}}}}},
        {"checkpoint", {{"where", "The draft is written."}, {"next", "Read it once more"}}},
        {"complete", {{"evidence", Json::array()}}}};
    return answer.dump();
  };
  StartWorker(1);
  std::unique_lock hold(mutex);  // the model does not answer yet
  const std::string id =
      StartAgent("agent: writer\ntasks: next\ncapabilities: [io.fs.write_file]\nplanner: {model: {}}\n", {"--project", "book"});
  ASSERT_TRUE(WaitUntil([&] { return !model.asked().empty(); })) << fleet->Logs();
  fleet->worker(1).Kill();
  StartWorker(2);
  hold.unlock();
  ASSERT_TRUE(WaitUntil([&] { return See(id).value("status", "") == "RESTING"; })) << Trouble(id);
  EXPECT_THAT(See(id).value("reason", ""), HasSubstr("no plan")) << Trouble(id);
  const Json tasks = fleet->Api("GET", "/v1/projects/book/tasks").json();
  for (const char* name : {"t1", "t2", "t3"}) {
    EXPECT_EQ(fleet->Api("GET", "/v1/agents/" + id + "/files/" + name + ".md").body, "text") << Trouble(id);
    EXPECT_EQ(fleet->Api("GET", std::string("/v1/projects/book/tasks/") + name).json()["status"], "done") << tasks.dump(1);
  }
  EXPECT_EQ(asked_times, 3) << "a question was asked twice";
  EXPECT_EQ(Sql("SELECT count(*) FROM llm_exchange"), "3");
  fleet->ExpectVerified();
}

}  // namespace
}  // namespace acl::test
