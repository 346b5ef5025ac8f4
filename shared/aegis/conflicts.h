#pragma once
// Which artifacts conflict (document 004, section 6.4). The rule: one names the other in `contradicts`; or both are ledger facts,
// decisions or notes with the same subject and different values. Nothing is resolved here or later: both are shown, or neither.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shared/aegis/artifact.h"

namespace acl::aegis {

struct Conflict {
  std::size_t first = 0, second = 0;  // positions in the list given, first < second
  std::string_view subject;           // of the artifact; empty: one names the other
};

// Every pair once, ordered by positions.
std::vector<Conflict> FindConflicts(const std::vector<const Artifact*>& artifacts);

// What an artifact says about its subject, comparable: its value in canonical text, else the words of its text.
std::string ClaimOf(const Artifact& artifact);
// Of a type that conflicts by subject, and with one.
bool ClaimsSubject(const Artifact& artifact);

}  // namespace acl::aegis
