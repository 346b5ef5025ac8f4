#pragma once
// Where an expression matches in a text, within a deadline. RE2 takes linear time, and cannot be interrupted: on a long text with a large
// expression and many groups a single match takes minutes. What may take long is therefore done by a child of this process, which is killed
// at the deadline or when the call is stopped; nothing goes on behind the step's back. What cannot take long is done here.

#include <re2/re2.h>

#include <functional>
#include <string_view>
#include <vector>

#include "shared/base/result.h"
#include "shared/capability/capability.h"

namespace acl {

// The whole match first, then its groups. `begin` is npos for a group that took no part.
struct RegexSpan {
  std::size_t begin = std::string_view::npos, end = 0;
};

// False: no further matches are wanted.
using TakeRegexMatch = std::function<bool(const std::vector<RegexSpan>& spans)>;

// Calls `take` with each match, or with the first only. kTimeout, kCancelled; kUnavailable if no child can be had.
Status SearchRegex(const RE2& expression, std::string_view text, bool all, const CallContext& context, const TakeRegexMatch& take);

}  // namespace acl
