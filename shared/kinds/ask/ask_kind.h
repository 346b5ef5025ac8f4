#pragma once
// Ask sessions as a kind of subject (shared/kernel/command.h): commands as decide.h has them, deadlines by timers, and the tables of
// document 004 as shown.h makes them.

#include <memory>

#include "shared/kernel/command.h"
#include "shared/kinds/ask/decide.h"

namespace acl::ask {

inline constexpr std::string_view kKindName = "ask";
// Where its ready rows stand. No worker takes subjects of this kind: coordinators decide them.
inline constexpr const char* kAskQueue = "acl.asks";

std::shared_ptr<const CommandKind> MakeAskKind();

}  // namespace acl::ask
