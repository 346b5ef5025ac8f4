#pragma once
// The pieces of JSON text that writing (json.h) and RFC 8785 (canonical_json.h) have in common.

#include <charconv>
#include <string>
#include <string_view>

namespace acl {

// Calls `write` with an empty text of this thread that has grown before: a text that is made step by step asks for memory once. What is
// kept of it is copied. Not within itself.
template <class Write>
auto WithScratch(const Write& write) {
  constexpr std::size_t kKept = 64 * 1024;
  thread_local std::string scratch;
  scratch.clear();
  auto result = write(scratch);
  if (scratch.capacity() > kKept) std::string().swap(scratch);
  return result;
}

// Quoted, with the short escapes, \u00xx for the other controls, and everything else as it is.
void AppendJsonString(std::string_view text, std::string& out);
template <class Int>
void AppendInteger(Int value, std::string& out) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}
// As ECMAScript prints it (the shortest text that reads back as the same double). ACL_CHECK: finite.
void AppendEcmaScriptNumber(double value, std::string& out);
// Offset of the first byte that is not well-formed UTF-8, or npos.
std::size_t FindBadUtf8(std::string_view text);

}  // namespace acl
