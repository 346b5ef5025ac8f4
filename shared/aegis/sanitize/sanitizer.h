#pragma once
// The one sanitiser (document 004, section 8): every sink stores, sends and shows what comes out of here. It cuts secrets by the rules
// (rules.h), what is a file or a dump rather than a text (blocks.h), and every live secret it was given, in all its written forms
// (exact.h). The rest of the text stays as it is, so that it can be read:
//
//   Connect with postgres://acl:[secret:url-password:7f3a]@db/acl
//
// Pure: the same rules, secrets, key and text give the same result. Sanitising twice changes nothing. Thread-safe. Time and memory grow
// with the text's length, which is bounded; no error holds any part of a text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/aegis/sanitize/exact.h"
#include "shared/aegis/sanitize/placeholder.h"
#include "shared/aegis/sanitize/rules.h"
#include "shared/base/json.h"

namespace acl::aegis {

inline constexpr std::size_t kLongestText = 16u << 20;

struct Cut {
  std::string kind;
  std::int64_t count = 0;
  friend bool operator==(const Cut&, const Cut&) = default;
};

struct Sanitized {
  std::string text;      // valid UTF-8 without NUL: it can be stored
  std::vector<Cut> cut;  // by kind, in order of kind; empty: nothing was cut
};

struct SanitizedJson {
  Json value;
  std::vector<Cut> cut;
};

class Sanitizer {
 public:
  // kInvalid: a key that is too short, a secret that cannot be cut by its value (exact.h).
  static Result<Sanitizer> Make(const RuleSet& rules, const std::vector<LiveSecret>& secrets, std::string key);

  // kInvalid: longer than kLongestText. Nothing of it may be stored or shown then.
  Result<Sanitized> Sanitize(std::string_view text) const;
  // Every string in it, names of members too, as it decodes; whole values under the name of a secret ("password": ..., and
  // {"name": "DB_PASSWORD", "value": ...}, ["--password", ...]). kInvalid as above, of all strings together, or nested deeper than JSON may
  // be.
  Result<SanitizedJson> SanitizeJson(const Json& value) const;

  // The rule set's version and digest: every record names it (rules.h).
  std::string rules_name() const { return rules_->Name(); }
  const PlaceholderKey& key() const { return key_; }

  // For preview.h: what is cut of a text, and how much of it stays as it is however the text goes on.
  struct Span {
    std::size_t begin = 0, end = 0;
    const char* kind = "";
    std::size_t secret = kNoSecret;  // a live secret's place
    int rank = 0;
    static constexpr std::size_t kNoSecret = std::size_t(-1);
  };
  struct Scan {
    std::vector<Span> spans;  // in order, none overlaps another
    std::size_t safe = 0;     // up to here the result is what it will be whatever follows
    std::size_t keep = 0;     // a line start, at most `safe`: nothing before it decides anything behind it
  };
  Scan ScanText(std::string_view text) const;
  // The part of the text between two places with its spans replaced; no span may cross either of them. Adds to `cut`.
  std::string Render(std::string_view text, const Scan& scan, std::size_t begin, std::size_t end, std::vector<Cut>& cut) const;

 private:
  friend class JsonSanitizer;
  Sanitizer(const RuleSet& rules, ExactMatcher exact, std::vector<LiveSecret> secrets, PlaceholderKey key)
      : rules_(&rules), exact_(std::move(exact)), secrets_(std::move(secrets)), key_(std::move(key)) {}
  std::string PlaceholderOf(const Span& span, std::string_view text) const;

  const RuleSet* rules_;
  ExactMatcher exact_;
  std::vector<LiveSecret> secrets_;
  PlaceholderKey key_;
};

void AddCut(std::vector<Cut>& cut, std::string_view kind, std::int64_t count = 1);

}  // namespace acl::aegis
