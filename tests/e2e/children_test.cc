// Child workflows on real processes: parent and child each with a journal of its own, workers that die between them, and a parent that
// fails after its children completed.
#include <gtest/gtest.h>

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
    for (const Json& run : fleet.Api("GET", "/v1/workflows?label=parent%3D" + id).json()["workflows"]) ids.push_back(run["id"]);
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
