#include "chaos/checkers/project_evidence.h"

#include <algorithm>

namespace acl::chaos {
namespace {

std::string Word(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t Number(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

Json Object(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() ? *found : Json::object();
}

ProjectEvent EventOf(const Json& line) {
  return {Number(line, "seq"), Number(line, "at_us"), Word(line, "event"), Word(line, "chain"), Object(line, "facts")};
}

// What a line says that the driver read from the database.
void ReadStored(const Json& line, const std::string& type, ProjectEvidence& evidence) {
  ProjectJournal& journal = evidence.journals[Word(line, "project")];
  if (type == "project_head") {
    journal.name = Word(line, "name");
    journal.head_seq = Number(line, "head_seq");
    journal.chain = Word(line, "chain");
  } else if (type == "project_event") {
    journal.events.push_back(EventOf(line));
  } else if (type == "project_answer") {
    journal.answers[Word(line, "key")] = {Number(line, "event_seq"), Object(line, "answer")};
  } else if (type == "project_task") {
    journal.tasks[Word(line, "task")] = {Word(line, "title"), Word(line, "status"), Word(line, "holder")};
  }
}

}  // namespace

// A command is the only operation whose request has arguments.
std::optional<ReceivedAnswer> CommandOf(const Json& line) {
  const Json args = Object(line, "args");
  if (!args.contains("arguments")) return std::nullopt;
  return ReceivedAnswer{
      Word(args, "project"), Word(args, "key"), Word(line, "f"), Word(args, "by"), args["arguments"], Json::object(), "", 0};
}

ReceivedAnswer AnsweredBy(const Json& line, ReceivedAnswer command) {
  const Json value = Object(line, "value");
  command.answer = Object(value, "answer");
  command.refused = Word(value, "refused");
  command.event_seq = Number(value, "event_seq");
  return command;
}

ProjectEvidence ProjectEvidenceOf(const std::vector<Json>& lines) {
  ProjectEvidence evidence;
  std::int64_t first_fault = 0, last_well = 0;
  for (const Json& line : lines) {
    if (line["type"] != "fault") continue;
    if (line["event"] == "inject" && first_fault == 0) first_fault = line["t"];
    if (line["event"] == "well") last_well = line["t"];
  }
  evidence.faults = first_fault != 0;
  std::map<std::int64_t, ReceivedAnswer> asked;
  std::map<std::int64_t, SeenHead> looked;
  std::map<std::pair<std::string, std::string>, std::int64_t> heard_seq;  // by agent and project
  for (const Json& line : lines) {
    const std::string type = line["type"];
    if (type == "run") evidence.asked_for = Number(line, "agents") > 0;
    if (type.starts_with("project_")) ReadStored(line, type, evidence);
    if (type == "invoke") {
      auto command = CommandOf(line);
      const std::string by = Word(Object(line, "args"), "by"), project = Word(Object(line, "args"), "project");
      if (!command && !by.empty()) looked[Number(line, "op")] = {by, project, 0, heard_seq[{by, project}]};
      if (!command) continue;
      evidence.answered_after.try_emplace(command->by, 0);
      asked.emplace(Number(line, "op"), std::move(*command));
    }
    if (const auto look = looked.find(Number(line, "op")); type == "ok" && look != looked.end()) {
      look->second.saw_seq = Number(Object(line, "value"), "saw_seq");
      evidence.seen.push_back(std::move(look->second));
    }
    const auto command = type == "ok" ? asked.find(Number(line, "op")) : asked.end();
    if (command == asked.end()) continue;
    const std::int64_t at = line["t"];
    if (at > last_well) ++evidence.answered_after[command->second.by];
    if (at > first_fault && at < last_well) ++evidence.answered_during;
    const ReceivedAnswer& told = evidence.told.emplace_back(AnsweredBy(line, std::move(command->second)));
    std::int64_t& last = heard_seq[{told.by, told.project}];
    last = std::max(last, told.event_seq);
  }
  for (auto& [id, journal] : evidence.journals)
    std::stable_sort(journal.events.begin(), journal.events.end(), [](const auto& a, const auto& b) { return a.seq < b.seq; });
  return evidence;
}

bool IsKept(const ReceivedAnswer& told, const ProjectJournal::Kept& kept) {
  if (told.event_seq != kept.event_seq) return false;
  const auto refused = kept.answer.find("refused");
  if (refused != kept.answer.end()) return told.refused == Word(*refused, "reason");
  return told.refused.empty() && told.answer == Object(kept.answer, "answer");
}

}  // namespace acl::chaos
