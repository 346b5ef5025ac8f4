#pragma once
// What two states of one subject differ in, found by the nodes that they share: states that came of each other by a few changes are
// compared in the time of those changes, whatever they hold. For whoever keeps something made of a state (shared/kernel/command.h, Aid).

#include <string>
#include <vector>

#include "shared/journal/document.h"

namespace acl {

// Keys of the entries that only one of them has, or that were written anew since; whether an entry that was written anew says something
// else is not looked at. States that share nothing differ in everything.
std::vector<std::string> Difference(const Document& before, const Document& after);

}  // namespace acl
