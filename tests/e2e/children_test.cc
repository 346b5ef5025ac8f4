// Child workflows on real processes: parent and child each with a journal of its own, workers that die between them, and a parent that
// fails after its children completed.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/fleet.h"

namespace acl::test {
namespace {

constexpr const char* kTrip = R"(
name: trip
inputs: {card: {type: string, default: good}}
workflows:
  leg:
    inputs: {to: {type: string, required: true}}
    steps:
      - name: book
        capability: io.fs.write_file
        inputs: {path: "ticket.txt", content: "to {{to}}"}
      - name: seat
        capability: sys.exec.run
        inputs: {command: echo, args: ["{{to}}"]}
        compensation: {capability: io.fs.write_file, inputs: {path: cancelled.txt, content: "{{to}}"}}
steps:
  - name: legs
    foreach: [Rome, Oslo, Bern]
    child: {workflow: leg, inputs: {to: "{{item}}"}}
  - name: charge
    if: card == 'good'
    then: [{name: paid, capability: io.fs.write_file, inputs: {path: paid.txt, content: "{{legs.results | json}}"}}]
    else: [{name: declined, capability: test.fail, inputs: {message: declined}, max_retries: 1}]
)";

class Children : public ::testing::Test {
 protected:
  void SetUp() override {
    fleet.StartCoordinator();
    fleet.StartWorker(1);
    fleet.StartWorker(2);
    ASSERT_TRUE(fleet.AwaitReady());
  }
  Json Run(const std::string& id) { return fleet.Api("GET", "/v1/workflows/" + id).json(); }
  Json Ended(const std::string& id) {
    EXPECT_TRUE(WaitUntil([&] { return Run(id).value("closed", false); })) << Run(id).dump() << fleet.Logs();
    return Run(id);
  }
  std::vector<std::string> ChildrenOf(const std::string& id) {
    std::vector<std::string> ids;
    const HttpAnswer answer = fleet.Api("GET", "/v1/workflows?label=parent%3D" + id);
    EXPECT_EQ(answer.status, 200) << answer.body;
    const Json body = answer.json();
    for (const Json& run : body["workflows"]) ids.push_back(run["id"]);
    return ids;
  }

  Fleet fleet;
};

TEST_F(Children, DoTheStepAndAreShownInEachOthersStatus) {
  const std::string id = fleet.Submit(kTrip);
  const Json run = Ended(id);
  EXPECT_EQ(run["status"], "COMPLETED") << run.dump();
  const auto children = ChildrenOf(id);
  ASSERT_EQ(children.size(), 3u);
  for (const std::string& child : children) {
    const Json one = Run(child);
    EXPECT_EQ(one["status"], "COMPLETED");
    EXPECT_EQ(one["parent"]["run_id"], id);
  }
  const Json step = fleet.Api("GET", "/v1/workflows/" + id + "/steps/legs%5B1%5D").json();
  EXPECT_EQ(step["child"].get<std::string>().size(), 36u) << step.dump();
  fleet.ExpectVerified();
}

TEST_F(Children, OfAParentThatFailsAreUndone) {
  const std::string id = fleet.Submit(kTrip, {{"inputs", {{"card", "bad"}}}});
  const Json run = Ended(id);
  EXPECT_EQ(run["status"], "ROLLED_BACK") << run.dump();
  int undone = 0;
  for (const std::string& child : ChildrenOf(id)) {
    const Json one = Run(child);
    if (!one.contains("undo_of")) continue;
    ++undone;
    EXPECT_EQ(one["status"], "ROLLED_BACK") << one.dump();
    EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + child + "/files/cancelled.txt").status, 200);
    EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + child + "/files/ticket.txt").status, 404);
  }
  EXPECT_EQ(undone, 3);
  fleet.ExpectVerified();
}

TEST_F(Children, SurviveTheDeathOfWorkersAndCoordinator) {
  std::vector<std::string> ids;
  for (int n = 0; n < 6; ++n) ids.push_back(fleet.Submit(kTrip, {{"inputs", {{"card", n % 2 == 0 ? "good" : "bad"}}}}));
  Process& worker = fleet.StartWorker(3);
  ASSERT_TRUE(WaitUntil([&] { return !ChildrenOf(ids[0]).empty(); }));
  worker.Kill();
  fleet.StartCoordinator(1);
  for (std::size_t n = 0; n < ids.size(); ++n) EXPECT_EQ(Ended(ids[n])["status"], n % 2 == 0 ? "COMPLETED" : "ROLLED_BACK");
  fleet.ExpectVerified();
}

// A run that goes on as another, five times, each as a child too: one chain, whoever dies, and the parent hears of its end once.
TEST_F(Children, GoOnAsNewRunsWhoeverDies) {
  const std::string id = fleet.Submit(R"yaml(
name: parent
workflows:
  loop:
    inputs: {round: {type: integer, default: 1}}
    steps:
      - {name: note, capability: io.fs.write_file, inputs: {path: "round-{{round}}.txt", content: x}}
      - {name: count, capability: sys.exec.run, inputs: {command: python3, args: ["-c", "print({{round}} + 1)"]}}
      - {name: after, capability: data.json.parse, inputs: {json_string: "{{count.stdout}}"}}
      - {name: again, if: round < 5, then: [{name: next, continue_as_new: {round: "{{after.json}}"}}]}
      - {name: last, capability: io.fs.write_file, inputs: {path: last.txt, content: "round {{round}}"}}
steps: [{name: all, child: loop}]
)yaml");
  Process& worker = fleet.StartWorker(3);
  ASSERT_TRUE(WaitUntil([&] { return ChildrenOf(id).size() >= 2; })) << Run(id).dump() << fleet.Logs();
  worker.Kill();
  fleet.coordinator().Kill();
  fleet.StartCoordinator();
  ASSERT_TRUE(WaitUntil([&] { return fleet.Api("GET", "/v1/workflows/" + id).status == 200; }));
  EXPECT_EQ(Ended(id)["status"], "COMPLETED") << fleet.Logs();
  std::vector<std::string> chain = ChildrenOf(id);
  ASSERT_EQ(chain.size(), 5u);
  int ends = 0;
  std::set<std::string> nexts;
  for (const std::string& one : chain) {
    const Json run = Run(one);
    EXPECT_EQ(run["status"], "COMPLETED");
    if (run.contains("continued_as")) {
      nexts.insert(run["continued_as"]);
      continue;
    }
    ++ends;
    for (int round = 1; round <= 5; ++round)
      EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + one + "/files/round-" + std::to_string(round) + ".txt").status, 200) << round;
  }
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(nexts.size(), 4u);
  fleet.ExpectVerified();
}

TEST_F(Children, AreStoppedWithTheirParent) {
  const std::string id = fleet.Submit(R"(
name: parent
workflows: {long: {steps: [{name: nap, wait: 1h}]}}
steps: [{name: child, child: long}]
)");
  ASSERT_TRUE(WaitUntil([&] { return ChildrenOf(id).size() == 1; })) << fleet.Logs();
  const std::string child = ChildrenOf(id)[0];
  ASSERT_TRUE(WaitUntil([&] { return Run(child)["status"] == "RUNNING"; }));
  EXPECT_EQ(Run(id)["waiting"], "child") << Run(id).dump();
  ASSERT_EQ(fleet.Cli({"workflow", "cancel", id, "--reason", "enough"}).exit_code, 0);
  EXPECT_EQ(Ended(id)["status"], "FAILED");
  EXPECT_EQ(Ended(child)["status"], "FAILED");
  fleet.ExpectVerified();
}

}  // namespace
}  // namespace acl::test
