#pragma once
// Who says something, and of which project, where neither is said at the command line.

#include <string>

#include "cli/session.h"

namespace acl::cli {

// `given`, else AIRUN_ACTOR, else USER; "airun" where there is none.
inline std::string ActorOf(Session* session, const std::string& given) {
  if (!given.empty()) return given;
  for (const char* variable : {"AIRUN_ACTOR", "USER"}) {
    if (std::string name = session->environment.environment(variable); !name.empty()) return name;
  }
  return "airun";
}

// `given`, else AIRUN_PROJECT; empty: the default project.
inline std::string ProjectNamed(Session* session, const std::string& given) {
  return given.empty() ? session->environment.environment("AIRUN_PROJECT") : given;
}

}  // namespace acl::cli
