#pragma once
// Reads the rows of read_granted() and open_command() (migrations/functions) back into values.

#include <string>
#include <string_view>

#include "shared/kernel/command.h"
#include "shared/kernel/types.h"
#include "shared/postgres/connection.h"

namespace acl::pg {

// Throws std::exception if a row does not decode.
ClaimAnswer DecodeClaim(const Rows& rows);
std::vector<GivenAnswer> DecodeAnswers(const Rows& rows);

// The columns beside an event's stored payload that it may be packed with (shared/postgres/packed_payload.h); it is if `root` is not null.
struct PackedWith {
  int root;
  WallTime at;
  int completed, begun;
};
// As it was written.
std::string PayloadOf(const Rows& rows, int i, std::string_view stored, const PackedWith& with);

// An event and a snapshot from their text forms; used by the queries too.
std::vector<Hash256> SplitHashes(const std::string& joined);
std::string JoinHashes(const std::vector<Hash256>& hashes);

}  // namespace acl::pg
