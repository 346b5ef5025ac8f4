#include "shared/aegis/history.h"

#include <algorithm>
#include <array>

#include "shared/aegis/words.h"

namespace acl::aegis {

namespace {

constexpr std::array<std::string_view, 14> kHistoryPhrases = {
    "deep history",    "full history",     "chat history", "session history",    "earlier sessions", "previous sessions", "past sessions",
    "earlier session", "previous session", "older turns",  "what did we decide", "what did we say",  "what did i say",    "ring 2"};

// "don't" reads as the words "don" and "t".
constexpr std::array<std::string_view, 7> kDenials = {"don", "dont", "never", "no", "not", "skip", "without"};

}  // namespace

std::span<const std::string_view> HistoryPhrases() { return kHistoryPhrases; }

std::optional<std::string_view> AskedHistory(std::string_view user_input) {
  const auto words = WordsOf(user_input);
  for (std::string_view phrase : kHistoryPhrases) {
    const auto wanted = WordsOf(phrase);
    auto at = words.begin();
    while ((at = std::search(at, words.end(), wanted.begin(), wanted.end())) != words.end()) {
      constexpr std::ptrdiff_t kBefore = 4;  // three words; a denial of two counts twice
      const auto from = at - std::min(kBefore, at - words.begin());
      const bool denied = std::any_of(
          from, at, [](const std::string& word) { return std::find(kDenials.begin(), kDenials.end(), word) != kDenials.end(); });
      if (!denied) return phrase;
      ++at;
    }
  }
  return std::nullopt;
}

}  // namespace acl::aegis
