#pragma once
// Every journal of a database, read from its first event to its last: checksum, content hash and chain of each are computed again.

#include <cstdint>
#include <string>

namespace acl::bench {

// How many events were read. Throws with the first one that does not verify.
std::int64_t VerifyJournals(const std::string& conninfo, int threads);

}  // namespace acl::bench
