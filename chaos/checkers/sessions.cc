#include "chaos/checkers/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "chaos/checkers/session_evidence.h"

namespace acl::chaos {
namespace {

constexpr const char* kMove = "move.";

// One turn of a session, as its journal has it.
struct Turn {
  std::vector<std::int64_t> stimuli;
  int plans = 0, requests = 0, processes = 0;
  std::int64_t asked = -1;  // actions of the answer; -1: there was no answer
  std::int64_t processed = -1;
  bool no_plan = false, ended = false, in_order = true;
  struct Ended {
    std::string outcome, url, capability;
    int times = 0;
  };
  std::map<std::int64_t, Ended> actions;  // by number
};

struct SessionStory {
  std::map<std::int64_t, std::string> stimuli;  // text by number
  std::map<std::string, int> marks;             // how often each stands there
  std::map<std::int64_t, Turn> turns;
  std::vector<std::string> behind_a_stop;  // steps that began while it was stopped
};

bool IsStimulus(const SessionEvent& event) {
  return event.type == "move.stimulus" || (event.type == "move.prepare" && event.facts.contains("number"));
}

void TakeTurnEvent(const SessionEvent& event, Turn& turn) {
  const auto once = [&](int& count, int before) {
    ++count;
    turn.in_order = turn.in_order && before == 1 && !turn.ended;
  };
  if (event.type == "move.plan") once(turn.plans, 1);
  if (event.type == "move.request") {
    once(turn.requests, turn.plans);
    if (event.facts.contains("asked")) turn.asked = event.Number("asked");
  }
  if (event.type == "move.process") {
    once(turn.processes, turn.requests);
    turn.processed = std::int64_t(event.facts.value("outcomes", Json::array()).size());
  }
  if (event.type == "action.ended") {
    Turn::Ended& action = turn.actions[event.Number("action")];
    action = {event.Text("outcome"), event.Text("url"), event.Text("capability"), action.times + 1};
    turn.in_order = turn.in_order && turn.requests == 1 && turn.processes == 0 && !turn.ended;
  }
  if (event.type == "turn.ended") {
    turn.in_order = turn.in_order && !turn.ended;
    turn.ended = true;
    turn.no_plan = event.Text("reason").starts_with("no plan");
  }
}

SessionStory StoryOf(const SessionJournal& journal) {
  SessionStory story;
  bool stopped = false;
  for (const SessionEvent& event : journal.events) {
    if (IsStimulus(event)) {
      story.stimuli[event.Number("number")] = event.Text("text");
      ++story.marks[event.Text("text")];
    }
    if (event.type == "session.resolved") story.stimuli[event.Number("stimulus")] = "";
    if (event.type == "session.stop_asked") stopped = true;
    if (event.type == "session.resumed") stopped = false;
    if (event.type == "step.started" && stopped) story.behind_a_stop.push_back(event.Text("step_id"));
    if (event.type == "turn.began")
      for (const Json& number : event.facts.value("stimuli", Json::array()))
        story.turns[event.Number("turn")].stimuli.push_back(number.get<std::int64_t>());
    if (event.Number("turn") > 0) TakeTurnEvent(event, story.turns[event.Number("turn")]);
  }
  return story;
}

struct Told {
  SessionEvidence evidence;
  std::map<std::string, SessionStory> stories;

  explicit Told(const std::vector<Json>& lines) : evidence(SessionEvidenceOf(lines)) {
    for (const auto& [id, journal] : evidence.journals) stories.emplace(id, StoryOf(journal));
  }
};

InvariantResult SaidOnce(const Told& told) {
  InvariantResult result =
      InvariantResult::Asked("a01", "what was acknowledged to be said to an agent is in its journal, once, and nothing that nobody said");
  std::set<std::string> known;
  for (const SaidToSession& said : told.evidence.said) {
    known.insert(said.mark);
    const auto story = told.stories.find(said.session);
    const auto found = story == told.stories.end() ? 0 : [&] {
      const auto mark = story->second.marks.find(said.mark);
      return mark == story->second.marks.end() ? 0 : mark->second;
    }();
    if (said.acknowledged)
      result.Examine(found == 1, said.mark, fmt::format("it stands {} times in the journal of {}", found, said.session));
    if (!said.acknowledged) result.Examine(found <= 1, said.mark, fmt::format("it stands {} times there", found));
  }
  for (const auto& [id, story] : told.stories)
    for (const auto& [mark, times] : story.marks)
      if (mark.starts_with("mark-")) result.Examine(known.contains(mark), id, "nobody said " + mark);
  return result;
}

InvariantResult Answered(const Told& told) {
  InvariantResult result = InvariantResult::Asked("a02", "every stimulus is taken up by exactly one turn that comes to an answer");
  for (const auto& [id, story] : told.stories) {
    std::map<std::int64_t, int> answered;
    for (const auto& [number, turn] : story.turns)
      if (turn.asked >= 0 || turn.no_plan)
        for (const std::int64_t stimulus : turn.stimuli) ++answered[stimulus];
    for (const auto& [stimulus, text] : story.stimuli)
      result.Examine(answered[stimulus] == 1, fmt::format("{} stimulus {} {}", id, stimulus, text),
                     fmt::format("{} turns answered it", answered[stimulus]));
  }
  return result;
}

InvariantResult OneOutcome(const Told& told) {
  InvariantResult result =
      InvariantResult::Asked("a03", "each action that an answer asked for ends in exactly one outcome, within its turn");
  for (const auto& [id, story] : told.stories)
    for (const auto& [number, turn] : story.turns) {
      for (const auto& [action, ended] : turn.actions)
        result.Examine(ended.times == 1, fmt::format("{} turn {} action {}", id, number, action),
                       fmt::format("it ended {} times", ended.times));
      if (turn.asked < 0 || !turn.ended) continue;
      result.Examine(
          turn.processed == turn.asked && std::int64_t(turn.actions.size()) == turn.asked, fmt::format("{} turn {}", id, number),
          fmt::format("it was asked for {} actions, {} ended, {} are in its move", turn.asked, turn.actions.size(), turn.processed));
    }
  return result;
}

InvariantResult MovesOnce(const Told& told) {
  InvariantResult result =
      InvariantResult::Asked("a04", "a move is recorded once and in its place: plan, request, process; and the table shows the journal");
  for (const auto& [id, journal] : told.evidence.journals) {
    std::string moves;
    std::int64_t seq = 0;
    for (const SessionEvent& event : journal.events) {
      result.Examine(event.seq == seq + 1, id, fmt::format("event {} comes after event {}", event.seq, seq));
      seq = event.seq;
      if (event.type.starts_with(kMove)) moves += fmt::format("{}{} {}", moves.empty() ? "" : ",", seq, event.type.substr(5));
    }
    result.Examine(seq == journal.head_seq, id, fmt::format("its head is {}, its last event {}", journal.head_seq, seq));
    result.Examine(moves == journal.moves, id, "the table of moves is not what the journal says");
    for (const auto& [number, turn] : told.stories.at(id).turns)
      result.Examine(turn.in_order && turn.plans <= 1 && turn.requests <= 1 && turn.processes <= 1, fmt::format("{} turn {}", id, number),
                     fmt::format("it has {} plans, {} requests, {} processes, or one of them out of its place", turn.plans, turn.requests,
                                 turn.processes));
  }
  return result;
}

std::string LastPart(const std::string& url) { return url.substr(url.rfind('/') + 1); }

InvariantResult ActedOnce(const Told& told) {
  InvariantResult result =
      InvariantResult::Asked("a05", "no action happened twice: one key at the receiver, applied once; what may not be repeated came once");
  for (const auto& [id, journal] : told.evidence.journals) {
    const bool may_repeat = journal.name.find("-posts-") == std::string::npos;
    for (const auto& [step, calls] : journal.called) {
      std::set<std::string> keys;
      int applied = 0;
      bool in_order = true;
      for (const SeenCall& call : calls) {
        keys.insert(call.key);
        applied += call.verdict == "applied";
        in_order = in_order && call.verdict != "reused" && call.verdict != "unfenced";
      }
      result.Examine(in_order && keys.size() == 1 && applied <= 1 && (may_repeat || calls.size() == 1), id + "/" + step,
                     fmt::format("{} calls under {} keys, {} applied", calls.size(), keys.size(), applied));
    }
  }
  return result;
}

// What the journal says of an action is what the receiver saw of it.
InvariantResult SaidAsDone(const Told& told) {
  InvariantResult result = InvariantResult::Asked(
      "a06", "what ended as done was applied, with all that was said; what was refused never came; nothing came that no action asked for");
  for (const auto& [id, journal] : told.evidence.journals) {
    const SessionStory& story = told.stories.at(id);
    std::set<std::string> asked;
    for (const auto& [number, turn] : story.turns) {
      for (const auto& [action, ended] : turn.actions) {
        const std::string step = LastPart(ended.url);
        asked.insert(step);
        const auto calls = journal.called.find(step);
        const bool came = calls != journal.called.end();
        const std::string key = fmt::format("{} {}", id, step);
        if (ended.outcome == "refused") result.Examine(!came, key, "it was refused, and came");
        if (ended.outcome != "result") continue;
        const auto applied =
            came ? std::find_if(calls->second.begin(), calls->second.end(), [](const SeenCall& call) { return call.verdict == "applied"; })
                 : std::vector<SeenCall>::const_iterator();
        const bool done = came && applied != calls->second.end();
        result.Examine(done, key, "it is said to be done, and was not applied");
        if (!done || step.ends_with("-again")) continue;
        for (const std::int64_t stimulus : turn.stimuli) {
          const auto text = story.stimuli.find(stimulus);
          if (text != story.stimuli.end() && !text->second.empty())
            result.Examine(applied->body.find(text->second) != std::string::npos, key, "it says nothing of " + text->second);
        }
      }
    }
    for (const auto& [step, calls] : journal.called)
      result.Examine(asked.contains(step), id + "/" + step, "it came, and no action has that address");
  }
  return result;
}

InvariantResult NothingBehindAStop(const Told& told) {
  InvariantResult result = InvariantResult::Asked("a07", "behind a stop no attempt begins until somebody resumes");
  for (const auto& [id, journal] : told.evidence.journals) {
    for (const SessionEvent& event : journal.events) result.examined += event.type == "session.stop_asked";
    for (const std::string& step : told.stories.at(id).behind_a_stop) {
      --result.examined;  // of the stop that it belongs to
      result.Examine(false, id, step + " began behind a stop");
    }
  }
  return result;
}

InvariantResult AllAtRest(const Told& told) {
  InvariantResult result =
      InvariantResult::Asked("a08", "in the end every agent rests, held by nobody and asked for by nobody; every speaker was answered");
  for (const auto& [id, journal] : told.evidence.journals)
    result.Examine(
        journal.status == "RESTING" && !journal.held && !journal.ready, id,
        fmt::format("it is {} ({}){}{}", journal.status, journal.reason, journal.held ? ", held" : "", journal.ready ? ", ready" : ""));
  for (const auto& [speaker, answers] : told.evidence.answered_after)
    result.Examine(answers > 0, speaker, "it got no answer after the last fault");
  result.Examine(told.evidence.answered_during > 0, "speakers", "none got an answer during the faults");
  return result;
}

double Share(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, std::size_t(share * double(values.size())))];
}

}  // namespace

std::vector<InvariantResult> CheckSessions(const std::vector<Json>& lines) {
  const Told told(lines);
  if (!told.evidence.asked_for) return {};
  return {SaidOnce(told),  Answered(told),   OneOutcome(told),         MovesOnce(told),
          ActedOnce(told), SaidAsDone(told), NothingBehindAStop(told), AllAtRest(told)};
}

SessionFigures FiguresOfSessions(const std::vector<Json>& lines) {
  const SessionEvidence evidence = SessionEvidenceOf(lines);
  SessionFigures figures;
  figures.sessions = std::int64_t(evidence.journals.size());
  std::int64_t first_us = 0, last_us = 0;
  for (const auto& [id, journal] : evidence.journals) {
    for (const SessionEvent& event : journal.events) {
      figures.moves += event.type.starts_with(kMove);
      figures.stimuli += IsStimulus(event);
      figures.attempts_lost += event.type == "attempt.lost";
      figures.approved += event.type == "approval.decided" && event.Text("approval") == "APPROVED";
      if (event.type == "action.ended") {
        ++figures.actions;
        figures.uncertain += event.Text("outcome") == "uncertain";
      }
      if (event.type != "turn.began") continue;
      ++figures.turns;
      first_us = first_us == 0 ? event.at_us : std::min(first_us, event.at_us);
      last_us = std::max(last_us, event.at_us);
    }
  }
  std::vector<double> heard;
  for (const SaidToSession& said : evidence.said)
    if (said.answered_ms > 0) heard.push_back(said.answered_ms);
  figures.heard_ms_median = Share(heard, 0.5);
  figures.heard_ms_p99 = Share(heard, 0.99);
  if (last_us > first_us) figures.turns_per_second = double(figures.turns) * 1e6 / double(last_us - first_us);
  return figures;
}

}  // namespace acl::chaos
