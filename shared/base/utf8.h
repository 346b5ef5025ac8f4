#pragma once
// Text that comes from outside: is it UTF-8, and if not, what can be kept of it.

#include <string>
#include <string_view>

namespace acl {

// Well-formed UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool IsUtf8(std::string_view text);

// Length of the well-formed sequence at the start of a text that is not empty; 0 if there is none.
std::size_t Utf8SequenceLength(std::string_view text);

// What JSON can store: bad bytes and NUL become U+FFFD. `changed` is set to whether anything was replaced.
std::string StorableText(std::string_view bytes, bool* changed = nullptr);

// Code points of well-formed UTF-8.
std::size_t CountCodePoints(std::string_view text);

// Each byte read as Latin-1 (each is one code point).
std::string FromLatin1(std::string_view bytes);

// The code points of well-formed UTF-8 as bytes, if all are below `limit` (128: ASCII, 256: Latin-1).
bool ToSingleBytes(std::string_view text, unsigned limit, std::string& out);

}  // namespace acl
