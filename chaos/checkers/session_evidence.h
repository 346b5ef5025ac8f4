#pragma once
// What agents were told, what their journals hold and what the receiver of effects saw, read from the lines of a driver's history
// (README.md, "Agents").

#include <map>
#include <string>
#include <vector>

#include "shared/base/json.h"

namespace acl::chaos {

struct SessionEvent {
  std::int64_t seq = 0, at_us = 0;
  std::string type;
  Json facts;
  std::int64_t Number(const char* key) const { return facts.value(key, std::int64_t(0)); }
  std::string Text(const char* key) const { return facts.value(key, ""); }
};

// A call as the receiver saw it.
struct SeenCall {
  std::string key, body, verdict;
};

struct SessionJournal {
  std::string name, status, reason, moves;  // `moves`: "1 prepare,3 rest,...", as document 003's table has them
  std::int64_t head_seq = 0;
  bool held = false, ready = false;
  std::vector<SessionEvent> events;                     // by seq
  std::map<std::string, std::vector<SeenCall>> called;  // by the last part of the address
};

// Something said to a session under a mark of its own, and what became of it.
struct SaidToSession {
  std::string session, mark;
  bool acknowledged = false, refused = false;
  double answered_ms = 0;  // of the last try; 0: it was not heard within the answer
};

struct SessionEvidence {
  bool asked_for = false;  // the run had agent sessions
  std::map<std::string, SessionJournal> journals;
  std::vector<SaidToSession> said;
  std::map<std::string, std::int64_t> answered_after;  // by speaker: answers after the last fault was healed
  std::int64_t answered_during = 0;                    // while there were faults
};

SessionEvidence SessionEvidenceOf(const std::vector<Json>& lines);

}  // namespace acl::chaos
