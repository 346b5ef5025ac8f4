// Two agents on one project, all in order: no finding. One thing changed in what they were told or in what the database holds: the check
// that is there for it finds it.
#include "chaos/checkers/continuity.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "chaos/history/checks.h"

namespace acl::chaos {
namespace {

Json Claim(const std::string& holder, int token, int since, int until) {
  const auto time = [](int second) { return fmt::format("2026-11-27T09:00:{:02}.000000Z", second); };
  return {{"holder", holder}, {"token", token}, {"since", time(since)}, {"expires", time(until)}};
}

// The history of a run, line by line as the driver writes it.
class Story {
 public:
  Story() { Add({{"type", "run"}, {"agents", 2}}); }
  void Add(Json line) {
    line["t"] = ++t_;
    lines_.push_back(std::move(line));
  }
  void Fault(const char* event) {
    Json line = {{"type", "fault"}, {"n", 1}, {"kind", "kill-coordinator"}, {"number", "N1"}, {"event", event}};
    if (std::string(event) == "well") line["facts"] = Json::object();
    Add(std::move(line));
  }
  // Asked and answered; a refusal has no answer.
  void Say(const std::string& by, const std::string& key, const std::string& name, Json arguments, int event_seq, Json answer,
           const std::string& refused = "") {
    Ask(by, key, name, std::move(arguments));
    Json value = {{"status", refused.empty() ? 200 : 409}, {"event_seq", event_seq}};
    if (refused.empty()) value["answer"] = answer;
    if (!refused.empty()) value["refused"] = refused;
    Add({{"type", "ok"}, {"op", op_}, {"process", by}, {"f", name}, {"value", value}});
    kept_[key] = {{"type", "project_answer"}, {"project", "p"}, {"key", key}, {"event_seq", event_seq}};
    kept_[key]["answer"] = refused.empty() ? Json{{"answer", answer}} : Json{{"refused", {{"reason", refused}}}};
  }
  void Ask(const std::string& by, const std::string& key, const std::string& name, Json arguments) {
    const Json args = {{"key", key}, {"project", "p"}, {"by", by}, {"arguments", std::move(arguments)}};
    Add({{"type", "invoke"}, {"op", ++op_}, {"process", by}, {"f", name}, {"args", args}});
  }
  void Look(const std::string& by, int saw_seq) {
    Add({{"type", "invoke"}, {"op", ++op_}, {"process", by}, {"f", "get_next_step"}, {"args", {{"project", "p"}, {"by", by}}}});
    Add({{"type", "ok"}, {"op", op_}, {"process", by}, {"f", "get_next_step"}, {"value", {{"status", 200}, {"saw_seq", saw_seq}}}});
  }
  void Event(const char* type, int second, Json facts) {
    ++seq_;
    events_.push_back({{"type", "project_event"},
                       {"project", "p"},
                       {"seq", seq_},
                       {"event", type},
                       {"at_us", Micros(second)},
                       {"chain", fmt::format("c{}", seq_)},
                       {"facts", facts}});
  }
  void Shown(const char* task, const char* title, const char* status, const char* holder) {
    shown_.push_back(
        {{"type", "project_task"}, {"project", "p"}, {"task", task}, {"title", title}, {"status", status}, {"holder", holder}});
  }
  std::vector<Json> End() {
    Add({{"type", "project_head"}, {"project", "p"}, {"name", "chaos-1-0"}, {"head_seq", seq_}, {"chain", fmt::format("c{}", seq_)}});
    for (const auto& more : {events_, shown_}) {
      for (const Json& line : more) Add(line);
    }
    for (const auto& [key, line] : kept_) Add(line);
    return lines_;
  }

 private:
  static std::int64_t Micros(int second) { return MicrosOf(*ParseWallTime(fmt::format("2026-11-27T09:00:{:02}.000000Z", second))); }
  std::int64_t t_ = 0;
  int op_ = 0, seq_ = 0;
  std::vector<Json> lines_, events_, shown_;
  std::map<std::string, Json> kept_;
};

std::vector<Json> Good() {
  Story story;
  const Json first = Claim("ann", 1, 2, 4), second = Claim("bob", 2, 5, 9), longer = Claim("bob", 2, 5, 12);
  story.Event("project.created", 0, {{"name", "chaos-1-0"}, {"by", "ann"}});
  story.Event("goal.created", 0, {{"goal_id", "g1"}, {"text", "k0"}, {"by", "ann"}});
  story.Event("task.added", 1, {{"task_id", "t1"}, {"title", "k1"}, {"by", "ann"}});
  story.Event("task.started", 2, {{"task_id", "t1"}, {"claim", first}, {"by", "ann"}});
  story.Event("task.claim_expired", 4, {{"task_id", "t1"}, {"holder", "ann"}, {"token", 1}, {"by", "the clock"}});
  story.Event("task.started", 5, {{"task_id", "t1"}, {"claim", second}, {"by", "bob"}});
  story.Event("command.refused", 6, {{"command", "complete_task"}, {"reason", "LATE_HOLDER"}, {"by", "ann"}});
  story.Event("checkpoint.updated", 7, {{"task_id", "t1"}, {"where_we_left_off", "Said under k6."}, {"by", "bob"}});
  story.Event("task.claim_renewed", 7, {{"task_id", "t1"}, {"claim", longer}, {"by", "bob"}});
  story.Event("task.completed", 8, {{"task_id", "t1"}, {"evidence", {{{"said", "k8"}}}}, {"by", "bob"}});
  story.Shown("t1", "k1", "done", "");

  story.Say("ann", "k0", "create_goal", {{"text", "k0"}}, 2, {{"goal_id", "g1"}});
  story.Say("ann", "k1", "add_task", {{"goal_id", "g1"}, {"title", "k1"}}, 3, {{"task_id", "t1"}});
  story.Say("ann", "k2", "take_next", {{"claim_seconds", 2}}, 4, {{"task_id", "t1"}, {"claim", first}});
  story.Fault("inject");
  story.Fault("observed");
  story.Say("bob", "k3", "start_task", {{"task_id", "t1"}, {"claim_seconds", 4}}, 6, {{"task_id", "t1"}, {"claim", second}});
  story.Say("ann", "k4", "complete_task", {{"task_id", "t1"}, {"token", 1}, {"evidence", {{{"said", "k4"}}}}}, 7, {}, "LATE_HOLDER");
  story.Ask("bob", "k6", "update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "Said under k6."}});  // its answer was lost
  story.Fault("healed");
  story.Fault("well");
  story.Say("bob", "k6", "update_checkpoint", {{"task_id", "t1"}, {"where_we_left_off", "Said under k6."}}, 8, Json::object());
  story.Say("bob", "k7", "renew_claim", {{"task_id", "t1"}}, 9, {{"claim", longer}});
  story.Look("bob", 9);
  story.Say("bob", "k8", "complete_task", {{"task_id", "t1"}, {"evidence", {{{"said", "k8"}}}}}, 10, Json::object());
  story.Say("bob", "k8", "complete_task", {{"task_id", "t1"}, {"evidence", {{{"said", "k8"}}}}}, 10, Json::object());
  story.Say("ann", "k9", "take_next", {{"claim_seconds", 2}}, 10, {{"rule", "propose"}});
  return story.End();
}

std::string Found(const std::vector<Json>& lines) {
  std::string ids;
  for (const InvariantResult& result : CheckContinuity(lines)) {
    if (result.found > 0) ids += result.id + " ";
  }
  return ids;
}

// The lines for which `is`, changed by `change`.
std::string FoundWith(const std::function<bool(const Json&)>& is, const std::function<void(Json&)>& change) {
  std::vector<Json> lines = Good();
  int changed = 0;
  for (Json& line : lines) {
    if (is(line)) change(line), ++changed;
  }
  EXPECT_GT(changed, 0) << "nothing was changed";
  return Found(lines);
}

std::function<bool(const Json&)> EventNo(int seq) {
  return [seq](const Json& line) { return line["type"] == "project_event" && line["seq"] == seq; };
}
std::function<bool(const Json&)> AnswerNo(int op) {
  return [op](const Json& line) { return line["type"] == "ok" && line["op"] == op; };
}
std::function<bool(const Json&)> Of(const char* type) {
  return [type](const Json& line) { return line["type"] == type; };
}
std::function<bool(const Json&)> KeptUnder(const char* key) {
  return [key](const Json& line) { return line["type"] == "project_answer" && line["key"] == key; };
}
void Gone(Json& line) { line["type"] = "gone"; }

TEST(Continuity, AHistoryInOrderHasNoFindingAndEveryCheckLookedAtSomething) {
  for (const InvariantResult& result : CheckContinuity(Good())) {
    EXPECT_EQ(result.found, 0) << result.id << ": "
                               << (result.anomalies.empty() ? "" : result.anomalies[0].key + ": " + result.anomalies[0].why);
    EXPECT_GT(result.examined, 0) << result.id;
  }
}

TEST(Continuity, ARunWithoutAgentsIsNotAsked) { EXPECT_TRUE(CheckContinuity({{{"type", "run"}, {"t", 1}}}).empty()); }

TEST(Continuity, ALostUpdateIsFound) {
  EXPECT_EQ(FoundWith(EventNo(8), [](Json& line) { line["facts"]["where_we_left_off"] = "Said by nobody."; }), "c01 ")
      << "not in the journal";
  EXPECT_EQ(FoundWith(EventNo(4), [](Json& line) { line["facts"]["claim"]["since"] = "2026-11-27T09:00:01.000000Z"; }), "c01 ")
      << "another claim";
  EXPECT_EQ(FoundWith(EventNo(2), [](Json& line) { line["facts"]["by"] = "bob"; }), "c01 ") << "said by another";
  EXPECT_EQ(FoundWith(EventNo(2), [](Json& line) { line["event"] = "goal.changed"; }), "c01 ") << "another event";
  EXPECT_EQ(FoundWith(EventNo(7),
                      [](Json& line) {
                        line["event"] = "dependency.reopened", line["facts"] = {{"text", "k0"}};
                      }),
            "c01 ")
      << "twice";
  const auto early = [](const Json& line) { return AnswerNo(2)(line) || KeptUnder("k1")(line); };
  EXPECT_EQ(FoundWith(early, [](Json& line) { (line["type"] == "ok" ? line["value"] : line)["event_seq"] = 2; }), "c01 ")
      << "behind its event_seq";
  EXPECT_EQ(FoundWith(EventNo(7),
                      [](Json& line) {
                        line["event"] = "dependency.reopened", line["facts"] = {{"evidence", {{{"said", "k4"}}}}};
                      }),
            "c01 ")
      << "what was refused was done";
}

TEST(Continuity, AnAnswerThatChangesIsFound) {
  EXPECT_EQ(FoundWith(AnswerNo(11), [](Json& line) { line["value"]["event_seq"] = 11; }), "c02 ") << "asked again";
  EXPECT_EQ(FoundWith(AnswerNo(11), [](Json& line) { line["value"]["refused"] = "INVALID_TRANSITION"; }), "c02 ");
  EXPECT_EQ(FoundWith(KeptUnder("k3"), Gone), "c02 ") << "not kept";
  EXPECT_EQ(FoundWith(KeptUnder("k3"), [](Json& line) { line["answer"]["answer"]["task_id"] = "t2"; }), "c02 ") << "another is kept";
  EXPECT_EQ(FoundWith(KeptUnder("k4"), [](Json& line) { line["answer"]["refused"]["reason"] = "CLAIMED"; }), "c02 ");
}

TEST(Continuity, ADoubleClaimIsFound) {
  EXPECT_EQ(FoundWith(EventNo(5), [](Json& line) { line["event"] = "dependency.reopened"; }), "c03 ") << "given while it is held";
  const auto same_token = [](const Json& line) { return line.contains("facts") && line["facts"].contains("claim") && line["seq"] == 6; };
  EXPECT_NE(FoundWith(same_token, [](Json& line) { line["facts"]["claim"]["token"] = 1; }).find("c03"), std::string::npos)
      << "a token that does not grow";
  EXPECT_NE(FoundWith(EventNo(9), [](Json& line) { line["facts"]["by"] = "ann"; }).find("c03"), std::string::npos) << "renewed by another";
  EXPECT_NE(FoundWith(EventNo(10), [](Json& line) { line["facts"]["by"] = "ann"; }).find("c03"), std::string::npos)
      << "completed by another";
  EXPECT_NE(FoundWith(EventNo(8), [](Json& line) { line["facts"]["by"] = "ann"; }).find("c03"), std::string::npos)
      << "another's checkpoint";
  EXPECT_NE(FoundWith(EventNo(7),
                      [](Json& line) {
                        line["event"] = "task.blocked", line["facts"] = {{"task_id", "t1"}, {"by", "ann"}};
                      })
                .find("c03"),
            std::string::npos)
      << "a late holder is heard";
  const auto told_bob = [](const Json& line) { return line["type"] == "invoke" && line["op"] == 3; };
  EXPECT_NE(FoundWith(told_bob, [](Json& line) { line["args"]["by"] = "bob"; }).find("c03"), std::string::npos)
      << "two were told to have one claim";
}

TEST(Continuity, AClaimThatRunsOutAtAnotherTimeIsFound) {
  EXPECT_EQ(FoundWith(EventNo(5), [](Json& line) { line["at_us"] = line["at_us"].get<std::int64_t>() - 1; }), "c04 ") << "before its time";
  EXPECT_EQ(FoundWith(EventNo(5), [](Json& line) { line["facts"]["token"] = 7; }), "c04 ") << "of another claim";
  EXPECT_NE(FoundWith(EventNo(10),
                      [](Json& line) {
                        line["facts"] = {{"task_id", "t9"}, {"by", "bob"}};
                      })
                .find("c04"),
            std::string::npos)
      << "never";
}

TEST(Continuity, WhatIsShownOtherwiseThanItIsIsFound) {
  EXPECT_EQ(FoundWith(Of("project_task"), [](Json& line) { line["status"] = "doing"; }), "c05 ");
  EXPECT_EQ(FoundWith(Of("project_task"), [](Json& line) { line["holder"] = "bob"; }), "c05 ");
  EXPECT_EQ(FoundWith(Of("project_task"), [](Json& line) { line["title"] = "k2"; }), "c05 ");
  EXPECT_EQ(FoundWith(Of("project_task"), Gone), "c05 ");
  EXPECT_EQ(FoundWith(Of("project_task"), [](Json& line) { line["task"] = "t2"; }), "c05 ");
}

TEST(Continuity, AHeadThatIsNotTheLastEventIsFound) {
  EXPECT_EQ(FoundWith(Of("project_head"), [](Json& line) { line["head_seq"] = 11; }), "c06 ");
  EXPECT_EQ(FoundWith(Of("project_head"), [](Json& line) { line["chain"] = "c9"; }), "c06 ");
  EXPECT_EQ(FoundWith(EventNo(7), Gone), "c06 ") << "a gap";
  EXPECT_EQ(FoundWith(EventNo(7), [](Json& line) { line["seq"] = 6; }), "c06 ") << "two of one number";
}

TEST(Continuity, AnAgentThatNobodyAnswersIsFound) {
  const auto after = [](const Json& line) { return line["type"] == "ok" && line["process"] == "ann" && line["t"] > 20; };
  EXPECT_EQ(FoundWith(after, [](Json& line) { line["type"] = "info"; }), "c07 ");
  const auto during = [](const Json& line) { return line["type"] == "ok" && (line["op"] == 4 || line["op"] == 5); };
  EXPECT_EQ(FoundWith(during, [](Json& line) { line["type"] = "info"; }), "c07 ");
}

TEST(Continuity, AProjectThatGoesBackIsFound) {
  const auto looked = [](const Json& line) { return line["type"] == "ok" && line["f"] == "get_next_step"; };
  EXPECT_EQ(FoundWith(looked, [](Json& line) { line["value"]["saw_seq"] = 8; }), "c08 ");
}

// The database moved to a standby that was behind: what was answered in that time may be gone, and nothing else.
TEST(Continuity, WhatAFailoverMayLoseIsCountedAndNothingElse) {
  const auto without = [](int op, const char* key, bool moved) {
    std::vector<Json> lines = Good();
    std::int64_t at = 0;
    for (const Json& line : lines) {
      if (AnswerNo(op)(line)) at = line["t"];
    }
    for (Json& line : lines) {
      if (KeptUnder(key)(line)) Gone(line);
      if (line["type"] == "project_event" && line["facts"].value("text", "") == "k0") line["facts"]["text"] = "of before";
      if (moved && line["type"] == "fault" && line["event"] == "well") line["facts"] = {{"loses_from", at}, {"loses_until", at}};
    }
    std::string found;
    for (const Finding& finding : CheckHistory(lines)) {
      if (finding.id.starts_with("c") && finding.anomalies > 0) found += finding.id + " ";
      if (finding.id == "h08")
        found += fmt::format("{} of {} lost ", finding.what.find(" 1 were lost") != std::string::npos ? 1 : 0, finding.examined);
    }
    return found;
  };
  EXPECT_EQ(without(1, "k0", true), "1 of 1 lost ");
  EXPECT_EQ(without(2, "k0", true), "0 of 1 lost c01 c02 ") << "answered at another time";
  EXPECT_EQ(without(1, "k0", false), "c01 c02 ") << "no such time is named";
}

TEST(Continuity, ARunWhoseAgentsMeetNothingProvesNothing) {
  const auto why = [](std::vector<Json> lines) { return DumpJson(WhyInvalid(lines)); };
  EXPECT_EQ(why(Good()).find("agent"), std::string::npos) << why(Good());
  EXPECT_EQ(why(Good()).find("late holder"), std::string::npos) << why(Good());
  std::vector<Json> nobody = Good(), early = Good();
  for (Json& line : nobody) {
    if (line["type"] == "ok") line["type"] = "info";
  }
  for (Json& line : early) {
    if (line["type"] == "ok" && line["value"].contains("refused")) line["value"]["refused"] = "CLAIMED";
  }
  EXPECT_NE(why(nobody).find("no command of an agent was answered"), std::string::npos);
  EXPECT_NE(why(early).find("no late holder"), std::string::npos);
}

}  // namespace
}  // namespace acl::chaos
