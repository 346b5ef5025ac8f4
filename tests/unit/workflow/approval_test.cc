// HUMAN_APPROVAL steps: how a run asks, waits and goes on; and that of everything that may end an approval exactly one thing does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/approval/digest.h"
#include "shared/definition/loader.h"
#include "shared/workflow/approvals.h"
#include "tests/unit/workflow/approval_runs.h"

namespace acl::workflow::test {
namespace {

using std::chrono::hours;
using testing::HasSubstr;

TEST(Approvals, AskingHoldsNothingAndSurvives) {
  RunDriver run = AtTheGate();
  EXPECT_EQ(run.Types().back(), "step.approval_requested");
  EXPECT_TRUE(run.Pump().empty());
  ASSERT_TRUE(run.Ask().waiting);
  EXPECT_EQ(run.Ask().waiting->reason, "approval");
  EXPECT_EQ(run.Step("gate").status, "WAITING");
  EXPECT_EQ(run.Step("gate").approval, "PENDING");
  EXPECT_EQ(run.View().waiting, "approval");
  EXPECT_EQ(run.Status(), "PAUSED");
  EXPECT_EQ(run.listing->status, "PAUSED");
  EXPECT_FALSE(run.timers.contains("deadline"));  // the run's own time stands still
  EXPECT_FALSE(run.timers.contains("approval:gate"));
  const auto request = RequestIn(run);
  EXPECT_EQ(request.message, "ship 1.2?");
  EXPECT_EQ(request.requesters, (std::vector<std::string>{"olga"}));
  EXPECT_EQ(request.digest, approval::DigestOf(request));
  EXPECT_EQ(ShownRow(run)["state"], "PENDING");
  run.Crash();
  run.now += hours(24 * 31);
  EXPECT_EQ(run.Status(), "PAUSED");

  run.Post("decide", Word(run, "approve", "alice@example.org"));
  EXPECT_EQ(run.Step("gate").status, "COMPLETED");
  EXPECT_EQ(*run.Step("gate").outputs, (Json{{"decision", "APPROVED"},
                                             {"approver", "alice@example.org"},
                                             {"approver_email", "alice@example.org"},
                                             {"decided_at", FormatWallTime(run.now)},
                                             {"comment", ""}}));
  EXPECT_EQ(ShownRow(run)["state"], "APPROVED");
  EXPECT_TRUE(run.timers.contains("deadline"));
  EXPECT_EQ(run.Status(), "RUNNING");
  EXPECT_EQ(run.listing->status, "RUNNING");
  GoOn(run);
  EXPECT_EQ(run.Status(), "COMPLETED");
  EXPECT_EQ(run.calls, (std::vector<std::string>{"build", "ship"}));
}

TEST(Approvals, WhatIsRejectedRollsBackAndEndsFailed) {
  RunDriver run = AtTheGate();
  Json word = Word(run, "reject", "bob");
  word["comment"] = "too late today";
  run.Post("decide", word);
  GoOn(run);
  EXPECT_EQ(run.Status(), "FAILED");
  EXPECT_EQ(run.View().reason, "rejected");
  EXPECT_THAT(run.View().error, testing::StartsWith("Rejected by human approver bob: too late today"));
  EXPECT_EQ(run.View().failed_step, "gate");
  EXPECT_EQ(run.calls, (std::vector<std::string>{"build", "undo:build"}));
  EXPECT_EQ(run.Step("gate").status, "FAILED");
  EXPECT_EQ(ShownRow(run)["state"], "REJECTED");
  EXPECT_EQ(ShownRow(run)["comment"], "too late today");
}

TEST(Approvals, NobodysAnswerFailsTheRun) {
  RunDriver run = AtTheGate("inputs: {message: x, approval_timeout: 1800}");
  EXPECT_EQ(run.Step("gate").due_at, run.now + std::chrono::seconds(1800));
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_EQ(run.Step("gate").approval, "TIMEOUT");
  GoOn(run);
  EXPECT_EQ(run.Status(), "FAILED");
  EXPECT_EQ(run.View().reason, "approval_timeout");
  EXPECT_EQ(run.calls.back(), "undo:build");
  EXPECT_EQ(ShownRow(run)["state"], "TIMEOUT");
}

// Each way in which an approval may end.
struct ApprovalEnding {
  const char* name;
  std::function<void(RunDriver&)> happens;
  const char* step;  // what becomes of it if it is first
};
const std::vector<ApprovalEnding>& ApprovalEndings() {
  static const std::vector<ApprovalEnding> endings = {
      {"approve", [](RunDriver& run) { run.Post("decide", Word(run, "approve", "alice")); }, "APPROVED"},
      {"approve again", [](RunDriver& run) { run.Post("decide", Word(run, "approve", "carol")); }, "APPROVED"},
      {"reject", [](RunDriver& run) { run.Post("decide", Word(run, "reject", "bob")); }, "REJECTED"},
      {"timeout",
       [](RunDriver& run) {
         run.now = *RequestIn(run).expires_at;
         run.PostTimer("approval:gate", run.now);
       },
       "TIMEOUT"},
      {"cancel",
       [](RunDriver& run) {
         run.Post("cancel", {{"reason", "enough"}});
       },
       "CANCELLED"}};
  return endings;
}

TEST(Approvals, OfEveryTwoEndingsExactlyOneWins) {
  for (const ApprovalEnding& first : ApprovalEndings()) {
    for (const ApprovalEnding& second : ApprovalEndings()) {
      SCOPED_TRACE(std::string(first.name) + " x " + second.name);
      RunDriver run = AtTheGate("inputs: {approval_timeout: 1800}");
      first.happens(run);
      ASSERT_EQ(ShownRow(run)["state"], first.step);
      const std::size_t refused = run.Events("input.refused").size(),
                        ended = run.Events("step.completed").size() + run.Events("step.failed").size();
      second.happens(run);
      EXPECT_EQ(ShownRow(run)["state"], first.step);
      EXPECT_EQ(run.Events("step.completed").size() + run.Events("step.failed").size(), ended);
      const std::string what = second.name;
      const bool decides = what != "timeout" && what != "cancel";
      EXPECT_EQ(run.Events("input.refused").size(),
                refused + (decides ? 1 : 0) + (what == "cancel" && first.step != std::string("APPROVED")));
      if (decides && std::string(first.name) != "cancel") {
        EXPECT_THAT(run.Last("input.refused")["winner"].get<std::string>(), HasSubstr(first.step));
        EXPECT_EQ(run.Last("input.refused")["code"], "not-pending");
      }
      GoOn(run);
      EXPECT_EQ(run.calls.back() == "ship", std::string(first.step) == "APPROVED" && what != "cancel");
    }
  }
}

TEST(Approvals, ADecisionAtTheLastMomentLosesToTheTimeAndOneBeforeItDoesNot) {
  RunDriver run = AtTheGate("inputs: {approval_timeout: 1800}");
  run.now = *RequestIn(run).expires_at;
  run.Post("decide", Word(run, "approve", "alice"));
  EXPECT_EQ(run.Last("input.refused")["code"], "expired");
  RunDriver in_time = AtTheGate("inputs: {approval_timeout: 1800}");
  in_time.now = *RequestIn(in_time).expires_at - std::chrono::milliseconds(1);
  in_time.Post("decide", Word(in_time, "approve", "alice"));
  EXPECT_EQ(in_time.Step("gate").status, "COMPLETED");
}

TEST(Approvals, WhatIsRefusedIsOnRecordAndChangesNothing) {
  RunDriver run = AtTheGate("approval_config: {approvers: [alice], allow_requester: false}");
  const auto refused = [&](Json word, const std::string& code) {
    run.Post("decide", word);
    EXPECT_EQ(run.Last("input.refused")["code"], code);
    EXPECT_EQ(run.Last("input.refused")["decision"], word["decision"]);
    EXPECT_EQ(run.Step("gate").status, "WAITING");
  };
  refused(Word(run, "approve", "olga"), "not-allowed");
  refused(Word(run, "approve", "bob"), "not-allowed");
  Json other = Word(run, "approve", "alice");
  other["digest"] = std::string(64, '0');
  refused(other, "digest-mismatch");
  other = Word(run, "approve", "alice");
  other["approval_id"] = IdOf("build");
  refused(other, "not-asked");
  other["approval_id"] = "nonsense";
  refused(other, "not-asked");
  run.Post("decide", Word(run, "approve", "alice"));
  EXPECT_EQ(run.Step("gate").status, "COMPLETED");
}

TEST(Approvals, SeveralVotesEachOnRecord) {
  RunDriver run = AtTheGate("approval_config: {min_approvals: 2}");
  run.Post("decide", Word(run, "approve", "alice"));
  EXPECT_EQ(run.Types().back(), "step.vote");
  EXPECT_EQ(run.Status(), "PAUSED");
  EXPECT_EQ(ShownRow(run)["votes"].size(), 1u);
  run.Post("decide", Word(run, "approve", "alice"));
  EXPECT_EQ(run.Last("input.refused")["code"], "already-voted");
  run.Crash();
  run.Post("decide", Word(run, "approve", "bob"));
  EXPECT_EQ(run.Step("gate").status, "COMPLETED");
  EXPECT_EQ(ShownRow(run)["votes"].size(), 2u);
}

TEST(Approvals, WhoSubmittedCountsAsWhoAsked) {
  CreateRequest request;
  request.submitter = "sam";
  RunDriver run(Asks(Deploy("approval_config: {allow_requester: false}")), request);
  run.Claim();
  run.Pump();
  run.Finish("build", Ok());
  EXPECT_EQ(RequestIn(run).requesters, (std::vector<std::string>{"sam", "olga"}));
  run.Post("decide", Word(run, "approve", "sam"));
  EXPECT_EQ(run.Last("input.refused")["code"], "not-allowed");
}

TEST(Approvals, RemindersEscalationAndEndByOneTimer) {
  RunDriver run = AtTheGate(
      "inputs: {approver_role: boss}, approval_config: {remind: [1h, 8h], escalate: {after: 24h, to: director}, timeout_seconds: 172800, "
      "notify: hooks}");
  const auto said = [&] {
    std::vector<std::string> topics;
    for (const OutboxRow& row : run.outbox)
      if (row.topic.starts_with("webhook/")) topics.push_back(row.topic.substr(8));
    return topics;
  };
  EXPECT_EQ(said(), (std::vector<std::string>{"approval_required"}));
  const WallTime asked = run.now;
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_EQ(run.now, asked + hours(1));
  EXPECT_EQ(run.Types().back(), "step.approval_reminded");
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_EQ(run.now, asked + hours(8));
  run.Crash();
  ASSERT_TRUE(run.FireNextTimer());
  EXPECT_EQ(run.now, asked + hours(24));
  EXPECT_EQ(run.Types().back(), "step.approval_escalated");
  EXPECT_EQ(said(), (std::vector<std::string>{"approval_required", "approval_reminder", "approval_reminder", "approval_reminder"}));
  EXPECT_EQ(ShownRow(run)["escalated_roles"], Json::array({"director"}));
  Json word = Word(run, "approve", "eve");
  word["roles"] = {"director"};
  RunDriver late = run;
  run.Post("decide", word);
  EXPECT_EQ(run.Step("gate").status, "COMPLETED");
  EXPECT_FALSE(run.timers.contains("approval:gate"));
  ASSERT_TRUE(late.FireNextTimer());
  EXPECT_EQ(late.now, asked + hours(48));
  EXPECT_EQ(late.Step("gate").approval, "TIMEOUT");
}

TEST(Approvals, TheWebhookHasDocument002sPayloadAndTheDigest) {
  RunDriver run = AtTheGate("inputs: {message: 'ship?', context: {version: v1}}, risk_level: HIGH, approval_config: {notify: hooks}");
  Json said;
  for (const OutboxRow& row : run.outbox)
    if (row.topic == "webhook/approval_required") said = Json::parse(row.payload);
  EXPECT_EQ(said["endpoint"], "hooks");
  const Json& payload = said["payload"];
  for (const char* key : {"event", "approval_id", "workflow_id", "workflow_name", "step_id", "step_name", "step_info", "message", "context",
                          "requested_at", "actions", "digest"})
    EXPECT_TRUE(payload.contains(key)) << key;
  EXPECT_EQ(payload["context"], (Json{{"version", "v1"}}));
  EXPECT_EQ(payload["step_info"]["risk_level"], "HIGH");
  EXPECT_EQ(payload["digest"], RequestIn(run).digest);
}

TEST(Approvals, WhileOthersRunTheRunIsNotPaused) {
  RunDriver run(
      Asks("  - name: both\n    steps:\n      - {name: gate, step_type: HUMAN_APPROVAL}\n      - {name: work, capability: do.effect}\n"
           "  - {name: ship, capability: do.effect}\n"));
  run.Claim();
  EXPECT_EQ(run.Status(), "RUNNING");
  run.Pump();
  EXPECT_EQ(run.Status(), "RUNNING");
  EXPECT_EQ(run.listing->status, "RUNNING");
  run.Finish("work", Ok());
  EXPECT_EQ(run.Status(), "PAUSED");
  EXPECT_EQ(run.listing->status, "PAUSED");
  run.Post("decide", Word(run, "approve", "alice"));
  GoOn(run);
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Approvals, EachItemAsksOnItsOwn) {
  RunDriver run(
      Asks("  - name: each\n    foreach: [x, y]\n    steps:\n      - {name: gate, step_type: HUMAN_APPROVAL, inputs: {what: "
           "'{{item}}'}}\n      - {name: ship, capability: do.effect}\n"));
  run.Claim();
  EXPECT_EQ(PendingApprovals(run.state), (std::vector<std::string>{"each[0]/gate", "each[1]/gate"}));
  EXPECT_NE(RequestIn(run, "each[0]/gate").digest, RequestIn(run, "each[1]/gate").digest);
  run.Post("decide", Word(run, "approve", "alice", "each[1]/gate"));
  EXPECT_EQ(PendingApprovals(run.state), (std::vector<std::string>{"each[0]/gate"}));
  run.Pump();
  EXPECT_EQ(run.calls.back(), "each[1]/ship");
  run.Finish("each[1]/ship", Ok());
  EXPECT_EQ(run.Status(), "PAUSED");
  run.Post("decide", Word(run, "reject", "bob", "each[0]/gate"));
  GoOn(run);
  EXPECT_EQ(run.Status(), "FAILED");
  EXPECT_EQ(run.View().reason, "rejected");
}

TEST(Approvals, AFailureBesideItTakesTheQuestionBack) {
  RunDriver run(Asks(
      "  - name: both\n    fail: wait\n    steps:\n      - name: left\n        step_type: SEQUENCE\n        steps:\n"
      "          - {name: a, step_type: PARALLEL, steps: [{name: gate, step_type: HUMAN_APPROVAL}, {name: work, capability: do.effect, "
      "max_retries: 1}]}\n"));
  run.Claim();
  run.Pump();
  EXPECT_EQ(run.Step("gate").approval, "PENDING");
  run.Finish("work", Fails("no", false));
  EXPECT_EQ(ShownRow(run)["state"], "CANCELLED");
  EXPECT_TRUE(PendingApprovals(run.state).empty());
  run.Post("decide", Word(run, "approve", "alice"));
  GoOn(run);
  EXPECT_EQ(run.Status(), "ROLLED_BACK");
}

TEST(Approvals, APausedRunTakesADecisionAndGoesOnWhenItIsResumed) {
  RunDriver run = AtTheGate();
  run.Post("pause");
  run.Post("decide", Word(run, "approve", "alice"));
  EXPECT_EQ(run.Step("gate").status, "COMPLETED");
  EXPECT_EQ(run.Status(), "PAUSED");
  run.Post("resume");
  GoOn(run);
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Approvals, WhatCannotBeAskedFailsTheStep) {
  for (const auto& [gate, why] : std::map<std::string, std::string>{{"inputs: {approval_timeout: '{{t}}'}", "no length of time"},
                                                                    {"inputs: {what: '{{long}}'}", "more than the"}}) {
    RunDriver run = AtTheGate(gate, "initial_state: {t: soon, long: '" + std::string(approval::kMostArgumentBytes, 'x') + "'}\n");
    GoOn(run);
    EXPECT_EQ(run.Status(), "ROLLED_BACK") << gate;
    EXPECT_THAT(run.View().error, HasSubstr(why)) << gate;
  }
}

TEST(Approvals, TheLoaderSaysWhatIsWrong) {
  for (const auto& [said, why] :
       std::map<std::string, std::string>{{"approval_config: {approvers: []}", "nobody could decide"},
                                          {"approval_config: {approvers: [a], min_approvals: 2}", "could never be reached"},
                                          {"approval_config: {approvers: [a, a]}", "twice"},
                                          {"approval_config: {min_approvals: 0}", "min_approvals"},
                                          {"approval_config: {remind: [2h, 1h]}", "each later"},
                                          {"approval_config: {remind: soon}", "remind"},
                                          {"approval_config: {escalate: {after: 1h}}", "{after: 24h, to: ROLE}"},
                                          {"approval_config: {notify: 'a b'}", "must be 1 to 100 letters"},
                                          {"approval_config: {timeout_seconds: 0}", "nobody could decide"},
                                          {"approval_config: yes", "must be a map"},
                                          {"inputs: {message: a, approval_message: b}", "keep one"},
                                          {"inputs: {approval_timeout: soon}", "approval_timeout"}}) {
    const Loaded loaded = LoadWorkflow("name: x\nmetadata: {owner: o}\nsteps:\n  - {name: gate, step_type: HUMAN_APPROVAL, " + said + "}\n",
                                       *TestCapabilities(), {});
    std::string all;
    for (const Finding& finding : loaded.findings)
      if (finding.severity == Finding::Severity::kError) all += FormatFinding("f.yaml", finding) + "\n";
    EXPECT_THAT(all, HasSubstr(why)) << said;
    EXPECT_THAT(all, HasSubstr("f.yaml:4:")) << said;
  }
}

TEST(Approvals, RealFilesFormsAreTakenWithoutAWord) {
  for (const char* said : {"capability_name: human.approve, inputs: {message: m}, timeout_seconds: 10, max_retries: 1, compensation: null",
                           "inputs: {approval_message: m, approver_role: sales_director, approval_timeout: 1800}, approval_config: null",
                           "capability: human.approve, inputs: {message: m, timeout: 3600, context: {a: 1}}"}) {
    const Loaded loaded =
        LoadWorkflow(std::string("name: x\nmetadata: {owner: o}\nsteps:\n  - {name: gate, step_type: HUMAN_APPROVAL, ") + said + "}\n",
                     *TestCapabilities(), {.for_submit = true});
    for (const Finding& finding : loaded.findings)
      EXPECT_EQ(finding.code, "unknown-capability") << FormatFinding("", finding);  // of the test's own registry
    ASSERT_TRUE(loaded.definition);
    EXPECT_TRUE(loaded.definition->steps[0].capability.empty());
  }
}

TEST(Approvals, TheStoredFormKeepsAll) {
  const WorkflowDefinition definition = Asks(Deploy(
      "inputs: {approver_role: '{{build.who}}', approval_timeout: 1d}, approval_config: {approvers: ['role:x', y], min_approvals: 2, "
      "allow_requester: false, remind: [1h, 2h], escalate: {after: 3h, to: z}, notify: hooks}"));
  const Json stored = DefinitionToJson(definition);
  EXPECT_EQ(stored["schema_version"], kDefinitionSchemaVersion);
  const auto read = DefinitionFromJson(stored);
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(DefinitionToJson(*read), stored);
  EXPECT_EQ(read->steps[1].approval->approvers.size(), 2u);
}

}  // namespace
}  // namespace acl::workflow::test
