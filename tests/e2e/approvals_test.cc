// Approvals on real processes: a run that waits for a person survives whatever dies meanwhile, and goes on by what the person says.
#include <gtest/gtest.h>

#include "tests/support/fleet.h"

namespace acl::test {
namespace {

constexpr const char* kDeploy = R"(
name: deploy
metadata: {owner: olga}
steps:
  - {name: build, capability: io.fs.write_file, inputs: {path: build.txt, content: x}}
  - {name: gate, step_type: HUMAN_APPROVAL, inputs: {message: "ship?", amount: 12}}
  - {name: ship, capability: io.fs.write_file, inputs: {path: shipped.txt, content: "by {{gate.approver}}: {{gate.comment}}"}}
)";

class Approvals : public ::testing::Test {
 protected:
  void SetUp() override {
    fleet.StartCoordinator();
    fleet.StartWorker(1);
    ASSERT_TRUE(fleet.AwaitReady());
  }
  Json Run(const std::string& id) { return fleet.Api("GET", "/v1/workflows/" + id).json(); }
  std::string AtItsGate(const std::string& yaml = kDeploy) {
    const std::string id = fleet.Submit(yaml);
    EXPECT_TRUE(fleet.AwaitStatus(id, "PAUSED")) << Run(id).dump() << fleet.Logs();
    return id;
  }

  Fleet fleet;
};

TEST_F(Approvals, AreListedShownAndApprovedByCli) {
  const std::string id = AtItsGate();
  const auto listed = fleet.Cli({"approvals", "list"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_NE(listed.out.find(id + ":gate"), std::string::npos) << listed.out;
  const auto shown = fleet.Cli({"approvals", "show", id + ":gate"});
  EXPECT_NE(shown.out.find("amount"), std::string::npos) << shown.out << shown.err;
  EXPECT_EQ(Psql(fleet.database_url(), "select count(*) from outbox where topic = 'approval/shown'"), "0")
      << "it is a row of approvals, and no message";
  EXPECT_EQ(Psql(fleet.database_url(), "select count(*) from leases where session_id is not null"), "0") << "nobody holds it";
  const auto approved = fleet.Cli({"approvals", "approve", id + ":gate", "--approver", "alice", "--comment", "green"});
  EXPECT_EQ(approved.exit_code, 0) << approved.out << approved.err;
  ASSERT_TRUE(fleet.AwaitStatus(id, "COMPLETED")) << Run(id).dump();
  EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + id + "/files/shipped.txt").body, "by alice: green");
  const auto late = fleet.Cli({"approvals", "reject", id + ":gate", "--approver", "bob"});
  EXPECT_EQ(late.exit_code, 5) << late.out << late.err;
  EXPECT_NE(late.err.find("alice"), std::string::npos) << late.err;
  EXPECT_NE(fleet.Cli({"approvals", "list", "--state", "APPROVED"}).out.find("alice"), std::string::npos);
  fleet.ExpectVerified();
}

TEST_F(Approvals, DocumentsWordsForTheSame) {
  const std::string id = AtItsGate();
  const auto other = fleet.Cli({"workflow", "resume", id, "--decision", "maybe"});
  EXPECT_EQ(other.exit_code, 2) << other.err;
  const auto rejected = fleet.Cli({"workflow", "resume", id, "--decision", "reject", "--approver", "bob", "--comment", "not today"});
  EXPECT_EQ(rejected.exit_code, 0) << rejected.out << rejected.err;
  ASSERT_TRUE(fleet.AwaitStatus(id, "FAILED")) << Run(id).dump();
  ASSERT_TRUE(WaitUntil([&] { return Run(id).value("closed", false); }));
  EXPECT_EQ(Run(id)["reason"], "rejected");
  EXPECT_EQ(Run(id)["error"], "Rejected by human approver bob: not today");
  EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + id + "/files/build.txt").status, 404) << "what was built is taken back";
  EXPECT_EQ(fleet.Cli({"workflow", "resume", id, "--decision", "approve"}).exit_code, 5) << "once";
  EXPECT_EQ(fleet.Api("GET", "/v1/workflows?reason=rejected").json()["workflows"].size(), 1u);
  fleet.ExpectVerified();
}

TEST_F(Approvals, SurviveTheDeathOfEverybody) {
  const std::string id = AtItsGate();
  fleet.worker(1).Kill();
  fleet.coordinator().Kill();
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  EXPECT_EQ(Run(id)["status"], "PAUSED");
  const auto approved = fleet.Cli({"workflow", "resume", id.substr(24), "--decision", "approve"});
  EXPECT_EQ(approved.exit_code, 0) << approved.out << approved.err;
  ASSERT_TRUE(fleet.AwaitStatus(id, "COMPLETED")) << Run(id).dump() << fleet.Logs();
  EXPECT_EQ(fleet.Api("GET", "/v1/workflows/" + id + "/files/shipped.txt").body, "by cli_user: ");
  fleet.ExpectVerified();
}

TEST_F(Approvals, OfManyWhoDecideAtOnceOneWins) {
  const std::string id = AtItsGate();
  const Json asked = fleet.Api("GET", "/v1/approvals/" + id + "%3Agate").json();
  std::vector<std::thread> people;
  std::vector<int> answers(8);
  for (std::size_t n = 0; n < answers.size(); ++n) {
    people.emplace_back([&, n] {
      const Json body = {
          {"decision", n % 2 == 0 ? "approve" : "reject"}, {"digest", asked["digest"]}, {"approver", "p" + std::to_string(n)}};
      answers[n] = fleet.Api("POST", "/v1/approvals/" + id + "%3Agate/decision", body).status;
    });
  }
  for (auto& person : people) person.join();
  EXPECT_LE(std::count(answers.begin(), answers.end(), 200), 1) << testing::PrintToString(answers);
  for (const int answer : answers) EXPECT_TRUE(answer == 200 || answer == 202 || answer == 409) << answer;  // 202: not waited for
  ASSERT_TRUE(WaitUntil([&] { return Run(id).value("closed", false); }));
  const Json ended = fleet.Api("GET", "/v1/approvals/" + id + "%3Agate").json();
  EXPECT_TRUE(ended["state"] == "APPROVED" || ended["state"] == "REJECTED") << ended.dump();
  int counted = 0;
  for (const Json& event : fleet.Events(id)) {
    const std::string type = event.value("event_type", "");
    counted += (type == "step.completed" || type == "step.failed") && event.dump().find("decided_by") != std::string::npos;
  }
  EXPECT_EQ(counted, 1);
  fleet.ExpectVerified();
}

TEST_F(Approvals, NobodysAnswerInTimeFailsTheRun) {
  const std::string id =
      fleet.Submit("name: x\nsteps:\n  - {name: gate, step_type: HUMAN_APPROVAL, approval_config: {timeout_seconds: 1}}\n");
  ASSERT_TRUE(WaitUntil([&] { return Run(id).value("closed", false); })) << Run(id).dump();
  EXPECT_EQ(Run(id)["reason"], "approval_timeout");
  EXPECT_NE(fleet.Cli({"approvals", "list", "--state", "TIMEOUT"}).out.find(id), std::string::npos);
  fleet.ExpectVerified();
}

// Who decides is whoever the key is of, with the key's roles; what the body says is a label.
TEST(ApprovalsByKey, RolesTwoPersonsAndNotWhoAsked) {
  FleetOptions options;
  options.environment["ACL_DEV_MODE"] = "false";
  Fleet fleet(options);
  fleet.StartCoordinator();
  fleet.StartWorker(1);
  ASSERT_TRUE(fleet.AwaitReady());
  using Headers = std::map<std::string, std::string>;
  const auto key = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> line = {"key", "create", name, "-o", "json"};
    line.insert(line.end(), more.begin(), more.end());
    return Headers{{"Authorization", "Bearer " + ParseJson(fleet.Cli(line).out)->value("key", "")}};
  };
  const Headers olga = key("olga", {"--role", "boss"}), ann = key("ann", {"--role", "boss", "--role", "clerk"}),
                bob = key("bob", {"--role", "boss"}), cyd = key("cyd", {});
  ASSERT_TRUE(WaitUntil([&] { return fleet.Api("GET", "/v1/workflows", {}, cyd).status == 200; }));
  const Json body = {{"workflow",
                      "name: pay\nsteps:\n  - {name: gate, step_type: HUMAN_APPROVAL, inputs: {approver_role: boss}, "
                      "approval_config: {min_approvals: 2, allow_requester: false}}\n"}};
  const std::string id = fleet.Api("POST", "/v1/workflows", body, olga).json().value("id", "");
  const std::string path = "/v1/approvals/" + id + "%3Agate";
  ASSERT_TRUE(WaitUntil([&] { return fleet.Api("GET", path, {}, ann).status == 200; }));
  const std::string digest = fleet.Api("GET", path, {}, ann).json()["digest"];
  const auto approve = [&](const Headers& who) {
    const Json word = {{"decision", "approve"}, {"digest", digest}, {"approver", "ann"}, {"roles", {"boss"}}};
    return fleet.Api("POST", path + "/decision", word, who).status;
  };
  EXPECT_EQ(approve(cyd), 403);
  EXPECT_EQ(approve(olga), 403);
  EXPECT_EQ(approve(ann), 200);
  EXPECT_EQ(approve(ann), 409);
  EXPECT_EQ(fleet.Api("GET", path, {}, ann).json()["state"], "PENDING");
  EXPECT_EQ(approve(bob), 200);
  const Json ended = fleet.Api("GET", path, {}, ann).json();
  EXPECT_EQ(ended["state"], "APPROVED");
  EXPECT_EQ(ended["votes"].size(), 2u);
  EXPECT_EQ(ended["decided_by"], "bob");
}

}  // namespace
}  // namespace acl::test
