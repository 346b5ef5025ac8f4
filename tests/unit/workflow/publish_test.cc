// PUBLISH steps: what they say to the outside, and that they say it once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/definition/loader.h"
#include "shared/kernel/publish.h"
#include "tests/unit/workflow/run_driver.h"

namespace acl::workflow::test {
namespace {

using testing::HasSubstr;

Loaded Publishes(const std::string& steps, const std::string& more = "") {
  return LoadWorkflow("name: test\nmetadata: {owner: tester}\n" + more + "steps:\n" + steps, *TestCapabilities(), {});
}
WorkflowDefinition PublishingDefinition(const std::string& steps, const std::string& more = "") {
  Loaded loaded = Publishes(steps, more);
  for (const Finding& finding : loaded.findings) EXPECT_NE(finding.severity, Finding::Severity::kError) << FormatFinding("", finding);
  return loaded.definition ? *loaded.definition : WorkflowDefinition{};
}

TEST(Publish, SaysItInTheCommitThatCompletesIt) {
  RunDriver run(
      PublishingDefinition("  - {name: a, capability: do.pure}\n"
                           "  - {name: tell, publish: {event: deploy.done, to: hooks, data: {what: '{{a.v}}', n: 1}}}\n"
                           "  - {name: b, capability: do.effect}\n"));
  run.Claim();
  run.Pump();
  run.Finish("a", Ok({{"v", "x"}}));
  ASSERT_EQ(run.outbox.size(), 1u);
  const std::string id = MessageIdOf(RunDriver::RunId().ToString(), "tell");
  EXPECT_EQ(run.outbox[0].topic, "webhook/deploy.done");
  EXPECT_EQ(run.outbox[0].key, RunDriver::RunId().ToString());
  EXPECT_EQ(Json::parse(run.outbox[0].payload),
            (Json{{"id", id},
                  {"endpoint", "hooks"},
                  {"payload", {{"type", "deploy.done"}, {"timestamp", FormatWallTime(run.now)}, {"data", {{"what", "x"}, {"n", 1}}}}}}));
  EXPECT_EQ(run.Step("tell").status, "COMPLETED");
  EXPECT_EQ(*run.Step("tell").outputs, (Json{{"message_id", id}}));
  run.Crash();
  EXPECT_EQ(run.outbox.size(), 1u);
  EXPECT_EQ(run.Pump().at(0).step.step_id, "b");
}

TEST(Publish, ACloudEventGoesIntoItsTopic) {
  RunDriver run(
      PublishingDefinition("  - {name: tell, publish: {event: org.example.made, kafka: things, subject: 'things/1', data: [1]}}\n"));
  run.Claim();
  ASSERT_EQ(run.outbox.size(), 1u);
  EXPECT_EQ(run.outbox[0].topic, "cloudevent/org.example.made");
  const Json said = Json::parse(run.outbox[0].payload);
  EXPECT_EQ(said["topic"], "things");
  EXPECT_EQ(said["subject"], "things/1");
  EXPECT_EQ(said["data"], Json::array({1}));
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Publish, EachItemSaysItsOwnUnderItsOwnId) {
  RunDriver run(
      PublishingDefinition("  - name: each\n    foreach: [x, y]\n    steps:\n"
                           "      - {name: tell, publish: {event: e, to: hooks, data: '{{item}}'}}\n"));
  run.Claim();
  ASSERT_EQ(run.outbox.size(), 2u);
  EXPECT_NE(Json::parse(run.outbox[0].payload)["id"], Json::parse(run.outbox[1].payload)["id"]);
  EXPECT_EQ(run.Status(), "COMPLETED");
}

TEST(Publish, WhatMakesNoMessageFailsTheStep) {
  for (const auto& [said, why] :
       std::map<std::string, std::string>{{"{event: '{{e}}', to: hooks}", "'event' is \"no good\""},
                                          {"{event: e, to: '{{to}}'}", "'to' is 7; it must be"},
                                          {"{event: e, to: hooks, data: '{{long}}'}", "send where it lies instead"},
                                          {"{event: e, to: hooks, data: '{{nobody}}'}", "nobody"}}) {
    WorkflowDefinition definition =
        PublishingDefinition("  - {name: tell, publish: " + said + "}\n",
                             "initial_state: {e: no good, to: 7, long: '" + std::string(kMostPublishedBytes, 'x') + "'}\n");
    definition.effects_need_values = true;  // as it is submitted
    RunDriver run(std::move(definition));
    run.Claim();
    EXPECT_TRUE(run.outbox.empty()) << said;
    EXPECT_EQ(run.Status(), "ROLLED_BACK") << said;
    EXPECT_THAT(run.View().error, HasSubstr(why)) << said;
  }
}

TEST(Publish, TheLoaderSaysWhatIsWrong) {
  for (const auto& [said, why] :
       std::map<std::string, std::string>{{"publish: {event: e}", "needs 'to' or 'kafka', and not both"},
                                          {"publish: {event: e, to: a, kafka: b}", "needs 'to' or 'kafka', and not both"},
                                          {"publish: {to: a}", "has no 'event'"},
                                          {"publish: {event: 'a b', to: a}", "must be 1 to 200 letters"},
                                          {"publish: {event: e, kafka: 'a/b'}", "must be 1 to 100 letters"},
                                          {"publish: everything", "must be a map"},
                                          {"step_type: PUBLISH", "has no 'publish'"},
                                          {"wait: 1s, publish: {event: e, to: a}", "only a PUBLISH step has 'publish'"}}) {
    const Loaded loaded = Publishes("  - {name: tell, " + said + "}\n");
    std::string all;
    for (const Finding& finding : loaded.findings)
      if (finding.severity == Finding::Severity::kError) all += FormatFinding("", finding) + "\n";
    EXPECT_THAT(all, HasSubstr(why)) << said;
  }
}

TEST(Publish, IsKeptInTheStoredForm) {
  const WorkflowDefinition definition = PublishingDefinition("  - {name: tell, publish: {event: e, kafka: t, subject: s, data: {a: 1}}}\n");
  const Json stored = DefinitionToJson(definition);
  EXPECT_EQ(stored["schema_version"], kDefinitionSchemaVersion);
  const auto read = DefinitionFromJson(stored);
  ASSERT_TRUE(read.ok()) << read.error();
  EXPECT_EQ(DefinitionToJson(*read), stored);
}

}  // namespace
}  // namespace acl::workflow::test
