#pragma once
// The one table of rules by which the project finds secrets in a text: the sanitiser cuts what they find (sanitizer.h), the gate of
// external memory refuses it (find_secret.h). A rule is a regular expression, what its value goes on with, and a condition on the value.
//
// So that a growing text can be shown safely (preview.h), a rule stays on one line and whether it matches is decided by at most
// kLongestHead bytes: a pattern has no `*`, `+` or `{n,}`. A value without a bound has its first characters in the pattern and the rest in
// `tail`.

#include <re2/re2.h>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "shared/base/ids.h"

namespace acl::aegis {

inline constexpr std::size_t kLongestHead = 512;

// Characters with which a value goes on behind its pattern.
enum class Tail : std::uint8_t {
  kNone,
  kWord,    // letters, digits, _ and -
  kBase64,  // those and + / = . ~
  kBare,    // up to a blank, a quote, a bracket, ';', ',' or '&'
  kDouble,  // up to a double quote that no backslash escapes, or the line's end
  kSingle,  // up to a single quote or backquote, or the line's end
  kEscaped  // up to a backslash or double quote, or the line's end: within JSON text inside a JSON string
};

// What else must hold of a value.
enum class Check : std::uint8_t {
  kNone,
  kMixed,     // a letter and a digit
  kJwt,       // its first part decodes to a JSON object with "alg"
  kPair,      // decodes from base64 to name:password
  kAssigned,  // stands where only a value does: no code, no word of a description
  kSaid,      // of a sentence: has letters and digits or signs
  kChance,    // capitals, small letters and digits as chance mixes them
  kQuoted,    // in quotes: no blanks that make it a sentence, no name of a setting
};

// A refusal of the memory gate costs a sentence in other words, a cut in an audit record costs what was said: what is only likely is
// refused and not cut.
enum class Use : std::uint8_t { kCut, kRefuse };

struct Rule {
  const char* kind;     // in placeholders: "aws-key"
  const char* what;     // for people: "an AWS access key"
  const char* needles;  // in lower case, with '|' between them: a text without any of them cannot match; "": any text can
  std::string pattern;  // RE2, multi-line; group `v` is the value; `name`, if any, what it is called
  Tail tail = Tail::kNone;
  Check check = Check::kNone;
  Use use = Use::kCut;
};

struct Hit {
  std::size_t begin = 0, end = 0;
};

// The rules, compiled once. The digest is over the table and kVersion. The code of conditions (value_checks.h) and blocks (blocks.h) is not
// in it: whoever changes what they find raises kVersion.
class RuleSet {
 public:
  static constexpr int kVersion = 1;

  // The rules of this version; they live as long as the process.
  static const RuleSet& Standard();
  explicit RuleSet(std::vector<Rule> rules);

  // The same text as the tables of stored exchanges name it: "1:" and 64 hex digits.
  std::string Name() const;
  const Hash256& digest() const { return digest_; }
  std::size_t size() const { return rules_.size(); }
  const Rule& rule(std::size_t i) const { return rules_[i].rule; }

  // A text with its lower-case form, which needles are looked for in.
  struct Text {
    explicit Text(std::string_view given);
    std::string_view all;
    std::string lower;
  };
  // The first value of that rule at or behind `from`. `open`: set to where the match begins if more text could change what is found there.
  std::optional<Hit> Next(std::size_t i, const Text& text, std::size_t from, std::size_t* open = nullptr) const;
  // Whether the rule can match at all.
  bool MayMatch(std::size_t i, const Text& text) const;

 private:
  struct Compiled {
    explicit Compiled(Rule given);
    Rule rule;
    std::vector<std::string_view> needles;
    RE2 pattern;
    int value = 0, name = 0;
  };
  std::deque<Compiled> rules_;
  Hash256 digest_{};
};

// The table (standard_rules.cc).
std::vector<Rule> StandardRules();

}  // namespace acl::aegis
