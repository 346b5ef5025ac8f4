// One agent that is told two things and acts, all in order: no finding. One thing changed in what it was told, in its journal or at the
// receiver: the check that is there for it finds it.
#include "chaos/checkers/sessions.h"

#include <gtest/gtest.h>

#include <functional>

#include "chaos/history/checks.h"

namespace acl::chaos {
namespace {

// The history of a run, line by line as the driver writes it.
class AgentStory {
 public:
  AgentStory() { Add({{"type", "run"}, {"sessions", 1}}); }
  void Add(Json line) {
    line["t"] = (t_ += 1'000'000);
    lines_.push_back(std::move(line));
  }
  void Fault(const char* event) {
    Json line = {{"type", "fault"}, {"n", 1}, {"kind", "kill-worker"}, {"number", "N1"}, {"event", event}};
    if (std::string(event) == "well") line["facts"] = Json::object();
    Add(std::move(line));
  }
  void Say(const std::string& f, const std::string& mark) {
    Json args = {{"key", "k" + mark}, {"mark", mark}};
    if (f == "tell") args["session"] = "s";
    Add({{"type", "invoke"}, {"op", ++op_}, {"process", "ann"}, {"f", f}, {"args", args}});
    Json value = {{"status", 200}, {"id", "s"}};
    if (f == "tell") value["heard"] = true;
    Add({{"type", "ok"}, {"op", op_}, {"process", "ann"}, {"f", f}, {"value", value}});
  }
  void Event(const char* type, Json facts) {
    ++seq_;
    const std::string word = type;
    if (word.starts_with("move.")) moves_ += (moves_.empty() ? "" : ",") + std::to_string(seq_) + " " + word.substr(5);
    events_.push_back(
        {{"type", "agent_event"}, {"session", "s"}, {"seq", seq_}, {"event", type}, {"at_us", seq_ * 1'000}, {"facts", std::move(facts)}});
  }
  void Turn(int turn, Json stimuli, const char* outcome) {
    const std::string url = "http://r/effects/s/turn-" + std::to_string(turn);
    Event("turn.began", {{"turn", turn}, {"stimuli", std::move(stimuli)}});
    Event("move.plan", {{"turn", turn}});
    Event("move.request", {{"turn", turn}, {"asked", 1}});
    if (std::string(outcome) != "refused")
      Event("step.started", {{"turn", turn}, {"step_id", "turn-" + std::to_string(turn) + "/action[0]"}});
    Event("action.ended", {{"turn", turn}, {"action", 1}, {"outcome", outcome}, {"capability", "net.http.post"}, {"url", url}});
    Event("move.process", {{"turn", turn}, {"outcomes", {{{"action", 1}, {"outcome", outcome}}}}});
    Event("turn.ended", {{"turn", turn}});
  }
  void Effect(const std::string& step, const std::string& body, const char* verdict) {
    Add({{"type", "effect"},
         {"run", "s"},
         {"step", step},
         {"key", "key-" + step},
         {"token", 1},
         {"scope", "s"},
         {"body", body},
         {"verdict", verdict}});
  }
  std::vector<Json> End() {
    Add({{"type", "agent_session"},
         {"session", "s"},
         {"name", "chaos-1-posts-0"},
         {"status", "RESTING"},
         {"reason", "no plan"},
         {"head_seq", seq_},
         {"held", false},
         {"ready", false}});
    for (const Json& line : events_) Add(line);
    Add({{"type", "agent_move"}, {"session", "s"}, {"moves", moves_}});
    return lines_;
  }

 private:
  std::int64_t t_ = 0;
  int op_ = 0, seq_ = 0;
  std::string moves_;
  std::vector<Json> lines_, events_;
};

std::vector<Json> GoodLife() {
  AgentStory story;
  story.Say("start_agent", "mark-1");
  story.Event("move.prepare", {{"number", 1}, {"text", "mark-1"}});
  story.Turn(1, {1}, "result");
  story.Effect("turn-1", "said: mark-1", "applied");
  story.Event("move.rest", {{"reason", "no plan"}});
  story.Fault("inject");
  story.Fault("observed");
  story.Say("tell", "mark-2");
  story.Event("move.stimulus", {{"number", 2}, {"text", "mark-2"}});
  story.Fault("healed");
  story.Fault("well");
  story.Turn(2, {2}, "refused");
  story.Event("session.stop_asked", Json::object());
  story.Event("session.stopped", Json::object());
  story.Event("session.resumed", Json::object());
  story.Say("tell", "mark-3");
  story.Event("move.stimulus", {{"number", 3}, {"text", "mark-3"}});
  story.Turn(3, {3}, "uncertain");
  story.Event("move.rest", {{"reason", "nothing to do"}});
  return story.End();
}

std::string FoundIn(const std::vector<Json>& lines) {
  std::string ids;
  for (const InvariantResult& result : CheckSessions(lines))
    if (result.found > 0) ids += result.id + " ";
  return ids;
}

Json& EventOf(std::vector<Json>& lines, const std::string& type, int which = 1) {
  for (Json& line : lines)
    if (line["type"] == "agent_event" && line["event"] == type && --which == 0) return line;
  ADD_FAILURE() << "there is no " << type;
  return lines.front();
}

TEST(ChaosSessionsTest, AGoodLifeHasNoFindingAndEachCheckLookedAtSomething) {
  const auto results = CheckSessions(GoodLife());
  ASSERT_EQ(results.size(), 8U);
  for (const InvariantResult& result : results) {
    EXPECT_EQ(result.found, 0) << result.id << ": "
                               << (result.anomalies.empty() ? "" : result.anomalies[0].key + " " + result.anomalies[0].why);
    EXPECT_GT(result.examined, 0) << result.id;
  }
  const SessionFigures figures = FiguresOfSessions(GoodLife());
  EXPECT_EQ(figures.turns, 3);
  EXPECT_EQ(figures.stimuli, 3);
  EXPECT_EQ(figures.uncertain, 1);
  EXPECT_GT(figures.heard_ms_median, 0);
  EXPECT_TRUE(CheckSessions({{{"type", "run"}, {"sessions", 0}, {"t", 1}}}).empty());
}

struct Break {
  const char *name, *found;
  std::function<void(std::vector<Json>&)> change;
};

const Break kBreaks[] = {
    {"a stimulus that is not in the journal", "a01 ", [](auto& lines) { EventOf(lines, "move.stimulus", 2)["facts"]["text"] = "mark-9"; }},
    {"a stimulus that no turn takes up", "a02 ", [](auto& lines) { EventOf(lines, "turn.began", 2)["facts"]["stimuli"] = Json::array(); }},
    {"a stimulus that two turns answer", "a02 ",
     [](auto& lines) {
       EventOf(lines, "turn.began", 3)["facts"]["stimuli"] = {2, 3};
     }},
    {"a turn without its answer", "a02 ", [](auto& lines) { EventOf(lines, "move.request", 2)["facts"].erase("asked"); }},
    {"an action that was asked for and never ended", "a03 ", [](auto& lines) { EventOf(lines, "move.request", 2)["facts"]["asked"] = 2; }},
    {"an action that ended twice", "a03 ",
     [](auto& lines) {
       Json& process = EventOf(lines, "step.started", 2);
       process["event"] = "action.ended";
       process["facts"] = EventOf(lines, "action.ended", 3)["facts"];
     }},
    {"a move that the table does not show", "a04 ", [](auto& lines) { lines.back()["moves"] = "1 prepare"; }},
    {"an event that is gone", "a04 ", [](auto& lines) { EventOf(lines, "move.rest", 2)["seq"] = 99; }},
    {"a request before its plan", "a04 ",
     [](auto& lines) {
       std::swap(EventOf(lines, "move.plan", 3)["facts"], EventOf(lines, "move.request", 3)["facts"]);
       std::swap(EventOf(lines, "move.plan", 3)["event"], EventOf(lines, "move.request", 3)["event"]);
     }},
    {"a call that came twice", "a05 ",
     [](auto& lines) {
       Json again = {{"type", "effect"},
                     {"run", "s"},
                     {"step", "turn-1"},
                     {"key", "key-turn-1"},
                     {"token", 2},
                     {"scope", "s"},
                     {"body", "said: mark-1"},
                     {"verdict", "replayed"},
                     {"t", 1}};
       lines.push_back(again);
     }},
    {"a call under another key", "a05 ",
     [](auto& lines) {
       Json again = {{"type", "effect"},       {"run", "s"},           {"step", "turn-1"},
                     {"key", "other"},         {"token", 2},           {"scope", "s"},
                     {"body", "said: mark-1"}, {"verdict", "applied"}, {"t", 1}};
       lines.push_back(again);
     }},
    {"a call that is said to be done and never came", "a06 ",
     [](auto& lines) { std::erase_if(lines, [](const Json& line) { return line["type"] == "effect"; }); }},
    {"a call that was refused and came", "a06 ",
     [](auto& lines) {
       Json came = {{"type", "effect"}, {"run", "s"}, {"step", "turn-2"},     {"key", "k2"}, {"token", 2},
                    {"scope", "s"},     {"body", ""}, {"verdict", "applied"}, {"t", 1}};
       lines.push_back(came);
     }},
    {"a call that says nothing of what was said", "a06 ",
     [](auto& lines) {
       for (Json& line : lines)
         if (line["type"] == "effect") line["body"] = "said:";
     }},
    {"a call that no action asked for", "a06 ",
     [](auto& lines) {
       Json came = {{"type", "effect"}, {"run", "s"}, {"step", "turn-8"},     {"key", "k8"}, {"token", 2},
                    {"scope", "s"},     {"body", ""}, {"verdict", "applied"}, {"t", 1}};
       lines.push_back(came);
     }},
    {"a step that begins behind a stop", "a07 ", [](auto& lines) { EventOf(lines, "session.stopped")["event"] = "step.started"; }},
    {"one that is still held", "a08 ",
     [](auto& lines) {
       for (Json& line : lines)
         if (line["type"] == "agent_session") line["held"] = true;
     }},
    {"a speaker whom nobody answers any more", "a08 ",
     [](auto& lines) {
       for (Json& line : lines)
         if (line["type"] == "ok" && line["op"] == 3) line["type"] = "info";
     }},
};

TEST(ChaosSessionsTest, EveryBreakIsFoundByItsCheck) {
  for (const Break& one : kBreaks) {
    SCOPED_TRACE(one.name);
    auto lines = GoodLife();
    one.change(lines);
    EXPECT_EQ(FoundIn(lines), one.found);
  }
}

TEST(ChaosSessionsTest, ARunInWhichNobodyDiedInAStepProvesNothing) {
  const auto why = WhyInvalid(GoodLife());
  EXPECT_TRUE(std::any_of(why.begin(), why.end(), [](const std::string& one) { return one.find("no agent lost its worker") == 0; }));
}

}  // namespace
}  // namespace acl::chaos
