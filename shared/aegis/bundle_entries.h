#pragma once
// The parts of a bundle as JSON: names and shapes of document 004, section 6.6; what it does not have are extra keys.

#include "shared/aegis/compile.h"
#include "shared/aegis/sight.h"

namespace acl::aegis {

// Session, kernel, constraints and the system's own intent: what every bundle begins with.
Json Head(const CompileInput& input);

Json SightJson(const Sight& sight);

// What stands beside an artifact in its entry.
struct EntryNotes {
  int ring = 1;
  std::int64_t score = 0;
  std::string why;
  std::vector<std::string> conflicts_with;
};
Json MakeEntry(const Artifact& artifact, const EntryNotes& notes);
// The list of the bundle that it stands in: facts, open_items, intent, turns or work.
const char* ListOf(ArtifactType type);

IncludedArtifact Included(const Artifact& artifact, int ring, const std::string& why, bool conflicts, WallTime now);

// Of sight that gave values.
IncludedArtifact IncludedSight(const SightEntry& entry, WallTime now);

// What a person is told about deep history; `phrase`: by which it was asked for, if by one.
std::string DisclosureLine(std::int64_t for_asked, std::int64_t for_conflict, std::optional<std::string_view> phrase);

}  // namespace acl::aegis
