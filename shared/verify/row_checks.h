#pragma once
// The checks of one subject's rows against its journal, each over what was kept of the events while they were walked.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "shared/verify/subject_check.h"

namespace acl::verify {

// What the other tables are compared with: little of an event, so that a long journal need not be in memory.
struct EventFact {
  std::int64_t seq = 0;
  Token token;
  enum class What { kOther, kStarted, kCompleted, kUndone, kUndoFailed } what = What::kOther;
  bool readable = false;  // the content is there
  std::string step_id;    // empty: the event names none
  int attempt_id = 0;     // 0: none
  bool has_undo = false;  // completed with a compensation that calls something
  bool undoes = false;    // the first of a run that takes back another's steps
  // SHA-256 over RFC 8785 of the outputs that a completion's own delta puts. The event says it and no later event can change it; the state
  // need not keep it: in journals of older programs an output named like a step lies over that step's outputs.
  std::optional<Hash256> result;
};
// What an event says, and what joined it (`also`), in order.
std::vector<EventFact> FactsOf(const Event& event, const std::optional<Json>& payload);

// The types of what joined an event.
std::vector<std::string> JoinedTypes(const std::optional<Json>& payload);

// Events, attempts, completions and snapshots were written under tokens that were granted, and within the grant's part of the journal;
// the lease row's token is the newest (invariant 4).
void CheckTokens(const SubjectRows& rows, const std::vector<EventFact>& events, Report& report);
// A step completes once, names an attempt that exists and the event that carries its result (invariant 3).
void CheckCompletions(const SubjectRows& rows, const std::vector<EventFact>& events, Report& report);
// Undone in reverse order of completion, each at most once, only what was completed, and logged (invariant 7).
void CheckCompensations(const SubjectRows& rows, const std::vector<EventFact>& events, Report& report);
// Quarantined, leased, paused, ready, or waiting with something that wakes it (invariant 6). A subject that is commanded waits for a
// command.
void CheckOpenState(const SubjectRows& rows, bool commanded, Report& report);
// Rows that events make, by table and id, as the last of them says. Not whole: the content of one was removed, so what it made is not
// known.
struct SaidRows {
  std::map<std::pair<std::string, std::string>, ShownRow> rows;
  bool whole = true;
};
// The rows that the kind shows of its state and of its events are those of the replay, in both directions, column by column.
void CheckShownRows(const SubjectRows& rows, const Document& state, const SaidRows& said, const KindChecks& kind, Report& report);
// What was answered under a request key stands with an event that is there.
void CheckAnswers(const SubjectRows& rows, Report& report);

}  // namespace acl::verify
