#pragma once
// What a database may lose that moves to a standby which had not everything, or to an older copy: what was acknowledged in a time that the
// history names (the facts loses_from and loses_until of a fault), and nothing else.

#include <vector>

#include "shared/base/json.h"

namespace acl::chaos {

struct Loss {
  std::vector<Json> lines;        // of the history, as if nobody had been told of what was lost: those answers are `info`
  std::int64_t acknowledged = 0;  // submissions and commands answered in such a time
  std::int64_t lost = 0;          // of them, those that are not there
};

Loss WithoutWhatWasLost(const std::vector<Json>& lines);

}  // namespace acl::chaos
