#pragma once
// JSON as the product uses it: key order is kept (it is visible in reports), numbers keep being integers or not.
// Parsing is strict: duplicate keys, lone surrogates, NUL, NaN, trailing bytes, depth over 64 and integers beyond 64 bits are refused
// with a message that says where.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "shared/base/result.h"

namespace acl {

using Json = nlohmann::ordered_json;

struct JsonLimits {
  std::size_t max_bytes = 64u << 20;
  int max_depth = 64;
};

Result<Json> ParseJson(std::string_view text, const JsonLimits& limits = {});
// Compact text, non-ASCII unescaped, key order kept. Journals store it, so the same value gives the same text for ever: numbers are
// the shortest text that reads back as the same integer or the same double. For storing, the value must be storable (CheckStorable);
// bytes that are not UTF-8 come out as U+FFFD, so that an error message with bad input in it never takes a process down.
std::string DumpJson(const Json& value);
// How long that text is.
std::size_t DumpedBytes(const Json& value);
void AppendJson(const Json& value, std::string& out);  // the same text, behind another
// kInvalid with the place (a JSON Pointer) if a string in the value (keys too) is not valid UTF-8 or holds NUL, a number is not finite,
// nesting is deeper or the text larger than the limit. For values built in C++; everything from ParseJson is storable.
Status CheckStorable(const Json& value, const JsonLimits& limits = {});

}  // namespace acl
