#pragma once
// Ids as people write them. An id of version 7 begins with its time, so runs of the same hour share their first characters: any part will
// do.

#include <optional>
#include <string>
#include <string_view>

namespace acl {

inline constexpr std::size_t kFewestIdDigits = 6;
inline constexpr int kMostIdCandidates = 10;

// What is looked for within ids that are written without their dashes: the hex digits of `text`, in lower case; dashes are skipped. nullopt
// if it holds anything else, or fewer than 6 or more than 32 digits.
std::optional<std::string> SubjectPart(std::string_view text);

// What everybody says of an id or a part that no run has.
std::string NoSuchRun(std::string_view text);

// The last group of an id (12 hex digits), which no other run shares: for lists.
std::string ShortId(std::string_view id);

}  // namespace acl
