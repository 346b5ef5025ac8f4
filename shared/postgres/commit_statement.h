#pragma once
// The group commit: one statement, many subjects, one outcome per subject (DESIGN.md section 2, "Commit"). Used by Commit and, inside
// a transaction, by direct commands.

#include <span>

#include "shared/kernel/types.h"
#include "shared/postgres/connection.h"

namespace acl::pg {

// The lean one serves batches that only keep their leases and write events, attempts and completions; the full one everything.
const Statement& CommitStatement(bool full);
bool NeedsFullCommit(std::span<const CommitItem> items);

// `direct`: the items belong to a direct command, whose lease is free and locked by the same transaction.
Params BindCommit(std::span<const CommitItem> items, bool full, bool direct);

// One outcome per item, in order. Throws std::exception if a row does not decode.
std::vector<CommitOutcome> DecodeCommit(const Rows& rows, std::span<const CommitItem> items);

// What no database is needed to see: nullopt if the item is well formed.
std::optional<std::string> WhatIsWrong(const CommitItem& item);

}  // namespace acl::pg
