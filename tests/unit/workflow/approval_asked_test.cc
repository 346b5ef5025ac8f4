// What a HUMAN_APPROVAL step asks: whom, about what, and whether that still holds when the answer comes.

#include <gmock/gmock.h>

#include "shared/base/sha256.h"
#include "tests/unit/workflow/approval_runs.h"

namespace acl::workflow::test {
namespace {

using std::chrono::hours;
using testing::HasSubstr;

// Of a parallel branch: what it gives out is shown where it is there by then.
std::string Beside(const std::string& gate) {
  return "  - name: both\n    steps:\n      - {name: gate, step_type: HUMAN_APPROVAL, " + gate +
         "}\n      - {name: work, capability: file.write}\n  - {name: ship, capability: do.effect}\n";
}

StepResult Wrote(const std::string& hash) {
  StepResult result = Ok({{"price", 820'000}});
  FileChange file;
  file.path = "plan.txt";
  file.hash = Sha256(hash);
  result.files.push_back(file);
  return result;
}

TEST(Approvals, AYesToWhatHasChangedSinceIsRefusedAndTheNewIsAsked) {
  RunDriver run(
      Asks(Beside("inputs: {amount: \"{{work.price | default('82000')}}\"}, approval_config: {min_approvals: 2, notify: hooks}")));
  run.Claim();
  run.Post("decide", Word(run, "approve", "alice"));
  const Json old = Word(run, "approve", "bob");
  run.Pump();
  run.Finish("work", Wrote("a"));
  run.Post("decide", old);
  EXPECT_EQ(run.Last("input.refused")["code"], "digest-mismatch");
  EXPECT_EQ(run.Step("gate").approval, "PENDING");
  EXPECT_EQ(RequestIn(run).version, 2);
  EXPECT_EQ(RequestIn(run).arguments["amount"], 820'000);
  EXPECT_TRUE(RequestIn(run).votes.empty());
  EXPECT_EQ(ShownRow(run)["arguments"]["amount"], 820'000);
  EXPECT_EQ(run.outbox.size() >= 2 ? run.View().waiting : "", "approval");
  run.Post("decide", old);
  EXPECT_EQ(run.Last("input.refused")["code"], "digest-mismatch");
  run.Crash();
  run.Post("decide", Word(run, "approve", "alice"));
  run.Post("decide", Word(run, "approve", "bob"));
  GoOn(run);
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Approvals, FilesAreBoundWhereNothingElseOfTheRunMayWriteThem) {
  RunDriver alone(
      Asks("  - {name: build, capability: file.write}\n  - {name: gate, step_type: HUMAN_APPROVAL}\n  - {name: ship, capability: "
           "do.effect}\n"));
  alone.Claim();
  alone.Pump();
  alone.Finish("build", Wrote("a"));
  EXPECT_FALSE(RequestIn(alone).workspace_root.empty());
  for (const std::string& steps :
       {std::string("  - {name: first, capability: file.write}\n") + Beside("risk_level: LOW"),
        std::string("  - {name: first, capability: file.write}\n  - name: gates\n    foreach: [x]\n    steps:\n      - {name: gate, "
                    "step_type: HUMAN_APPROVAL}\n      - {name: ship, capability: do.effect}\n")}) {
    RunDriver run(Asks(steps));
    run.Claim();
    run.Pump();
    run.Finish("first", Wrote("a"));
    EXPECT_EQ(RequestIn(run, PendingApprovals(run.state).front()).workspace_root, "") << steps;
  }
  RunDriver cases(
      Asks("  - {name: first, capability: file.write}\n  - name: which\n    if: 'true'\n    then:\n      - {name: gate, step_type: "
           "HUMAN_APPROVAL}\n    else:\n      - {name: other, capability: file.write}\n"));
  cases.Claim();
  cases.Pump();
  cases.Finish("first", Wrote("a"));
  EXPECT_NE(RequestIn(cases).workspace_root, "");
}

TEST(Approvals, AYesInTimeCountsHoweverLateTheWorkerIs) {
  RunDriver run = AtTheGate("inputs: {approval_timeout: 1800}");
  Json word = Word(run, "approve", "alice");
  word["received_at"] = FormatWallTime(*RequestIn(run).expires_at - std::chrono::seconds(1));
  run.now = *RequestIn(run).expires_at + hours(1);
  run.Post("decide", word);
  EXPECT_EQ(run.Step("gate").status, "COMPLETED");
}

TEST(Approvals, WhoMayDecideIsResolvedOrTheStepFails) {
  const std::string values = "initial_state: {team: [alice, 'role:boss'], nobody: [], empty: '', role: director, nested: [[alice]]}\n";
  RunDriver run = AtTheGate(
      "inputs: {approver_role: '{{role}}'}, approval_config: {approvers: ['{{team}}', eve], escalate: {after: 1h, to: "
      "'{{role}}'}}",
      values);
  EXPECT_EQ(RequestIn(run).approvers, (std::vector<std::string>{"alice", "role:boss", "eve"}));
  EXPECT_EQ(RequestIn(run).role, "director");
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_EQ(RequestIn(run).escalated_roles, (std::vector<std::string>{"director"}));
  for (const auto& [gate, why] :
       std::map<std::string, std::string>{{"approval_config: {approvers: ['{{nobody}}']}", "comes to nobody"},
                                          {"approval_config: {approvers: ['{{empty}}']}", "leave it to anybody"},
                                          {"approval_config: {approvers: ['{{nested}}']}", "no text"},
                                          {"approval_config: {approvers: ['{{gone}}']}", "nobody knows who may decide"},
                                          {"approval_config: {approvers: ['{{empty}}', alice]}", "leave it to anybody"},
                                          {"approval_config: {approvers: ['role:{{empty}}']}", "leave it to anybody"},
                                          {"inputs: {approver_role: '{{empty}}'}", "leave it to anybody"},
                                          {"inputs: {approver_role: '{{team}}'}", "no text"},
                                          {"approval_config: {escalate: {after: 1h, to: '{{empty}}'}}", "leave it to anybody"}}) {
    RunDriver failed = AtTheGate(gate, values);
    GoOn(failed);
    EXPECT_EQ(failed.Status(), "ROLLED_BACK") << gate;
    EXPECT_THAT(failed.View().error, HasSubstr(why)) << gate;
  }
}

TEST(Approvals, AskedAndTakenBackAtOnceHasARowAndLateRemindersAreOne) {
  RunDriver run(
      Asks("  - name: both\n    steps:\n      - {name: gate, step_type: HUMAN_APPROVAL, approval_config: {notify: hooks}}\n      - "
           "{name: bad, step_type: HUMAN_APPROVAL, approval_config: {approvers: ['{{none}}']}}\n",
           "initial_state: {none: []}\n"));
  run.Claim();
  EXPECT_EQ(run.Step("gate").approval, "PENDING");  // as its record was when the run failed
  EXPECT_EQ(ShownRow(run)["state"], "CANCELLED");
  RunDriver late = AtTheGate("approval_config: {remind: [1h, 2h, 3h], notify: hooks}");
  late.now += hours(2) + std::chrono::minutes(30);
  late.PostTimer("approval:gate", late.now - hours(1));
  EXPECT_EQ(late.Events("step.approval_reminded").size(), 1u);
  EXPECT_EQ(late.Last("step.approval_reminded")["reminder"], 2);
}

TEST(Approvals, ARefusedDecisionIsKeptNoLongerThanOneMayBe) {
  RunDriver run = AtTheGate();
  Json word = Word(run, "approve", "alice");
  word["comment"] = std::string(100'000, 'x');
  run.Post("decide", word);
  EXPECT_EQ(run.Last("input.refused")["comment"].get<std::string>().size(), approval::kLongestComment);
}

}  // namespace
}  // namespace acl::workflow::test
