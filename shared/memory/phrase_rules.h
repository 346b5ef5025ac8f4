#pragma once
// Rules that know a phrase in a sentence by a regular expression, and by another one when it does not count.
//
// A pattern may hold parts by name: {work} is any word for a piece of work, {stands} any word for where it stands (phrase_rules.cc).
// Sentences are plain texts (plain_text.h): lower case.

#include <re2/re2.h>

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "shared/memory/phrases.h"

namespace acl::memory {

class PhraseRules {
 public:
  // `unless`: if this is found too, the pattern does not count: before, in or up to two words behind what was found; with a '~' before it,
  // anywhere in the sentence. Empty: it always counts.
  void Add(std::string_view reason, const std::string& pattern, const std::string& unless = "");
  // By the rule that was added first.
  std::optional<Phrase> FirstIn(std::string_view sentence) const;

 private:
  struct Rule {
    Rule(std::string_view why, const std::string& found) : reason(why), pattern(found, RE2::Quiet) {}
    const std::string_view reason;
    const RE2 pattern;
    std::optional<RE2> unless;
    bool anywhere = false;
  };
  std::deque<Rule> rules_;
};

}  // namespace acl::memory
