#pragma once
// JSON as the product uses it: key order is kept (it is visible in reports), numbers keep being integers or not.
// Parsing is strict: duplicate keys, lone surrogates, NUL, NaN, trailing bytes, depth over 64, more than a million values and integers
// beyond 64 bits are refused with a message that says where.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "shared/base/limits.h"
#include "shared/base/result.h"

namespace acl {

using Json = nlohmann::ordered_json;

struct JsonLimits {
  std::size_t max_bytes = 64u << 20;
  int max_depth = 64;
  // Of a text from outside: a value of two characters ("[]") takes fifty bytes and more in memory. A text is counted before it is parsed.
  std::size_t max_values = limits::kJsonValues;
};
// How many values the text may make, at most, without making them; for what is no JSON any number.
std::size_t CountJsonValues(std::string_view text);
inline constexpr std::size_t kAnyNumberOfValues = std::size_t(-1);  // for what was bounded when it was stored

Result<Json> ParseJson(std::string_view text, const JsonLimits& limits = {});
// Compact text, non-ASCII unescaped, key order kept. Journals store it, so the same value gives the same text for ever: numbers are
// the shortest text that reads back as the same integer or the same double. For storing, the value must be storable (CheckStorable);
// bytes that are not UTF-8 come out as U+FFFD, so that an error message with bad input in it never takes a process down.
std::string DumpJson(const Json& value);
// How long that text is, without making it (json_size.cc).
std::size_t DumpedBytes(const Json& value);
// About what its texts and members take, for budgets; it stops counting beyond `most`.
std::size_t SizeOf(const Json& value, std::size_t most);
void AppendJson(const Json& value, std::string& out);  // the same text, behind another
// kInvalid with the place (a JSON Pointer) if a string in the value (keys too) is not valid UTF-8 or holds NUL, a number is not finite,
// nesting is deeper or the text larger than the limit. For values built in C++; everything from ParseJson is storable.
Status CheckStorable(const Json& value, const JsonLimits& limits = {});

}  // namespace acl
