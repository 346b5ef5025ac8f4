#pragma once
// Checks over whole tables: what joins them, what the documented views look like, what keeps rows from being changed. Each runs inside
// a snapshot of the store.

#include "shared/verify/pg_verify_store.h"

namespace acl::verify {

// Rows of subjects, sessions, attempts or projects that do not exist; ready rows where no claim looks; tokens of another epoch.
Status CheckTables(PgVerifyStore& store, Report& report);
// Every content against its hash, size and chunk numbers.
Status CheckContents(PgVerifyStore& store, Report& report);
// In a later snapshot: objects that CheckContents did not find, or not whole, unless their rows have been collected since.
Status CheckDoubtfulObjects(PgVerifyStore& store, Report& report);
// Columns and types of the documents' tables, which are views here, and that they show every row; triggers and rights of invariant 1.
Status CheckSchema(PgVerifyStore& store, Report& report);

}  // namespace acl::verify
