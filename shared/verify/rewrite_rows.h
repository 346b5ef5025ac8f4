#pragma once
// Writes what a subject shows of itself (shared/kernel/command.h, ShownRow) once more, from its journal: the way back when `verify` found
// rows of it that are not the state's. Nothing decides by these rows, so no journal changes.

#include "shared/kernel/command.h"
#include "shared/postgres/pg_store.h"

namespace acl::verify {

struct Rewritten {
  int written = 0, removed = 0;
};

// kNotFound: no such subject of this kind. kCorrupt: its journal does not verify, and nothing is written. kConflict: it is quarantined, or
// has unread inputs; ask again.
Result<Rewritten> RewriteRows(PgStore& store, const CommandKind& kind, const SubjectId& subject);

}  // namespace acl::verify
