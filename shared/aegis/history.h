#pragma once
// Ring 2, deep history: it goes into a bundle only when the user asks for it in these words or by a flag, or to show a conflict
// (document 004, section 6.3).

#include <optional>
#include <span>
#include <string_view>

namespace acl::aegis {

// The phrases that ask for deep history, as case-folded words with one blank between them.
std::span<const std::string_view> HistoryPhrases();

// The phrase by which a text asks for it; nullopt: it does not. A phrase behind "no", "not", "without", "never", "don't" or "skip" within
// the three words before it asks for nothing.
std::optional<std::string_view> AskedHistory(std::string_view user_input);

}  // namespace acl::aegis
