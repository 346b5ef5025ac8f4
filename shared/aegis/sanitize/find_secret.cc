#include "shared/aegis/sanitize/find_secret.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "shared/aegis/sanitize/rules.h"
#include "shared/aegis/sanitize/value_checks.h"
#include "shared/base/redact.h"

namespace acl::aegis {
namespace {

std::string LowerText(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return out;
}

int Runs(std::string_view text, int (*is)(int)) {
  int runs = 0;
  bool in = false;
  for (const unsigned char c : text) {
    const bool now = is(c) != 0;
    runs += now && !in;
    in = now;
  }
  return runs;
}

bool Has(std::string_view text, int (*is)(int)) {
  return std::any_of(text.begin(), text.end(), [&](unsigned char c) { return is(c) != 0; });
}

// A value behind a secret's name that is no word of a sentence: it has digits or signs in it, or stands where only a value does.
bool LooksLikeValue(std::string_view value, std::string_view behind, bool is_assigned) {
  while (!value.empty() && (value.back() == '.' || value.back() == ',' || value.back() == ')')) value.remove_suffix(1);
  if (value.size() < 4) return false;
  const std::string word = LowerText(value);
  const bool letters = std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (!letters) {
    const bool number = std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    const bool compound = std::all_of(word.begin(), word.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '-' || c == '/'; });
    return number ? behind.empty() || behind == "." : is_assigned || !compound;
  }
  static constexpr std::array<std::string_view, 18> kWords{"never",   "always", "required", "optional",  "mandatory", "opaque",
                                                           "secret",  "public", "here",     "there",     "short",     "long",
                                                           "unknown", "wrong",  "needed",   "different", "valid",     "invalid"};
  if (std::find(kWords.begin(), kWords.end(), word) != kWords.end() || word.ends_with("ed") || word.ends_with("en")) return false;
  return behind.empty() || behind == "." || (is_assigned && behind.starts_with(','));  // the whole of what is said of it
}

// "the admin password is ...", "DB_PASSWORD=...", "api key for the gateway: ..."
bool HasNamedSecret(std::string_view clean) {
  static const RE2 assigned(R"(([A-Za-z][\w.-]*)["']?\s*(?:=>|[=:])\s*["'`]?([^\s"'`;]+)["'`]?([^\n]*))", RE2::Quiet);
  static const RE2 said(
      R"re((?i)\b(?:pass ?words?|passwd|pass ?phrase|pwd|secrets?|(?:api|access|private|signing|secret|encryption)[ _-]?keys?|tokens?|credentials?|pins?|pass ?codes?)\b["']?(?: (?:for|of|to) [^.:=]{1,40}?)? ?(?:(is|was|are|->)|([:=]+>?)) ?["'`]?([^\s"'`;]+)["'`]?([^\n]*))re",
      RE2::Quiet);
  re2::StringPiece rest(clean.data(), clean.size());
  std::string name, verb, sign, value, behind;
  while (RE2::FindAndConsume(&rest, assigned, &name, &value, &behind)) {
    if (IsSecretName(name) || LowerText(name).ends_with("token")) {
      if (LooksLikeValue(value, behind, true)) return true;
    }
    rest = re2::StringPiece(clean.data() + (clean.size() - rest.size() - behind.size()), rest.size() + behind.size());
  }
  rest = re2::StringPiece(clean.data(), clean.size());
  while (RE2::FindAndConsume(&rest, said, &verb, &sign, &value, &behind)) {
    if (LooksLikeValue(value, behind, !sign.empty())) return true;
    rest = re2::StringPiece(clean.data() + (clean.size() - rest.size() - behind.size()), rest.size() + behind.size());
  }
  return false;
}

// A long piece that nobody would say: letters of both cases mixed with several runs of digits, or many hex digits that are no digest.
bool HasRandomPiece(std::string_view clean) {
  static const RE2 piece(R"(([A-Za-z0-9+_=-]{20,}))", RE2::Quiet);
  static const RE2 digest(R"((?i)\b(?:commit|sha-?\d*|md5|digest|hash|revision|checksum|fingerprint|etag)\b[^.]{0,30}$)", RE2::Quiet);
  static const RE2 hex(R"([0-9A-Fa-f]{32,})", RE2::Quiet);
  re2::StringPiece rest(clean.data(), clean.size());
  std::string found;
  while (RE2::FindAndConsume(&rest, piece, &found)) {
    const std::size_t begin = clean.size() - rest.size() - found.size();
    if (RE2::FullMatch(found, hex)) {
      if (!RE2::PartialMatch(re2::StringPiece(clean.data(), begin), digest)) return true;
      continue;
    }
    if (Has(found, ::isupper) && Has(found, ::islower) && Runs(found, ::isdigit) >= 3 && BitsOfCharacter(found) >= 3.5) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> FindSecret(std::string_view clean) {
  const RuleSet& rules = RuleSet::Standard();
  const RuleSet::Text text(clean);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules.MayMatch(i, text) && rules.Next(i, text, 0)) return rules.rule(i).what;
  }
  if (RedactText(clean) != clean) return "a password in an address or a connection string";
  if (HasNamedSecret(clean)) return "the value of a password, key or token";
  if (HasRandomPiece(clean)) return "a long random piece, as keys are";
  return std::nullopt;
}

}  // namespace acl::aegis
