#include "shared/kinds/project/forms.h"

#include <gtest/gtest.h>

#include "tests/unit/kinds/project/project_driver.h"

namespace acl::project {
namespace {

TEST(Forms, SentencesAreCounted) {
  EXPECT_EQ(CountSentences(""), 0);
  EXPECT_EQ(CountSentences("The draft is half done"), 1);
  EXPECT_EQ(CountSentences("Version 2.5 of parser.cc compiles."), 1) << "a point inside a word ends nothing";
  EXPECT_EQ(CountSentences("One. Two! Three?"), 3);
  EXPECT_EQ(CountSentences("Wait... what?"), 2);
  EXPECT_EQ(CountSentences("第一章写完了。第二章还没有。"), 2);
}

TEST(Forms, WhereWeLeftOffIsOneToThreeSentences) {
  EXPECT_TRUE(CheckWhereWeLeftOff("One. Two. Three.").ok());
  EXPECT_TRUE(CheckWhereWeLeftOff("One.\nTwo.").ok());
  for (const char* bad : {"", "  \n", "One. Two. Three. Four."}) EXPECT_EQ(CheckWhereWeLeftOff(bad).code(), Code::kInvalid) << bad;
  EXPECT_FALSE(CheckWhereWeLeftOff(std::string(2'001, 'a')).ok());
}

TEST(Forms, ANextStepIsOneAction) {
  for (const char* good : {"Write the test of the parser", "Run ./dev test and read what fails", "Ask Bo for the v1.2 file."}) {
    EXPECT_TRUE(CheckNextStep(good).ok()) << good;
  }
  for (const char* bad : {"", " ", "Write it.\nRun it.", "Write it. Run it.", "- write it", "1. write it", "2) run it",
                          "Write it and then run it", "Write it; run it", "Write it, then run it", "Write\x01it"}) {
    const Status checked = CheckNextStep(bad);
    EXPECT_EQ(checked.code(), Code::kInvalid) << bad;
    EXPECT_EQ(checked.message().rfind("next_step: ", 0), 0u) << checked.message();
  }
}

TEST(Forms, ReferencesAreOfKnownKindsAndWellFormed) {
  const std::string id = "01a21a8b-490e-73e6-a285-4132a8a06ff6", hex(64, 'a');
  for (const std::string& good :
       {"run:" + id, "event:" + id + "/12", "file:docs/plan.md@sha256:" + hex, std::string("git:0123abc:src/a.cc"), std::string("goal:g1"),
        std::string("task:t12"), std::string("url:https://example.com/a?b=c"), std::string("memory:style of commits")}) {
    EXPECT_TRUE(CheckReference("ref", good).ok()) << good << ": " << CheckReference("ref", good).message();
  }
  for (const std::string& bad :
       {std::string("run:12"), "event:" + id, "file:a@sha256:" + hex.substr(1), std::string("file:docs/plan.md"), std::string("git:zz:a"),
        std::string("goal:1"), std::string("ticket:12"), std::string("run"), std::string("url:ftp://a"), std::string("")}) {
    EXPECT_EQ(CheckReference("ref", bad).code(), Code::kInvalid) << bad;
  }
}

TEST(Forms, EvidenceSaysWhatItsKindNeeds) {
  const std::string id = "01a21a8b-490e-73e6-a285-4132a8a06ff6";
  EXPECT_TRUE(CheckEvidence("e", {{"kind", "person"}, {"by", "bo"}, {"said", "looks right"}}).ok());
  EXPECT_TRUE(CheckEvidence("e", {{"kind", "run"}, {"run_id", id}}).ok());
  EXPECT_TRUE(CheckEvidence("e", {{"kind", "artifact"}, {"sha256", std::string(64, '0')}, {"bytes", 12u}}).ok());
  EXPECT_TRUE(CheckEvidence("e", {{"kind", "check"}, {"command", "./dev test"}, {"exit_code", 0}}).ok());
  for (const Json& bad :
       {Json("word"), Json{{"kind", "feeling"}}, Json{{"kind", "person"}, {"by", "bo"}}, Json{{"kind", "run"}, {"run_id", "x"}},
        Json{{"kind", "run"}}, Json{{"kind", "check"}, {"command", "make"}, {"exit_code", 2}},
        Json{{"kind", "artifact"}, {"sha256", "abc"}, {"bytes", 12u}}}) {
    EXPECT_EQ(CheckEvidence("e", bad).code(), Code::kInvalid) << bad.dump();
  }
}

TEST(Forms, WhatIsBadAtTheDoorNeverReachesTheJournal) {
  test::ProjectDriver project;
  project.Do("create_goal", {{"text", "a goal"}});
  const std::size_t before = project.events.size();
  for (const auto& [name, arguments] :
       std::vector<std::pair<std::string, Json>>{{"create_goal", {{"text", ""}}},
                                                 {"create_goal", {{"text", "a"}, {"priority", 9}}},
                                                 {"create_goal", {{"text", "a"}, {"priority", 1.5}}},
                                                 {"create_goal", {{"text", "a"}, {"prioritty", 1}}},
                                                 {"create_goal", Json::array()},
                                                 {"add_task", {{"goal_id", "g1"}}},
                                                 {"add_task", {{"goal_id", "g1"}, {"title", "two\nlines"}}},
                                                 {"add_task", {{"goal_id", "g1"}, {"title", "a"}, {"depends_on", "t1"}}},
                                                 {"add_task", {{"goal_id", "g1"}, {"title", "a"}, {"evidence", {"feeling"}}}},
                                                 {"start_task", {{"task_id", "t1"}, {"claim_seconds", 18446744073709551615u}}},
                                                 {"no_such_command", Json::object()}}) {
    const Decided decided = project.Try(name, arguments);
    ASSERT_TRUE(decided.refused) << name << arguments.dump();
    EXPECT_NE(decided.refused->code, Code::kConflict) << decided.refused->message;
  }
  EXPECT_EQ(project.events.size(), before);
  EXPECT_EQ(project.Refused("create_goal", {{"text", "a"}}, ""), "FORM") << "who says it is needed";
}

}  // namespace
}  // namespace acl::project
