// The gate, rule by rule. How well it decides over many texts: corpus_test.cc.
#include "shared/memory/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/aegis/sanitize/find_secret.h"
#include "tests/unit/memory/billing_project.h"

namespace acl::memory {
namespace {

using testing::HasSubstr;
using testing::Not;

Learning Fact(const std::string& text) { return {"fact", text, std::nullopt, {test::kProject, 7}}; }

class Gate : public testing::Test {
 protected:
  std::string Reason(const Learning& learning) const {
    const auto refusal = CheckLearning(learning, work);
    return refusal ? refusal->reason : "";
  }
  std::string Reason(const std::string& text) const { return Reason(Fact(text)); }
  const project::Work work = test::BillingProject();
};

TEST_F(Gate, ARefusalSaysWhatWasFoundAndWhatToWriteInstead) {
  const auto refusal = CheckLearning(Fact("Task T3 is blocked."), work);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, "WORK_ID");
  EXPECT_THAT(refusal->Message(), HasSubstr("WORK_ID: 't3' names a task, goal or run"));
  EXPECT_THAT(refusal->Message(), HasSubstr("write what is true without it"));
}

TEST_F(Gate, TypesThatAreNoKnowledgeAreRefused) {
  for (const char* type : {"status", "progress", "checkpoint", "secret", "Fact", "", "preference "}) {
    Learning learning = Fact("The vendor prefers e-mail.");
    learning.type = type;
    EXPECT_EQ(Reason(learning), "TYPE") << type;
  }
}

TEST_F(Gate, ALearningNamesItsEvent) {
  Learning learning = Fact("The vendor prefers e-mail.");
  EXPECT_EQ(Reason(learning), "");
  learning.source.event_seq = 0;
  EXPECT_EQ(Reason(learning), "SOURCE");
  learning.source = {ProjectId{}, 7};
  EXPECT_EQ(Reason(learning), "SOURCE");
}

TEST_F(Gate, TextHasAForm) {
  EXPECT_EQ(Reason(""), "FORM");
  EXPECT_EQ(Reason("  "), "FORM");
  EXPECT_EQ(Reason(std::string("a\0b", 3)), "FORM");
  EXPECT_EQ(Reason("\xff\xfe"), "FORM");
  EXPECT_EQ(Reason(std::string(kMostLearningBytes + 1, 'a')), "FORM");
  EXPECT_EQ(Reason("one\ntwo"), "FORM");
}

TEST_F(Gate, AValidityOfLessThanADayIsRefused) {
  Learning learning = Fact("The vendor prefers e-mail.");
  learning.valid_for = std::chrono::hours(24) - std::chrono::seconds(1);
  EXPECT_EQ(Reason(learning), "SHORT_LIVED");
  learning.valid_for = std::chrono::hours(24);
  EXPECT_EQ(Reason(learning), "");
}

// Every id of the project, in every place of a sentence and every spelling that a reader would know again.
TEST_F(Gate, IdsOfTheProjectAreFound) {
  for (const char* id : {"t1", "t2", "t3", "t4", "g1", "g2", "T2", "ｔ２", "t\u200b2", "t\u00ad2"}) {
    for (const char* text : {"{}", "see {}", "{}: the vendor is slow", "The vendor ({}) is slow.", "vendor/{}", "all of \"{}\"", "{},t9"}) {
      std::string filled = text;
      filled.replace(filled.find("{}"), 2, id);
      EXPECT_EQ(Reason(filled), "WORK_ID") << filled;
    }
  }
  EXPECT_EQ(Reason("The report is made by " + test::kRun), "WORK_ID");
}

TEST_F(Gate, NamesOfOtherThingsAreNoIds) {
  for (const char* text :
       {"t3.large machines have 8 GiB.", "The domain db.t3 belongs to us.", "t17 is a size of screws.", "At3 and t33 are sizes."})
    EXPECT_EQ(Reason(text), "") << text;
}

// The same text may be learned where it names nothing.
TEST_F(Gate, WhatAnIdIsDependsOnTheProject) {
  EXPECT_EQ(Reason("The car park is on level g2 of the building."), "WORK_ID");
  EXPECT_EQ(CheckLearning(Fact("The car park is on level g2 of the building."), project::Work{}), std::nullopt);
}

TEST_F(Gate, TextOfACheckpointIsFoundWholeInPartsAndChanged) {
  for (const char* text : {
           "The invoice tables are converted up to 2021. Rows with a null currency were set aside in table invoice_odd.",
           "THE INVOICE TABLES ARE CONVERTED UP TO 2021!",
           "For the record: rows with a null currency were set aside in table invoice_odd, as Anna knows.",
           "Rows with a missing currency were set aside in table invoice_odd",
           "Convert the invoice tables of 2022 with script convert.py",
           "the server ran out of disk; COPY in one transaction: the server ran out of disk",
           "There is an answer from the tax office about rounding of half cents to come.",
           "Sure, the vendor has not renewed the certificate of the sandbox.",
       }) {
    EXPECT_EQ(Reason(text), "CHECKPOINT") << text;
  }
  EXPECT_EQ(Reason("A certificate of the sandbox is renewed by its vendor every January."), "");
}

// A task is known by its title too.
TEST_F(Gate, AStatusBesideATitleIsFound) {
  for (const char* text : {"The task 'Proofread chapter 4' is todo", "doing: convert the invoices", "Ann wants PROOFREAD CHAPTER 4 done.",
                           "Move billing to PostgreSQL 16: active"}) {
    EXPECT_EQ(Reason(text), "STATUS") << text;
  }
  EXPECT_EQ(Reason("We move billing to PostgreSQL 16 because of its transactional schema changes."), "");
}

TEST_F(Gate, ASecretIsRefusedAndNeverQuoted) {
  const std::string secret = "hunter2zebra";
  for (const std::string& text : {"The admin password is " + secret, "t3 needs password=" + secret, "PASSWORD: \"" + secret + "\"",
                                  "https://ann:" + secret + "@db.internal/", "pass\u200bword is " + secret}) {
    const auto refusal = CheckLearning(Fact(text), work);
    ASSERT_TRUE(refusal) << text;
    EXPECT_EQ(refusal->reason, "SECRET") << text;
    EXPECT_THAT(refusal->Message(), Not(HasSubstr(secret)));
  }
  for (const char* text : {"The password is stored in the vault.", "password=*** is what a log shows", "Token: opaque to clients",
                           "OAuth2ClientCredentialsGrantProvider is the class that asks for it.",
                           "Commit 3f2a9c1d4b5e6f708192a3b4c5d6e7f801234567 brought it."}) {
    EXPECT_EQ(aegis::FindSecret(text), std::nullopt) << text;
  }
}

TEST_F(Gate, AQuestionIsCheckedLikeALearning) {
  const auto reason = [&](const std::string& text, int most = 10) {
    const auto refusal = CheckQuery({std::nullopt, text, most}, work);
    return refusal ? refusal->reason : "";
  };
  EXPECT_EQ(reason("how are half cents rounded?"), "");
  EXPECT_EQ(reason("who is on call today?"), "");  // a question may be about today
  EXPECT_EQ(reason("why does t3 hang?"), "WORK_ID");
  EXPECT_EQ(reason("the migration is blocked by the vendor, whom to ask?"), "STATUS");
  EXPECT_EQ(reason("The sandbox of the payment gateway rejects our certificate"), "CHECKPOINT");
  EXPECT_EQ(reason("what is password=hunter2zebra for"), "SECRET");
  EXPECT_EQ(reason("rounding", 0), "FORM");
  EXPECT_EQ(reason("rounding", kMostResults + 1), "FORM");
  EXPECT_EQ(reason(""), "FORM");
}

TEST_F(Gate, TheSameLearningHasTheSameId) {
  const Learning one = Fact("The vendor prefers e-mail.");
  Learning other = one;
  EXPECT_EQ(one.Id(), other.Id());
  EXPECT_EQ(one.Id().size(), 32u);
  other.source.event_seq = 8;
  EXPECT_NE(one.Id(), other.Id());
}

}  // namespace
}  // namespace acl::memory
