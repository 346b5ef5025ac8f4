// Random lives of a session: messages in every mode, takeovers at any moment, failures of every kind, stops and pauses. Whatever comes,
// each requested action has one outcome, nothing that may not be repeated is, and nothing that was said to it is lost.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "shared/kinds/agent/events.h"
#include "tests/unit/kinds/agent/agent_driver.h"

namespace acl::agent::test {
namespace {

using Outcome = StepResult::Outcome;

class Life {
 public:
  explicit Life(unsigned seed) : random_(seed), agent_(FileOf(random_() % 3)) {}

  void Live() {
    agent_.Claim();
    for (int n = 0; n < 120; ++n) {
      Step();
      if (testing::Test::HasFatalFailure()) return;
    }
    Calm();
    Check();
  }

 private:
  static std::string FileOf(unsigned which) {
    std::string file = "agent: a\ncapabilities: ['*']\nplanner: {command: p}\nlimits: {actions_per_turn: 3, moves_per_minute: 100000}\n";
    if (which == 1) file += "on_unknown_outcome: go_on\nask_before: [do.keyed]\n";
    if (which == 2)
      file +=
          "every: 1m\nextensions:\n  - {name: x, phases: [before_plan, before_action, after_process, before_rest, after_rest], command: x, "
          "on_failure: open}\n";
    return file;
  }

  bool OneIn(unsigned n) { return random_() % n == 0; }

  void Step() {
    switch (random_() % 12) {
      case 0: return agent_.Tell("m" + std::to_string(random_() % 5), std::vector{"interrupt", "steer", "followup"}[random_() % 3]);
      case 1: return OneIn(3) ? agent_.Claim() : void();
      case 2: return OneIn(4) ? agent_.Post("agent.pause") : agent_.Post("agent.resume");
      case 3: return OneIn(6) ? agent_.Post("agent.stop") : void();
      case 4: return OneIn(2) ? agent_.Post("agent.resolve", {{"decision", OneIn(2) ? "happened" : "did_not_happen"}}) : void();
      case 5: return (void)agent_.FireNextTimer();
      case 6: return Decide();
      default: return GoOn();
    }
  }

  void Decide() {
    const Json* asked = agent_.state.Find("course:approval");
    if (asked == nullptr) return;
    agent_.Post("decide", {{"approval_id", asked->at("approval_id")},
                           {"digest", asked->at("digest")},
                           {"decision", OneIn(2) ? "approve" : "reject"},
                           {"by", "carol"}});
  }

  void GoOn() {
    (void)agent_.Pump();
    if (agent_.running.empty() || OneIn(4)) return;
    const std::string id = agent_.running.begin()->first;
    agent_.Finish(id, ResultOf(id));
  }

  StepResult ResultOf(const std::string& id) {
    if (OneIn(8))
      return EndsAs(
          std::vector{Outcome::kNotStarted, Outcome::kCancelled, Outcome::kTimedOut, Outcome::kUnknown, Outcome::kFailed}[random_() % 5]);
    if (id.find("/action[") != std::string::npos)
      return OneIn(3) ? Writes("f" + std::to_string(random_() % 4), std::to_string(random_())) : Gives();
    if (!id.ends_with("/request")) return Says(Json::object());
    Json answer = {{"actions", Json::array()}};
    for (unsigned n = random_() % 5; n > 0; --n) {
      const char* capability = std::vector{"look.pure", "look.read", "do.idempotent", "do.effect", "do.keyed", "no.such"}[random_() % 6];
      answer["actions"].push_back({{"capability", capability}, {"inputs", {{"path", std::to_string(random_() % 3)}}}});
    }
    return Says(answer);
  }

  // Nothing more comes from outside, and everything works: it comes to rest.
  void Calm() {
    agent_.Claim();
    for (int n = 0; n < 400; ++n) {
      if (agent_.Status() == "STOPPED" || agent_.Status() == "PAUSED") agent_.Post("agent.resume");
      if (!agent_.Now().uncertain.is_null()) agent_.Post("agent.resolve", {{"decision", "happened"}});
      if (agent_.Reason().starts_with("loop")) agent_.Tell("go on", "steer");
      Decide();
      (void)agent_.Pump();
      if (!agent_.running.empty()) {
        const std::string id = agent_.running.begin()->first;
        agent_.Finish(id, id.find("/action[") != std::string::npos ? Gives() : Says(Json::object()));
        continue;
      }
      if (agent_.Status() == "RESTING" && agent_.Now().waiting.empty() && agent_.Now().again.empty()) return;
      if (!agent_.FireNextTimer() && agent_.Ask().start.empty() && agent_.Status() == "RESTING") return;
    }
    ADD_FAILURE() << "it never comes to rest: " << agent_.Status() << " " << agent_.Reason();
  }

  void Check() {
    std::map<std::pair<std::int64_t, std::int64_t>, int> outcomes;
    for (const Json& ended : agent_.Events(event::kActionEnded)) ++outcomes[{ended["turn"], ended["action"]}];
    for (const auto& [action, times] : outcomes) EXPECT_EQ(times, 1) << "turn " << action.first << ", action " << action.second;
    for (const Json& process : agent_.Events(event::kProcess))
      for (const Json& outcome : process["outcomes"]) EXPECT_EQ(outcomes.count({process["turn"], outcome["action"]}), 1U);
    // An attempt that had not begun does not count; another one of what may not be repeated is a second effect.
    std::map<std::string, int> effects;
    for (const StartStep& step : agent_.started)
      if (step.call.value("capability", "") == "do.effect") ++effects[step.step_id];
    for (const Json& never : agent_.Events(event::kAttemptNotStarted)) --effects[never["step_id"]];
    for (const auto& [step, times] : effects) EXPECT_LE(times, 1) << step << ": a second effect of what may not be repeated";
    // Everything that was said is in a turn that got an answer, or still waits.
    std::set<std::int64_t> heard;
    std::map<std::int64_t, Json> turns;
    for (const Json& began : agent_.Events(event::kTurnBegan)) turns[began["turn"]] = began["stimuli"];
    for (const Json& request : agent_.Events(event::kRequest)) {
      if (!request.contains("response")) continue;
      for (const Json& number : turns[request["turn"]]) heard.insert(number.get<std::int64_t>());
    }
    for (const Json& ended : agent_.Events(event::kTurnEnded))
      if (ended.contains("reason") && ended["reason"].get<std::string>().starts_with("no plan"))
        for (const Json& number : turns[ended["turn"]]) heard.insert(number.get<std::int64_t>());
    for (const Stimulus& again : agent_.Now().again) heard.insert(again.number);
    for (const std::int64_t number : agent_.Now().waiting) heard.insert(number);
    for (std::int64_t number = 1; number <= agent_.Now().stimuli; ++number)
      EXPECT_TRUE(heard.contains(number)) << "stimulus " << number << " is in no turn and does not wait";
    EXPECT_EQ(agent_.Types("session.unreadable").size(), 0U);
  }

  std::mt19937 random_;
  AgentDriver agent_;
};

TEST(AgentPropertyTest, WhateverComesNothingIsLostAndNothingHappensTwice) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life(seed).Live();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace acl::agent::test
