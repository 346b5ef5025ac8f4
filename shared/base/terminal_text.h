#pragma once
// Text that a terminal can be shown: what comes from a run, a file or a server may hold control characters, and a terminal obeys them.
//
// Unsafe are: C0 (with ESC) and DEL, C1 (with U+009B, which some terminals read as ESC [), the characters that change the direction of
// text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), invisible format characters (U+200B, U+2060 to U+2065, U+206A to
// U+206F, U+FEFF, U+FFF9 to U+FFFB, U+E0000 to U+E007F), the separators U+2028 and U+2029, and bytes that are not UTF-8.

#include <string>
#include <string_view>

namespace acl {

// Unsafe characters as \x1b (a byte), \u009b or \U000e0001 (a code point). Line feed and tab stay.
std::string TerminalText(std::string_view text);

// JSON text with unsafe characters as \u escapes: the same value. `json` is well-formed, so such characters stand in strings only.
std::string TerminalJson(std::string json);

}  // namespace acl
