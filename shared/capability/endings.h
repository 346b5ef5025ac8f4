#pragma once
// How a call can end, and what follows for its step: one row an ending, written out in docs/reference/capabilities.md. A test brings about
// each row and compares (unit_capability for the capabilities, unit_workflow for what the engine decides by effect alone).

#include <string_view>
#include <vector>

namespace acl {

enum class Follows {
  kCompleted,    // the step completes, its outputs say how it went
  kFailed,       // a known failure that another attempt would meet too: the step fails
  kFailedAgain,  // a known failure that may pass: tried again as the step says, counts as an attempt
  kAgain,        // run again, does not count as an attempt
  kUnknown,      // it may have happened: UNCERTAIN, a person decides, unless the step says `on_unknown_outcome`
  kCancelled,    // the step ends CANCELLED, as its run does
};
std::string_view FollowsText(Follows follows);

struct Ending {
  std::string_view what;  // a capability, or the effects of those it holds for
  std::string_view how;
  Follows follows;
};
const std::vector<Ending>& Endings();

}  // namespace acl
