#pragma once
// Projects as a kind of subject (shared/kernel/command.h): commands as decide.h has them, claims that run out by timers, and how entries
// are shown in the tables of document 000.

#include <memory>

#include "shared/kernel/command.h"
#include "shared/kinds/project/decide.h"

namespace acl::project {

inline constexpr std::string_view kKindName = "project";
// Where its ready rows stand. No worker takes subjects of this kind: coordinators decide them.
inline constexpr const char* kProjectQueue = "acl.projects";

std::shared_ptr<const CommandKind> MakeProjectKind();

// The timers of the claims that may run out, as commands set them: for a state that none of them led to here (export.h).
std::vector<TimerRow> ClaimTimers(const Document& state);

// A command as CommandKind::Answer takes it. `expected_seq`: refused with CHANGED if the project is not there any more.
Json CommandToJson(const Command& command, std::optional<std::int64_t> expected_seq);

}  // namespace acl::project
