#pragma once
// A pooler in front of PostgreSQL that hands one session to many clients between transactions (pgbouncer's pool_mode = transaction or
// statement). What this layer sets once a session (role, time limits, prepared statements) would reach others and be missing here, so such
// an address is refused. A pooler that keeps a session for its client (pool_mode = session) is fine.

#include <string>

namespace acl::pg {

inline constexpr const char* kSharedSession =
    "a pooler in front of PostgreSQL hands this session to others between transactions: set its pool_mode to session, or name PostgreSQL "
    "itself in database_url (docs/operate/operations.md, Poolers)";

// Sets `name` to `value` in a session, and asks another connection of the same address whether it sees that: then both are one session.
// Waits at most two seconds for the other connection; what cannot be found out is no.
bool AnotherConnectionSees(const std::string& conninfo, const std::string& name, const std::string& value);

}  // namespace acl::pg
