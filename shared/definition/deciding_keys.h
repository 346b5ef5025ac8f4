#pragma once
// Keys of other engines that say whether, when or how often something happens. Here they are unknown, and ignoring one would do what the
// file forbids: they are errors, other unknown keys are warnings.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acl {

// What to write instead of an unknown key, if ignoring it changes what happens: of a word from the table, and of what is nearly a known key
// that decides (depend_on). `known`: the keys of the map it stands in.
std::optional<std::string> InsteadOfDecidingKey(std::string_view key, const std::vector<std::string_view>& known);

}  // namespace acl
