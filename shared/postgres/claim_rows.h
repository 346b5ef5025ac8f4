#pragma once
// Reads the rows of read_subjects() (migrations/0007_claim.sql) back into values: shared by claim and direct command.

#include "shared/kernel/types.h"
#include "shared/postgres/connection.h"

namespace acl::pg {

// Throws std::exception if a row does not decode.
ClaimAnswer DecodeClaim(const Rows& rows);

// An event and a snapshot from their text forms; used by the queries too.
std::vector<Hash256> SplitHashes(const std::string& joined);
std::string JoinHashes(const std::vector<Hash256>& hashes);

}  // namespace acl::pg
