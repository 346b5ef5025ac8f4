#pragma once
// One invariant as SQL: a query of (key, why) that yields a row for everything it looks at, `why` null where all is well. So what was
// examined and what is wrong come from the same rows.

#include <span>
#include <string>

#include "shared/postgres/statement.h"

namespace acl::chaos {

struct Question {
  enum class Needs { kDatabase, kHistory, kLedger, kCanaries, kDrained };
  Question(const char* id, const char* what, Needs needs, const std::string& query);
  const char *id, *what;
  Needs needs;
  pg::Statement statement;  // answers (0, rows, anomalies), then (1, key, why) for the first anomalies
};

// By where the SQL stands.
std::span<const Question* const> JournalQuestions();  // journal and tokens
std::span<const Question* const> StateQuestions();    // what waits, contents, timers, decisions, secrets
std::span<const Question* const> HistoryQuestions();  // the history and the ledger against the database

}  // namespace acl::chaos
