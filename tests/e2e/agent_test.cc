// Agents on real processes and PostgreSQL (document 003): they move or rest, act once, ask first, and go on elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/sha256.h"
#include "tests/support/fleet.h"

namespace acl::test {
namespace {

using testing::HasSubstr;

// A planner in 20 lines: what it is told is a list of calls, one a line ("io.fs.write_file a.md"); it asks for the first one that it has
// not yet asked for.
constexpr const char* kPlanner = R"(import json, sys
turn = json.load(sys.stdin)["context"]
for said in turn["stimuli"]:
    words = said.get("text", "").split()
    if not words: continue
    call, rest = words[0], words[1:]
    inputs = {}
    if call == "io.fs.write_file": inputs = {"path": rest[0], "content": " ".join(rest[1:]), "create_dirs": True}
    elif call == "io.fs.delete": inputs = {"path": rest[0]}
    elif call == "sys.exec.run": inputs = {"command": rest[0], "args": rest[1:]}
    print(json.dumps({"say": "as told", "actions": [{"capability": call, "inputs": inputs}]}))
    break
else:
    print(json.dumps({"say": "nothing is left", "actions": []}))
)";

class Agents : public ::testing::Test {
 protected:
  void SetUp() override {
    FleetOptions options;
    options.environment = {{"ACL_ALLOWED_PROGRAMS", "python3,sleep,true"}};
    fleet.emplace(options);
    fleet->StartCoordinator();
    fleet->StartWorker(0);
    ASSERT_TRUE(fleet->AwaitReady());
    WriteFile(folder / "tools/plan.py", kPlanner);
  }

  std::string Start(const std::string& file, std::vector<std::string> more = {}) {
    WriteFile(folder / "agent.yaml", file);
    std::vector<std::string> arguments = {"agent", "start", folder / "agent.yaml", "--by", "ann"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const RunResult made = fleet->Cli(arguments);
    EXPECT_EQ(made.exit_code, 0) << made.out << made.err << fleet->Logs();
    return made.out.substr(0, made.out.find('\n'));
  }
  std::string StartProgram(const std::string& more = "", std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.end(), {"--files", std::string(folder / "tools") + "=tools"});
    return Start("agent: clerk\ncapabilities: ['io.fs.*', sys.exec.run]\nplanner: {command: python3, args: [tools/plan.py]}\n" + more,
                 arguments);
  }

  Json See(const std::string& id) { return fleet->Api("GET", "/v1/agents/" + id).json(); }
  bool AwaitStatusOf(const std::string& id, const std::string& status) {
    const bool there = WaitUntil([&] { return See(id).value("status", "") == status; });
    EXPECT_TRUE(there) << status << " never came: " << See(id).dump(1) << Moves(id).dump(1) << fleet->Logs();
    return there;
  }
  // Until it rests and nothing that was said to it waits.
  bool AwaitRest(const std::string& id, std::int64_t turns) {
    const bool there = WaitUntil([&] {
      const Json one = See(id);
      return one.value("status", "") == "RESTING" && one["standing"].value("turns", 0) >= turns;
    });
    EXPECT_TRUE(there) << See(id).dump(1) << Moves(id).dump(1) << fleet->Logs();
    return there;
  }
  Json Moves(const std::string& id) {
    return fleet->Api("GET", "/v1/agents/" + id + "/moves?limit=500").json().value("moves", Json::array());
  }
  std::string Words(const std::string& id) {
    std::string words;
    const Json moves = Moves(id);
    for (const Json& move : moves) words += (words.empty() ? "" : " ") + move["type"].get<std::string>();
    return words;
  }
  void Tell(const std::string& id, const std::string& text, const std::string& mode = "followup") {
    const RunResult told = fleet->Cli({"agent", "tell", id, text, "--mode", mode, "--by", "ann"});
    EXPECT_EQ(told.exit_code, 0) << told.out << told.err;
  }
  std::string Sql(const std::string& query) { return Psql(fleet->database_url(), query); }

  TestFolder folder;
  std::optional<Fleet> fleet;
};

TEST_F(Agents, OneIsToldSomethingActsAndRests) {
  const std::string id = StartProgram();
  ASSERT_TRUE(AwaitStatusOf(id, "RESTING"));
  EXPECT_EQ(Words(id), "prepare rest");
  Tell(id, "io.fs.write_file notes/a.md hello there");
  ASSERT_TRUE(AwaitRest(id, 2));
  EXPECT_EQ(Words(id), "prepare rest stimulus plan request process plan request process rest");
  EXPECT_EQ(fleet->Api("GET", "/v1/agents/" + id + "/files/notes/a.md").body, "hello there");
  // Document 003's tables by their columns.
  EXPECT_EQ(Sql("SELECT string_agg(type, ' ' ORDER BY event_seq) FROM move WHERE session = '" + id + "'"), Words(id));
  EXPECT_EQ(Sql("SELECT state ->> 'status' FROM session WHERE id = '" + id + "'"), "RESTING");
  EXPECT_EQ(
      Sql("SELECT data -> 'response' ->> 'say' FROM move WHERE session = '" + id + "' AND type = 'request' ORDER BY event_seq LIMIT 1"),
      "as told");
  const RunResult seen = fleet->Cli({"agent", "see", id});
  EXPECT_THAT(seen.out, HasSubstr("RESTING"));
  EXPECT_THAT(seen.out, HasSubstr("io.fs.write_file result"));
  EXPECT_THAT(fleet->Cli({"agent", "list"}).out, HasSubstr(id));
  fleet->ExpectVerified();
}

TEST_F(Agents, ManyRestAndCostNothing) {
  std::vector<std::string> ids;
  const std::string file =
      "agent: sleeper\ncapabilities: [test.echo]\nplanner: {rules: [{when: \"length(stimuli) > 0\", actions: [{capability: "
      "test.echo}]}]}\n";
  for (int n = 0; n < 60; ++n) {
    const auto made = fleet->Api("POST", "/v1/agents", {{"agent", file}, {"by", "ann"}});
    ASSERT_EQ(made.status, 201) << made.body;
    ids.push_back(made.json()["id"]);
  }
  EXPECT_TRUE(WaitUntil([&] { return Sql("SELECT count(*) FROM session WHERE state ->> 'status' = 'RESTING'") == "60"; })) << fleet->Logs();
  EXPECT_EQ(Sql("SELECT count(*) FROM leases WHERE session_id IS NOT NULL"), "0");
  EXPECT_EQ(Sql("SELECT count(*) FROM ready"), "0");
  EXPECT_EQ(Sql("SELECT count(*) FROM timers"), "0");
  for (const std::string& id : ids)
    ASSERT_LT(fleet->Api("POST", "/v1/agents/" + id + "/stimuli", {{"text", "hello"}, {"by", "ann"}}).status, 300);
  EXPECT_TRUE(WaitUntil([&] { return Sql("SELECT count(*) FROM move WHERE type = 'process'") == "60"; })) << fleet->Logs();
  fleet->ExpectVerified();
}

TEST_F(Agents, APersonIsAskedFirstAndTheAnswerWins) {
  const std::string id = StartProgram("ask_before: [io.fs.delete]\n");
  Tell(id, "io.fs.delete tools/plan.py");
  ASSERT_TRUE(AwaitStatusOf(id, "WAITING"));
  EXPECT_EQ(Sql("SELECT count(*) FROM leases WHERE session_id IS NOT NULL"), "0");
  const Json approval = See(id)["approval"];
  EXPECT_EQ(approval["arguments"]["inputs"]["path"], "tools/plan.py");
  const RunResult shown = fleet->Cli({"approvals", "show", approval["approval_id"]});
  EXPECT_THAT(shown.out, HasSubstr("tools/plan.py")) << shown.err;
  const RunResult no = fleet->Cli({"approvals", "reject", approval["approval_id"], "--approver", "carol", "--comment", "keep it"});
  EXPECT_EQ(no.exit_code, 0) << no.out << no.err;
  ASSERT_TRUE(AwaitRest(id, 2));
  EXPECT_EQ(fleet->Api("GET", "/v1/agents/" + id + "/files/tools/plan.py").status, 200);
  EXPECT_EQ(Sql("SELECT state FROM approvals"), "REJECTED");
  Tell(id, "io.fs.delete tools/plan.py");
  ASSERT_TRUE(AwaitStatusOf(id, "WAITING"));
  const std::string second = See(id)["approval"]["approval_id"];
  EXPECT_EQ(fleet->Cli({"approvals", "approve", second, "--approver", "carol"}).exit_code, 0);
  EXPECT_TRUE(WaitUntil([&] { return fleet->Api("GET", "/v1/agents/" + id + "/files/tools/plan.py").status == 404; })) << fleet->Logs();
  fleet->ExpectVerified();
}

TEST_F(Agents, KilledInTheMiddleOfAnActionItGoesOnElsewhereAndRepeatsNothingBlindly) {
  const std::string id = StartProgram();
  ASSERT_TRUE(AwaitStatusOf(id, "RESTING"));
  Tell(id, "sys.exec.run sleep 60");
  ASSERT_TRUE(WaitUntil([&] { return Sql("SELECT count(*) FROM step_attempts WHERE step_id LIKE 'turn-1/action%'") == "1"; }))
      << fleet->Logs();
  fleet->worker(0).Kill();
  fleet->StartWorker(1);
  ASSERT_TRUE(WaitUntil([&] { return See(id).value("reason", "").starts_with("uncertain"); })) << See(id).dump(1) << fleet->Logs();
  EXPECT_EQ(Sql("SELECT count(*) FROM step_attempts WHERE step_id LIKE 'turn-1/action%'"), "1");
  const RunResult resolved = fleet->Cli({"agent", "resolve", id, "--decision", "did_not_happen", "--by", "ann"});
  EXPECT_EQ(resolved.exit_code, 0) << resolved.out << resolved.err;
  ASSERT_TRUE(AwaitRest(id, 2));
  Tell(id, "io.fs.write_file b.md alive");
  ASSERT_TRUE(AwaitRest(id, 4));
  EXPECT_EQ(fleet->Api("GET", "/v1/agents/" + id + "/files/b.md").body, "alive");
  fleet->ExpectVerified();
}

TEST_F(Agents, StoppedNothingBeginsUntilItIsResumed) {
  const std::string id = StartProgram();
  Tell(id, "sys.exec.run sleep 60");
  ASSERT_TRUE(WaitUntil([&] { return Sql("SELECT count(*) FROM step_attempts WHERE step_id LIKE 'turn-1/action%'") == "1"; }))
      << fleet->Logs();
  const RunResult all = fleet->Cli({"agent", "stop", "--all", "--reason", "drill", "--by", "ann"});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  ASSERT_TRUE(AwaitStatusOf(id, "STOPPED"));
  const std::string attempts = Sql("SELECT count(*) FROM step_attempts");
  Tell(id, "io.fs.write_file c.md never", "interrupt");
  EXPECT_EQ(See(id)["status"], "STOPPED");
  EXPECT_EQ(Sql("SELECT count(*) FROM step_attempts"), attempts);
  const RunResult resumed = fleet->Cli({"agent", "resume", id, "--by", "ann"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(WaitUntil([&] { return fleet->Api("GET", "/v1/agents/" + id + "/files/c.md").status == 200; })) << fleet->Logs();
  fleet->ExpectVerified();
}

TEST_F(Agents, AllThatAreStoppedAreResumedTogether) {
  const std::string one = StartProgram(), other = StartProgram();
  ASSERT_TRUE(AwaitStatusOf(one, "RESTING") && AwaitStatusOf(other, "RESTING"));
  EXPECT_EQ(fleet->Cli({"agent", "stop", "--all", "--by", "ann"}).exit_code, 0);
  ASSERT_TRUE(AwaitStatusOf(one, "STOPPED") && AwaitStatusOf(other, "STOPPED"));
  Tell(one, "io.fs.write_file a.md one");
  const RunResult resumed = fleet->Cli({"agent", "resume", "--all", "--by", "ann"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("told 2 sessions to resume"));
  ASSERT_TRUE(AwaitRest(one, 2));
  ASSERT_TRUE(AwaitStatusOf(other, "RESTING"));
  EXPECT_EQ(fleet->Api("GET", "/v1/agents/" + one + "/files/a.md").body, "one");
  EXPECT_NE(fleet->Cli({"agent", "resume"}).exit_code, 0);
  fleet->ExpectVerified();
}

TEST_F(Agents, FilesPutFromOutsideAreSeenByThePlannerAndWakeIt) {
  const std::string id = StartProgram();
  ASSERT_TRUE(AwaitStatusOf(id, "RESTING"));
  WriteFile(folder / "more/list.txt", "bread");
  const RunResult put = fleet->Cli({"agent", "put", id, "--files", std::string(folder / "more") + "=notes", "--by", "ann"});
  EXPECT_EQ(put.exit_code, 0) << put.err;
  ASSERT_TRUE(AwaitRest(id, 1));
  EXPECT_EQ(fleet->Api("GET", "/v1/agents/" + id + "/files/notes/list.txt").body, "bread");
  EXPECT_THAT(Words(id), HasSubstr("stimulus plan"));
  // A planner that was mended, and one file less, without a word.
  std::string better = kPlanner;
  better.replace(better.find("as told"), 7, "better ");
  WriteFile(folder / "mended/plan.py", better);
  EXPECT_EQ(
      fleet->Cli({"agent", "put", id, "--files", std::string(folder / "mended") + "=tools", "--remove", "notes", "--quiet", "--by", "ann"})
          .exit_code,
      0);
  EXPECT_EQ(fleet->Api("GET", "/v1/agents/" + id + "/files/notes/list.txt").status, 404);
  const std::int64_t turns = See(id)["standing"]["turns"];
  Tell(id, "io.fs.write_file b.md two");
  ASSERT_TRUE(AwaitRest(id, turns + 2));
  EXPECT_EQ(Sql("SELECT data -> 'response' ->> 'say' FROM move WHERE session = '" + id +
                "' AND type = 'request' AND data -> 'response' ->> 'say' LIKE 'better%'"),
            "better");
  const RunResult none = fleet->Cli({"agent", "put", id, "--remove", "no/such", "--by", "ann"});
  EXPECT_NE(none.exit_code, 0);
  EXPECT_THAT(none.err, HasSubstr("there is no file 'no/such'"));
  fleet->ExpectVerified();
}

// The worked examples of document 003's extensions over stdio: one that asks, one that only writes down what it saw.
constexpr const char* kExtension = R"(import json, sys
asked = json.load(sys.stdin)
if asked["phase"] == "before_action":
    path = asked["draft"]["inputs"].get("path", "")
    if path.startswith("secret/"):
        print(json.dumps({"stop": {"code": "off-limits", "message": "nothing below secret/ is touched"}}))
    elif not path.startswith("out/"):
        print(json.dumps({"patch": [{"op": "replace", "path": "/inputs/path", "value": "out/" + path}]}))
elif asked["phase"] == "after_process":
    with open("/workspace/seen", "a") as journal: journal.write(str(asked["snapshot"]["turn"]) + "\n")
)";

TEST_F(Agents, ExtensionsInPythonChangeAndBlock) {
  WriteFile(folder / "tools/extend.py", kExtension);
  const std::string id =
      StartProgram("extensions:\n  - {name: keeper, phases: [before_action], command: python3, args: [tools/extend.py]}\n");
  Tell(id, "io.fs.write_file a.md here");
  ASSERT_TRUE(AwaitRest(id, 2));
  EXPECT_EQ(fleet->Api("GET", "/v1/agents/" + id + "/files/out/a.md").body, "here");
  Tell(id, "io.fs.write_file secret/b.md there");
  ASSERT_TRUE(AwaitRest(id, 4));
  EXPECT_EQ(fleet->Api("GET", "/v1/agents/" + id + "/files/secret/b.md").status, 404);
  EXPECT_THAT(Words(id), HasSubstr("block"));
  fleet->ExpectVerified();
}

TEST_F(Agents, APastMoveIsReplayedAndForkedWithoutDoingAnythingAgain) {
  const std::string id = StartProgram();
  Tell(id, "io.fs.write_file a.md one");
  ASSERT_TRUE(AwaitRest(id, 2));
  const Json moves = Moves(id);
  std::int64_t plan = 0;
  for (const Json& move : moves) {
    if (move["type"] != "plan" && move["type"] != "rest") continue;
    const RunResult replayed = fleet->Cli({"agent", "replay", id, "--move", std::to_string(move["id"].get<std::int64_t>())});
    EXPECT_EQ(replayed.exit_code, 0) << replayed.out << replayed.err;
    if (move["type"] == "plan") {
      EXPECT_THAT(replayed.err, HasSubstr("plan: the same again")) << replayed.out;
      EXPECT_THAT(replayed.err, HasSubstr("request: the same again"));
      plan = plan == 0 ? move["id"].get<std::int64_t>() : plan;
    }
  }
  const RunResult forked = fleet->Cli({"agent", "fork", id, "--at", std::to_string(plan), "--by", "ann"});
  ASSERT_EQ(forked.exit_code, 0) << forked.out << forked.err;
  const std::string other = forked.out.substr(0, forked.out.find('\n'));
  // Before that move nothing was written yet; what was being planned then is planned again.
  EXPECT_TRUE(WaitUntil([&] { return fleet->Api("GET", "/v1/agents/" + other + "/files/a.md").status == 200; }))
      << See(other).dump(1) << fleet->Logs();
  EXPECT_EQ(See(other)["session"]["forked_from"]["session_id"], id);
  EXPECT_EQ(fleet->Cli({"agent", "fork", id, "--at", "9999"}).exit_code, 2);
  fleet->ExpectVerified();
}

TEST_F(Agents, TheExampleKeepsNotesTidyAndAsksBeforeDeleting) {
  const std::string examples = std::string(ACL_SOURCE_DIR) + "/examples/agent/";
  const RunResult made = fleet->Cli({"agent", "start", examples + "tidy-notes.yaml", "--files", examples + "tools=tools", "--files",
                                     examples + "notes=notes", "-m", "tidy up", "--by", "ann"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string id = made.out.substr(0, made.out.find('\n'));
  ASSERT_TRUE(AwaitStatusOf(id, "WAITING"));
  EXPECT_EQ(See(id)["approval"]["arguments"]["inputs"]["path"], "notes/empty.md");
  EXPECT_EQ(fleet->Cli({"approvals", "approve", See(id)["approval"]["approval_id"], "--approver", "carol"}).exit_code, 0);
  ASSERT_TRUE(WaitUntil([&] { return See(id).value("status", "") == "RESTING"; })) << See(id).dump(1) << fleet->Logs();
  const Json files = fleet->Api("GET", "/v1/agents/" + id + "/files").json()["files"];
  std::string names;
  for (const Json& file : files)
    if (!file.contains("dir")) names += file["path"].get<std::string>() + " ";
  EXPECT_EQ(names, "notes/ideas.md notes/shopping.md tools/keeper.py tools/tidy.py ");
  EXPECT_EQ(Sql("SELECT count(*) FROM timers"), "1");
  fleet->ExpectVerified();
}

TEST_F(Agents, BadFilesAreRefusedWithPlaceAndWayOut) {
  const auto refused = [&](const std::string& file) {
    WriteFile(folder / "bad.yaml", file);
    const RunResult told = fleet->Cli({"agent", "start", folder / "bad.yaml"});
    EXPECT_NE(told.exit_code, 0) << file;
    return told.err;
  };
  EXPECT_THAT(refused("agent: x\n"), HasSubstr("'planner' of the agent is missing"));
  EXPECT_THAT(refused("agent: x\nplaner: {}\n"), HasSubstr("did you mean 'planner'"));
  EXPECT_THAT(refused("agent: x\nplanner: {rules: [{when: 'a ==', actions: []}]}\n"), HasSubstr(":2:26"));
  EXPECT_THAT(refused("agent: x\nplanner: {command: p}\nextensions: [{name: e, phases: [before_lunch], command: c}]\n"),
              HasSubstr("no phase; there are"));
  EXPECT_THAT(refused("agent: x\nplanner: {command: p, rules: []}\n"), HasSubstr("one of rules, command and model"));
  EXPECT_EQ(Sql("SELECT count(*) FROM session"), "0");
  EXPECT_EQ(fleet->Api("POST", "/v1/agents/0123456789abcdef/stimuli", {{"text", "x"}}).status, 404);
}

}  // namespace
}  // namespace acl::test
