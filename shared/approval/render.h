#pragma once
// What a person sees of a request: made of the resolved arguments, never of prose alone. The message, which the file's author or a model
// wrote, comes last and is marked as such.

#include <string>
#include <string_view>
#include <vector>

#include "shared/approval/approval.h"

namespace acl::approval {

// Control, bidirectional, zero-width and other invisible characters as \n, \t or \u{202E}, and a backslash as two, so that what is read is
// what is there.
std::string EscapeInvisible(std::string_view text);

struct ShownLine {
  std::string name;  // "inputs.to[0]": no argument can pose as a line of ours
  std::string text;
};
struct Shown {
  std::vector<ShownLine> lines;
  bool truncated = false;  // some values are cut, or left out: the lines say which
  std::string digest;      // of the lines
};

struct ShowLimits {
  std::size_t value = 2'000;  // bytes of one
  std::size_t lines = 300;
};
Shown Render(const Request& request, const ShowLimits& limits = {});
// One line each: "name: text".
std::string ToText(const Shown& shown);

}  // namespace acl::approval
