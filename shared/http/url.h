#pragma once
// The little of RFC 3986 that a server needs.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace acl {

// %41 -> A. Nothing if an escape is malformed, or the result holds NUL or is not UTF-8. `plus_is_space`: in queries.
std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space = false);
// Everything but unreserved characters (and "/" if kept) becomes %XX.
std::string PercentEncode(std::string_view text, bool keep_slash = false);
// "a=1&b=x%20y"; nothing if a part does not decode or there are more than 100.
std::optional<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view text);

}  // namespace acl
