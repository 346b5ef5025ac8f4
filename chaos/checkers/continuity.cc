#include "chaos/checkers/continuity.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "chaos/checkers/project_evidence.h"
#include "chaos/checkers/task_claims.h"

namespace acl::chaos {
namespace {

// A command is known in a journal by a text that only it says, and a claim by its holder, token and times.
struct Said {
  std::vector<std::string> types;  // of the event that it makes
  const char* text;                // the argument, and the fact; nullptr: the claim
};

const std::map<std::string, Said>& Commands() {
  static const std::map<std::string, Said> all = {
      {"create_goal", {{"goal.created"}, "text"}},
      {"pause_goal", {{"goal.status_changed"}, "reason"}},
      {"resume_goal", {{"goal.status_changed"}, "reason"}},
      {"add_task", {{"task.added"}, "title"}},
      {"pause_task", {{"task.paused"}, "reason"}},
      {"unblock_task", {{"task.unblocked"}, "reason"}},
      {"block_task", {{"task.blocked", "task.blocker_added"}, "blocker"}},
      {"complete_task", {{"task.completed"}, "evidence"}},
      {"update_checkpoint", {{"checkpoint.updated"}, "where_we_left_off"}},
      {"start_task", {{"task.started"}, nullptr}},
      {"reopen_task", {{"task.reopened"}, nullptr}},
      {"take_next", {{"task.started", "task.claim_renewed"}, nullptr}},
      {"renew_claim", {{"task.claim_renewed"}, nullptr}},
  };
  return all;
}

// By what is said, the events that say it.
std::map<std::string, std::vector<const ProjectEvent*>> ByWhatIsSaid(const ProjectJournal& journal) {
  std::map<std::string, std::vector<const ProjectEvent*>> said;
  for (const ProjectEvent& event : journal.events) {
    if (event.type == "command.refused") continue;
    for (const char* fact : {"text", "title", "reason", "blocker", "evidence", "where_we_left_off", "claim"}) {
      if (event.facts.contains(fact)) said[fact + DumpJson(event.facts[fact])].push_back(&event);
    }
  }
  return said;
}

// What is to be looked for of a command; nullopt: it leaves no trace (nothing was there to take).
std::optional<std::string> WhatItSays(const ReceivedAnswer& told, const Said& said) {
  if (said.text != nullptr)
    return told.arguments.contains(said.text) ? std::optional(said.text + DumpJson(told.arguments[said.text])) : std::nullopt;
  return told.answer.contains("claim") ? std::optional("claim" + DumpJson(told.answer["claim"])) : std::nullopt;
}

std::string Mismatch(const ReceivedAnswer& told, const Said& said, const std::vector<const ProjectEvent*>& events) {
  if (!told.refused.empty()) return events.empty() ? "" : fmt::format("it was refused, and event {} says it", events.front()->seq);
  if (events.empty()) return fmt::format("it was answered with event {} and is not in the journal", told.event_seq);
  if (events.size() > 1)
    return fmt::format("it is in the journal {} times, as events {} and {}", events.size(), events[0]->seq, events[1]->seq);
  const ProjectEvent& event = *events.front();
  if (event.seq > told.event_seq) return fmt::format("it was answered with event {} and is event {}", told.event_seq, event.seq);
  if (event.Text("by") != told.by) return fmt::format("event {} says that it was {}", event.seq, event.Text("by"));
  if (std::find(said.types.begin(), said.types.end(), event.type) == said.types.end())
    return fmt::format("event {} is {}", event.seq, event.type);
  return "";
}

InvariantResult NothingLost(const ProjectEvidence& evidence) {
  InvariantResult result =
      InvariantResult::Asked("c01", "every acknowledged command is in its journal at or below its event_seq, once; a refused one is not");
  std::map<std::string, std::map<std::string, std::vector<const ProjectEvent*>>> said;
  for (const auto& [id, journal] : evidence.journals) said[id] = ByWhatIsSaid(journal);
  std::set<std::string> looked;
  for (const ReceivedAnswer& told : evidence.told) {
    if (!looked.insert(told.key).second) continue;
    if (told.name == "create_project") {
      const std::string id = told.answer.value("project_id", "");
      if (told.refused.empty()) result.Examine(evidence.journals.contains(id), told.key, "project " + id + " is not there");
      continue;
    }
    const auto command = Commands().find(told.name);
    const auto what = command == Commands().end() ? std::nullopt : WhatItSays(told, command->second);
    if (!what) continue;
    const auto& here = said[told.project];
    const auto events = here.find(*what);
    const std::string wrong = Mismatch(told, command->second, events == here.end() ? std::vector<const ProjectEvent*>() : events->second);
    result.Examine(wrong.empty(), fmt::format("{} of {} ({})", told.name, told.project, told.key), wrong);
  }
  return result;
}

InvariantResult OneAnswer(const ProjectEvidence& evidence) {
  InvariantResult result =
      InvariantResult::Asked("c02", "one key has one answer, however often it is asked, and it is the one that is kept");
  std::map<std::string, const ReceivedAnswer*> first;
  for (const ReceivedAnswer& told : evidence.told) {
    const auto [known, fresh] = first.try_emplace(told.key, &told);
    const ReceivedAnswer& before = *known->second;
    const bool same = before.event_seq == told.event_seq && before.refused == told.refused && before.answer == told.answer;
    if (!fresh)
      result.Examine(same, told.key,
                     fmt::format("answered {} {}{} and then {} {}{}", before.event_seq, before.refused, DumpJson(before.answer),
                                 told.event_seq, told.refused, DumpJson(told.answer)));
    if (!fresh || told.name == "create_project") continue;
    const auto journal = evidence.journals.find(told.project);
    const bool there = journal != evidence.journals.end() && journal->second.answers.contains(told.key);
    result.Examine(there && IsKept(told, journal->second.answers.at(told.key)), told.key,
                   there ? "what is kept is not what was answered" : "no answer is kept under it");
  }
  return result;
}

InvariantResult ShownAsItIs(const ProjectEvidence& evidence, const std::map<std::string, TaskStates>& states) {
  InvariantResult result = InvariantResult::Asked("c05", "title, status and holder of every task are shown as its events give them");
  for (const auto& [id, journal] : evidence.journals) {
    const auto& tasks = states.at(id).tasks;
    for (const auto& [task, is] : tasks) {
      const auto shown = journal.tasks.find(task);
      result.Examine(
          shown != journal.tasks.end() && shown->second == is, id + " " + task,
          fmt::format(
              "it is {} ({}) and {}", is.status, is.holder,
              shown == journal.tasks.end() ? "not shown" : fmt::format("shown as {} ({})", shown->second.status, shown->second.holder)));
    }
    for (const auto& [task, shown] : journal.tasks) {
      if (!tasks.contains(task)) result.Examine(false, id + " " + task, "it is shown, and no event made it");
    }
  }
  return result;
}

InvariantResult HeadIsTheLast(const ProjectEvidence& evidence) {
  InvariantResult result = InvariantResult::Asked("c06", "a project's events are 1 to n, and its head is the last of them");
  for (const auto& [id, journal] : evidence.journals) {
    std::int64_t seq = 0;
    for (const ProjectEvent& event : journal.events) {
      result.Examine(event.seq == seq + 1, id, fmt::format("event {} comes after event {}", event.seq, seq));
      seq = event.seq;
    }
    const bool head = seq > 0 && journal.head_seq == seq && journal.chain == journal.events.back().chain;
    result.Examine(head, id, fmt::format("its head is event {}, its last event is {}", journal.head_seq, seq));
  }
  return result;
}

InvariantResult GoesOn(const ProjectEvidence& evidence) {
  InvariantResult result =
      InvariantResult::Asked("c07", "every agent gets an answer after the last fault was healed, and some get one during the faults");
  for (const auto& [agent, count] : evidence.answered_after) result.Examine(count > 0, agent, "no answer after the last fault");
  if (evidence.faults) result.Examine(evidence.answered_during > 0, "during the faults", "no command was answered");
  return result;
}

InvariantResult SeesWhatItWasTold(const ProjectEvidence& evidence) {
  InvariantResult result = InvariantResult::Asked("c08", "who asks what is next sees what it was told before, at whichever coordinator");
  for (const SeenHead& seen : evidence.seen)
    result.Examine(seen.saw_seq >= seen.heard_seq, seen.by + " in " + seen.project,
                   fmt::format("it was told of event {} and then saw the project at event {}", seen.heard_seq, seen.saw_seq));
  return result;
}

}  // namespace

std::vector<InvariantResult> CheckContinuity(const std::vector<Json>& lines) {
  const ProjectEvidence evidence = ProjectEvidenceOf(lines);
  if (!evidence.asked_for) return {};
  InvariantResult claims =
      InvariantResult::Asked("c03", "a task that somebody holds is not given again, its tokens grow, and only its holder speaks for it");
  InvariantResult times =
      InvariantResult::Asked("c04", "a claim runs out when its time is over, never before and not later than the drain");
  std::map<std::string, TaskStates> states;
  for (const auto& [id, journal] : evidence.journals) {
    states[id] = FoldTasks(id, journal, evidence.told);
    for (const TaskStates::Step& step : states[id].steps)
      (step.about == TaskStates::About::kTime ? times : claims).Examine(step.wrong.empty(), step.key, step.wrong);
  }
  return {NothingLost(evidence),         OneAnswer(evidence),     std::move(claims), std::move(times),
          ShownAsItIs(evidence, states), HeadIsTheLast(evidence), GoesOn(evidence),  SeesWhatItWasTold(evidence)};
}

}  // namespace acl::chaos
