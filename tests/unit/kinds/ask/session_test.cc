// Ask sessions: what commands and deadlines make of them, and which rows their events show.
#include <gtest/gtest.h>

#include <set>

#include "shared/kernel/create.h"
#include "shared/kinds/ask/ask_kind.h"
#include "shared/kinds/ask/evolve.h"
#include "shared/kinds/ask/intents.h"
#include "shared/kinds/ask/shown.h"

namespace acl::ask {
namespace {

const WallTime kBegin{std::chrono::seconds(1'800'000'000)};

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    EXPECT_EQ(Do({{"name", "open_session"},
                  {"session_id", "01890000-0000-7000-8000-00005f21ab07"},
                  {"phase", "beta"},
                  {"tier", 2},
                  {"kernel_hash", "sha256:k"},
                  {"host_role", "brain"},
                  {"model_id", "local smollm2"},
                  {"owner", "ann"},
                  {"limit_micros", 1'000}}),
              "");
  }

  // The reason of its refusal; empty: none.
  std::string Do(Json command) {
    now_ += std::chrono::seconds(1);
    return Take(Decide(state_, command, now_));
  }
  std::string Take(Decided decided) {
    for (const EventDraft& draft : decided.events) {
      Delta delta = Evolve(state_, draft);
      const Status applied = state_.Apply(delta);
      EXPECT_TRUE(applied.ok()) << draft.type << ": " << applied.message();
      types_.push_back(draft.type);
      for (ShownRow& row : RowsOfEvent(draft.type, draft.facts, draft.at)) rows_[row.table][row.id] = *ParseJson(*row.row);
    }
    for (const TimerRow& timer : decided.timers_set) timers_.insert(timer.timer_id);
    for (const std::string& timer : decided.timers_cleared) timers_.erase(timer);
    answer_ = decided.answer;
    outbox_ = decided.outbox;
    return decided.refused ? decided.refused->reason : "";
  }

  Json Prepare(const std::string& id, std::int64_t reserve = 300) const {
    return {{"name", "prepare"},
            {"exchange_id", id},
            {"by", "ann"},
            {"user", {{"turn_id", id + "-u"}, {"content", "what is next?"}, {"content_hash", "sha256:u"}}},
            {"bundle", "{}"},
            {"bundle_hash", "sha256:b"},
            {"prompt", "[]"},
            {"prompt_hash", "sha256:p"},
            {"prefix_hash", "sha256:x"},
            {"inputs", Json::object()},
            {"refs", {{{"ref_id", id + "-r"}, {"type", "ledger_fact"}, {"id", "ledger:000001"}, {"reason", "relevant"}}}},
            {"call", {{"provider", "local"}, {"model", "smollm2"}}},
            {"reserved_micros", reserve},
            {"deadline", FormatWallTime(now_ + std::chrono::minutes(2))}};
  }
  Json Record(const std::string& id, Json findings = Json::array()) const {
    return {{"name", "record"},
            {"exchange_id", id},
            {"aurora", {{"turn_id", id + "-a"}, {"content", "task t1"}, {"content_hash", "sha256:a"}}},
            {"response_hash", "sha256:r"},
            {"validator_summary", {{"schema_ok", true}}},
            {"findings", std::move(findings)},
            {"answer", {{"finish_reason", "stop"}}},
            {"cost_micros", 120}};
  }

  WallTime now_ = kBegin;
  Document state_;
  std::vector<std::string> types_;
  std::set<std::string> timers_;
  std::map<std::string, std::map<std::string, Json>> rows_;
  Json answer_;
  std::vector<OutboxRow> outbox_;
};

// A session in which one call of a tool was proposed.
class IntentTest : public SessionTest {
 protected:
  IntentTest() {
    EXPECT_EQ(Do(Prepare("e1")), "");
    Json record = Record("e1");
    record["intents"] = {{{"tool", "note_write"},
                          {"about", "writes a note"},
                          {"arguments", {{"text", "milk"}}},
                          {"workflow", "name: note"},
                          {"kernel_hash", "sha256:k"},
                          {"approvers", Json::array()},
                          {"allow_requester", false}}};
    EXPECT_EQ(Do(std::move(record)), "");
  }
  Json Say(const std::string& decision, const std::string& by) {
    return {{"name", "decide_intent"},
            {"intent_id", "e1.1"},
            {"decision", decision},
            {"by", by},
            {"digest", FindIntent(state_, "e1.1")->request.digest}};
  }
};

TEST_F(SessionTest, AnExchangeIsPreparedThenRecorded) {
  ASSERT_EQ(Do(Prepare("e1")), "");
  EXPECT_EQ(timers_, std::set<std::string>{"call:e1"});
  EXPECT_EQ(FindSession(state_)->reserved_micros, 300);
  EXPECT_EQ(rows_["ask_prepared"].size(), 1u);
  EXPECT_EQ(rows_["context_artifact_ref"].at("e1-r").at("included_reason"), "relevant");
  ASSERT_EQ(Do(Record("e1")), "");
  EXPECT_TRUE(timers_.empty());
  const auto session = FindSession(state_);
  EXPECT_EQ(session->reserved_micros, 0);
  EXPECT_EQ(session->spent_micros, 120);
  EXPECT_EQ(session->turns, 2);
  EXPECT_FALSE(FindUnderWay(state_, "e1"));
  EXPECT_EQ(rows_["ask_outcome"].at("e1").at("status"), "RECORDED");
  EXPECT_EQ(rows_["chat_turn"].at("e1-a").at("speaker"), "aurora");
  const std::vector<Turn> turns = RecentTurns(state_);
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns[1].content, "task t1");
}

// Who was paused for so long that its reservation may be another's by now asks nobody.
TEST_F(SessionTest, NothingIsPreparedBehindItsDeadline) {
  Json late = Prepare("e1");
  now_ += std::chrono::minutes(3);
  EXPECT_EQ(Do(std::move(late)), "LATE");
  EXPECT_FALSE(FindUnderWay(state_, "e1"));
}

TEST_F(SessionTest, NothingIsRecordedThatWasNotPrepared) {
  EXPECT_EQ(Do(Record("e9")), "SETTLED");
  EXPECT_EQ(types_.back(), events::kRefused);
  ASSERT_EQ(Do(Prepare("e1")), "");
  ASSERT_EQ(Do(Record("e1")), "");
  EXPECT_EQ(Do(Record("e1")), "SETTLED");  // once
  EXPECT_TRUE(rows_["ask_outcome"].contains("e1"));
}

TEST_F(SessionTest, ACallThatNobodyRecordedIsUncertainAtItsDeadline) {
  ASSERT_EQ(Do(Prepare("e1")), "");
  EXPECT_EQ(Take(DecideDeadline(state_, "call:e1", now_ + std::chrono::seconds(1))), "");
  EXPECT_FALSE(FindUnderWay(state_, "e1")->lost);  // not yet
  now_ += std::chrono::minutes(3);
  EXPECT_EQ(Take(DecideDeadline(state_, "call:e1", now_)), "");
  EXPECT_EQ(types_.back(), events::kUncertain);
  EXPECT_EQ(rows_["ask_outcome"].at("e1").at("status"), "UNCERTAIN");
  EXPECT_EQ(FindSession(state_)->spent_micros, 300);  // it may have been billed
  ASSERT_EQ(Do(Record("e1")), "");                    // what is known is better
  EXPECT_EQ(rows_["ask_outcome"].at("e1").at("status"), "RECORDED");
  EXPECT_EQ(FindSession(state_)->spent_micros, 120);
}

TEST_F(SessionTest, AFailedCallFreesWhatWasSetAside) {
  ASSERT_EQ(Do(Prepare("e1", 900)), "");
  EXPECT_EQ(Do(Prepare("e2", 200)), "BUDGET");
  ASSERT_EQ(Do({{"name", "fail"}, {"exchange_id", "e1"}, {"code", "not-connected"}, {"message", "nobody listens"}}), "");
  EXPECT_EQ(rows_["ask_outcome"].at("e1").at("code"), "not-connected");
  EXPECT_EQ(Do(Prepare("e2", 200)), "");
}

TEST_F(SessionTest, DriftIsOpenedWithTheAnswerAndClosedByAPerson) {
  ASSERT_EQ(Do(Prepare("e1")), "");
  ASSERT_EQ(Do(Record("e1", {{{"drift_class", "evidence"}, {"severity", "high"}, {"summary", "unknown-id ledger:000009"}}})), "");
  const std::string id = answer_.at("drift_ids").at(0);
  EXPECT_EQ(id, "driftwatch:5f21ab07-0001");
  ASSERT_EQ(OpenDrift(state_).size(), 1u);
  EXPECT_EQ(rows_["chat_turn"].at("e1-a").at("driftwatch_id"), id);
  EXPECT_EQ(rows_["driftwatch"].at(id).at("status"), "open");
  ASSERT_EQ(Do({{"name", "close_drift"}, {"drift_id", id}, {"reason", "looked at"}, {"by", "bob"}}), "");
  EXPECT_TRUE(OpenDrift(state_).empty());
  EXPECT_EQ(rows_["driftwatch"].at(id).at("status"), "closed");
  EXPECT_EQ(rows_["driftwatch"].at(id).at("closed_by"), "bob");
  EXPECT_EQ(Do({{"name", "close_drift"}, {"drift_id", id}, {"reason", "again"}, {"by", "bob"}}), "NOT_FOUND");
}

TEST_F(SessionTest, KeepsTheLastTurnsAlone) {
  for (int n = 0; n < 30; ++n) {
    const std::string id = "e" + std::to_string(n);
    ASSERT_EQ(Do(Prepare(id, 0)), "");
    Json record = Record(id);
    record["cost_micros"] = 0;
    ASSERT_EQ(Do(record), "");
  }
  EXPECT_EQ(RecentTurns(state_).size(), std::size_t(kKeptTurns));
  EXPECT_EQ(state_.size(), std::size_t(kKeptTurns) + 1);
}

TEST_F(SessionTest, AClosedSessionTakesNoMore) {
  ASSERT_EQ(Do(Prepare("e1")), "");
  ASSERT_EQ(Do({{"name", "close_session"}, {"reason", "done"}, {"by", "ann"}}), "");
  EXPECT_EQ(Do(Prepare("e2")), "CLOSED");
  EXPECT_EQ(Do(Record("e1")), "");  // what was under way is still put on record
}

TEST_F(SessionTest, AFormThatIsNoneIsRefusedAndLeavesNoEvent) {
  const std::size_t before = types_.size();
  for (const char* missing : {"exchange_id", "user", "bundle", "prompt_hash", "call", "refs", "inputs", "deadline"}) {
    Json command = Prepare("e1");
    command.erase(missing);
    EXPECT_EQ(Do(command), "FORM") << missing;
  }
  EXPECT_EQ(Do({{"name", "think"}}), "FORM");
  EXPECT_EQ(types_.size(), before);
}

TEST_F(IntentTest, OneFunctionSaysWhoMayDecideAndOnlyThenARunIsAskedFor) {
  EXPECT_TRUE(timers_.contains("intent:e1.1"));
  EXPECT_TRUE(outbox_.empty());
  EXPECT_EQ(rows_["ask_outcome"].at("e1").at("answer"), R"({"finish_reason":"stop","intents":["e1.1"]})");
  EXPECT_EQ(Do(Say("approve", "ann")), "NOT_ALLOWED") << "she asked the model";
  Json other = Say("approve", "bob");
  other["digest"] = std::string(64, 'a');
  EXPECT_EQ(Do(std::move(other)), "DIGEST_MISMATCH");
  EXPECT_TRUE(outbox_.empty());
  ASSERT_EQ(Do(Say("approve", "bob")), "");
  ASSERT_EQ(outbox_.size(), 1u);
  EXPECT_EQ(outbox_[0].topic, "create/workflow");
  EXPECT_EQ(outbox_[0].key, answer_["run_id"]);
  const Json asked = *ParseJson(outbox_[0].payload);
  EXPECT_EQ(asked["inputs"]["text"], "milk");
  EXPECT_EQ(asked["file"], "name: note");
  EXPECT_EQ(asked["requesters"], (Json{"ann", "bob"}));
  EXPECT_FALSE(timers_.contains("intent:e1.1"));
  EXPECT_EQ(FindIntent(state_, "e1.1")->request.state, approval::kApproved);
  EXPECT_EQ(Do(Say("approve", "eve")), "NOT_PENDING");
  EXPECT_TRUE(outbox_.empty()) << "once";
}

TEST_F(IntentTest, WhatIsRejectedOrLateRunsNever) {
  const Json late = Say("approve", "bob");
  ASSERT_EQ(Do(Say("reject", "ann")), "") << "who asked may always say no";
  EXPECT_EQ(FindIntent(state_, "e1.1")->request.state, approval::kRejected);
  EXPECT_EQ(Do(late), "NOT_PENDING");
  EXPECT_TRUE(outbox_.empty());
}

TEST_F(IntentTest, ItsTimeIsOverAfterAWeek) {
  const Json late = Say("approve", "bob");
  EXPECT_EQ(Take(DecideDeadline(state_, "intent:e1.1", now_)), "");
  EXPECT_TRUE(FindIntent(state_, "e1.1")->request.pending());
  now_ += std::chrono::days(8);
  EXPECT_EQ(Do(late), "EXPIRED");
  EXPECT_EQ(Take(DecideDeadline(state_, "intent:e1.1", now_)), "");
  EXPECT_EQ(FindIntent(state_, "e1.1")->request.state, approval::kTimeout);
}

TEST_F(IntentTest, ARunThatCouldNotBeMadeIsSaid) {
  ASSERT_EQ(Do(Say("approve", "bob")), "");
  const std::string run = FindIntent(state_, "e1.1")->run_id;
  const Json said = {{"step_id", "e1.1"}, {"status", "FAILED"}, {"error", "it could not be made: no such file"}};
  Take(IntentNotMade(state_, {{"from", "another"}, {"said", said}}, now_));
  EXPECT_EQ(FindIntent(state_, "e1.1")->error, "");
  Take(IntentNotMade(state_, {{"from", run}, {"said", said}}, now_));
  EXPECT_EQ(FindIntent(state_, "e1.1")->error, "it could not be made: no such file");
}

}  // namespace
}  // namespace acl::ask
