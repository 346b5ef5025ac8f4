#pragma once
// The pieces of JSON text that writing (json.h) and RFC 8785 (canonical_json.h) have in common.

#include <string>
#include <string_view>

namespace acl {

// Quoted, with the short escapes, \u00xx for the other controls, and everything else as it is.
void AppendJsonString(std::string_view text, std::string& out);
// As ECMAScript prints it (the shortest text that reads back as the same double). ACL_CHECK: finite.
void AppendEcmaScriptNumber(double value, std::string& out);
// Offset of the first byte that is not well-formed UTF-8, or npos.
std::size_t FindBadUtf8(std::string_view text);

}  // namespace acl
