#pragma once
// "; did you mean 'x'?", or "" if no candidate is near in spelling.

#include "shared/capability/spelling.h"

namespace acl {

inline std::string DidYouMean(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.size() < 3) return "";  // anything is near to so short a word
  std::string nearest = NearestSpelling(word, candidates);
  return nearest.empty() || nearest == word ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace acl
