#pragma once
// Phrases by which a sentence is known to say where work stands, how far it is, or what holds for less than a day.

#include <optional>
#include <string>
#include <string_view>

namespace acl::memory {

struct Phrase {
  std::string_view reason;  // STATUS, PROGRESS, SHORT_LIVED
  std::string words;        // of the sentence
};

// The first that is found in a sentence as Sentences() gives it; SHORT_LIVED is looked for last.
std::optional<Phrase> FindWorkPhrase(std::string_view sentence);
std::optional<Phrase> FindShortValidity(std::string_view sentence);

}  // namespace acl::memory
