#pragma once
// Rows of the database as lines of a driver's history: what the checkers of projects and of agent sessions look at.

#include <functional>
#include <string>
#include <vector>

#include "shared/base/json.h"
#include "shared/base/result.h"
#include "shared/postgres/connection.h"
#include "shared/postgres/statement.h"

namespace acl::chaos {

// One question, of what belongs to names that begin with $prefix. Its columns are text; `line` makes a line of a row.
struct RowLines {
  const char* type;
  pg::Statement statement;
  std::function<Json(const pg::Rows& rows, int row)> line;
};

// The facts of an event's payload: what happened, not what it did to the state. Empty if it cannot be read, as the journal's own checks
// say.
Json FactsIn(const pg::Rows& rows, int row, int column);

// The lines of all questions, in one snapshot.
Result<std::vector<Json>> ReadRowLines(const std::string& conninfo, const std::string& name_prefix,
                                       const std::vector<const RowLines*>& questions);
// The number that one question answers.
Result<std::int64_t> CountRows(const std::string& conninfo, const std::string& name_prefix, const pg::Statement& question);

}  // namespace acl::chaos
