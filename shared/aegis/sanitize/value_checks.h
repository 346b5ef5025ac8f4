#pragma once
// Is a value that stands where a secret could stand one? Conditions of rules that a regular expression cannot say.

#include <string_view>

#include "shared/aegis/sanitize/rules.h"

namespace acl::aegis {

struct Candidate {
  std::string_view text;           // the whole
  std::size_t begin = 0, end = 0;  // of the value
  std::string_view name;           // what it is called, if the rule says
  std::string_view value() const { return text.substr(begin, end - begin); }
};

bool Holds(Check check, const Candidate& candidate);

// A placeholder, "***", "${NAME}", "<name>", "{{ name }}": stands for a secret and is none.
bool IsStandIn(std::string_view value);
// What an image in base64 begins with.
bool IsImage(std::string_view base64);

// Bits that one character of the text tells, by how often each occurs.
double BitsOfCharacter(std::string_view text);

}  // namespace acl::aegis
