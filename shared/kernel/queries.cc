#include "shared/kernel/queries.h"

namespace acl {

std::string_view OpenStateName(OpenState state) {
  switch (state) {
    case OpenState::kQuarantined: return "quarantined";
    case OpenState::kLeased: return "leased";
    case OpenState::kPaused: return "paused";
    case OpenState::kReady: return "ready";
    case OpenState::kWaiting: return "waiting";
    case OpenState::kClosed: return "closed";
    case OpenState::kLost: return "lost";
  }
  return "?";
}

}  // namespace acl
