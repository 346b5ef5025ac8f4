#pragma once
// "Did you mean": the candidate nearest in spelling.

#include <string>
#include <string_view>
#include <vector>

namespace acl {

// Edits (insert, delete, replace, swap of neighbours) from one word to the other.
int EditDistance(std::string_view from, std::string_view to);
// The nearest candidate, if at most a third of the longer word's letters differ (one at least); else empty.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace acl
