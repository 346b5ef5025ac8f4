#pragma once
// What agents were told of projects and what the database holds of them, read from the lines of a driver's history (README.md, "Projects").

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/json.h"

namespace acl::chaos {

// One answer to a command. A command that is asked again under its key has several.
struct ReceivedAnswer {
  std::string project, key, name, by;  // `project`: empty for create_project
  Json arguments, answer;
  std::string refused;  // the reason; empty: it was done
  std::int64_t event_seq = 0;
};

// What a project was said to be at, and what who asked had been told of it before.
struct SeenHead {
  std::string by, project;
  std::int64_t saw_seq = 0, heard_seq = 0;
};

struct ProjectEvent {
  std::int64_t seq = 0, at_us = 0;
  std::string type, chain;
  Json facts;
  std::string Text(const char* key) const { return facts.value(key, ""); }
};

// One project as the database holds it.
struct ProjectJournal {
  std::string name, chain;  // `chain`: of the head, hex
  std::int64_t head_seq = 0;
  std::vector<ProjectEvent> events;  // by seq
  // What was answered under a key, as it is kept.
  struct Kept {
    std::int64_t event_seq = 0;
    Json answer;
  };
  std::map<std::string, Kept> answers;  // by key
  struct ShownTask {
    std::string title, status, holder;
    friend bool operator==(const ShownTask&, const ShownTask&) = default;
  };
  std::map<std::string, ShownTask> tasks;  // what the tables show, by id
};

struct ProjectEvidence {
  bool asked_for = false;  // the run had agents
  std::vector<ReceivedAnswer> told;
  std::vector<SeenHead> seen;
  std::map<std::string, ProjectJournal> journals;      // by id
  std::map<std::string, std::int64_t> answered_after;  // by agent: answers after the last fault was healed
  std::int64_t answered_during = 0;                    // while there were faults
  bool faults = false;
};

// The command of a line that asks (type invoke); nullopt: it asks something else.
std::optional<ReceivedAnswer> CommandOf(const Json& line);
// With the answer of a line of type ok.
ReceivedAnswer AnsweredBy(const Json& line, ReceivedAnswer command);

ProjectEvidence ProjectEvidenceOf(const std::vector<Json>& lines);

// Whether what an agent was told is what is kept under its key.
bool IsKept(const ReceivedAnswer& told, const ProjectJournal::Kept& kept);

}  // namespace acl::chaos
