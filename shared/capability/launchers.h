#pragma once
// Programs that start other programs, or run code that they are given: with one of them on a worker's list, a workflow has a shell.
// docs/operate/security.md holds the same table. It names what is often installed and is not complete.

#include <string>
#include <string_view>
#include <vector>

namespace acl {

struct Launcher {
  std::string_view name;
  std::string_view how;  // what of it starts another program, as it is written on a command line
};
const std::vector<Launcher>& Launchers();

// Those of `programs` that are launchers, in the order given.
std::vector<std::string> LaunchersAmong(const std::vector<std::string>& programs);

}  // namespace acl
