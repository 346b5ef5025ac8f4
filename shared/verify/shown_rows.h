#pragma once
// What subjects show of themselves, as it stands in the tables.

#include "shared/postgres/statement.h"

namespace acl::verify {

// subject_id, tab, id, shown (columns as JSON) of the subjects from $first to $last.
extern const pg::Statement kShownRows;

}  // namespace acl::verify
