#pragma once
// Runs with a HUMAN_APPROVAL step, and what people say to them.

#include <gtest/gtest.h>

#include <string>

#include "shared/approval/decision_json.h"
#include "shared/definition/loader.h"
#include "shared/workflow/approvals.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {

inline WorkflowDefinition Asks(const std::string& steps, const std::string& more = "") {
  Loaded loaded = LoadWorkflow("name: deploy\nmetadata: {owner: olga}\n" + more + "steps:\n" + steps, *TestCapabilities(), {});
  for (const Finding& finding : loaded.findings) EXPECT_NE(finding.severity, Finding::Severity::kError) << FormatFinding("", finding);
  return loaded.definition ? *loaded.definition : WorkflowDefinition{};
}

// build (with something to undo), a gate of the given keys, ship
inline std::string Deploy(const std::string& gate = "inputs: {message: 'ship {{build.v}}?'}") {
  return "  - {name: build, capability: do.effect, compensation: {capability: do.effect}}\n  - {name: gate, step_type: HUMAN_APPROVAL, " +
         gate + "}\n  - {name: ship, capability: do.effect}\n";
}

inline std::string IdOf(const std::string& step_id) { return ApprovalIdOf(RunDriver::RunId().ToString(), step_id); }

inline approval::Request RequestIn(const RunDriver& run, const std::string& step_id = "gate") {
  auto request = ReadApproval(run.state, step_id);
  EXPECT_TRUE(request) << step_id;
  return request ? *request : approval::Request{};
}

inline Json Word(const RunDriver& run, const std::string& decision, const std::string& by, const std::string& step_id = "gate") {
  return {{"approval_id", IdOf(step_id)}, {"digest", RequestIn(run, step_id).digest},
          {"decision", decision},         {"by", by},
          {"assurance", "key"},           {"channel", "api"}};
}

// A run that has come to its gate.
inline RunDriver AtTheGate(const std::string& gate = "inputs: {message: 'ship {{build.v}}?'}", const std::string& more = "") {
  RunDriver run(Asks(Deploy(gate), more));
  run.Claim();
  run.Pump();
  run.Finish("build", Ok({{"v", "1.2"}}));
  return run;
}

inline void GoOn(RunDriver& run) {
  run.RunToEnd([](const StartStep&, int) { return Ok(); });
}

// The last row that was shown of the approval.
inline Json ShownRow(const RunDriver& run, const std::string& step_id = "gate") {
  Json last;
  for (const OutboxRow& row : run.outbox)
    if (row.topic == approval::kShownTopic && row.key == IdOf(step_id)) last = Json::parse(row.payload);
  return last;
}

}  // namespace acl::workflow::test
