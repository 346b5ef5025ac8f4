#pragma once
// Every journal of a database, read from its first event to its last: checksum, content hash and chain of each are computed again.

#include <cstdint>
#include <string>

namespace acl::bench {

// How many events were read. Throws with the first one that does not verify. `apart`: large texts may lie elsewhere, and are covered by
// their hash only; without it an event without its text is an error.
std::int64_t VerifyJournals(const std::string& conninfo, int threads, bool apart = false);

}  // namespace acl::bench
