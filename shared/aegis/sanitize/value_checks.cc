#include "shared/aegis/sanitize/value_checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "shared/aegis/sanitize/placeholder.h"
#include "shared/base/base64.h"

namespace acl::aegis {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsAlpha(char c) { return IsLower(c) || IsUpper(c); }
bool IsSign(char c) { return c > ' ' && c < 127 && !IsAlpha(c) && !IsDigit(c); }

template <class Is>
bool Any(std::string_view text, Is is) {
  return std::any_of(text.begin(), text.end(), is);
}
template <class Is>
bool All(std::string_view text, Is is) {
  return std::all_of(text.begin(), text.end(), is);
}

std::string LowerOf(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return char(IsUpper(c) ? c + 32 : c); });
  return out;
}

bool IsMixed(std::string_view value) { return Any(value, IsAlpha) && Any(value, IsDigit); }

// base64 or base64url, with or without padding.
std::optional<std::string> Decoded(std::string_view text) {
  std::string plain(text);
  while (!plain.empty() && plain.back() == '=') plain.pop_back();
  std::replace(plain.begin(), plain.end(), '-', '+');
  std::replace(plain.begin(), plain.end(), '_', '/');
  if (plain.size() % 4 == 1) return std::nullopt;
  plain.append((4 - plain.size() % 4) % 4, '=');
  return DecodeBase64(plain);
}

bool IsJwt(std::string_view value) {
  const auto header = Decoded(value.substr(0, value.find('.')));
  return header && header->starts_with('{') &&
         (header->find("\"alg\"") != std::string::npos || header->find("\"enc\"") != std::string::npos);
}

bool IsPair(std::string_view value) {
  const auto pair = Decoded(value.substr(0, value.size() / 4 * 4));
  if (!pair) return false;
  const auto colon = pair->find(':');
  return colon != std::string::npos && colon > 0 && All(*pair, [](char c) { return static_cast<unsigned char>(c) >= ' '; });
}

bool IsUuid(std::string_view value) { return Uuid::Parse(value).has_value(); }

// The last word of a name says that its value is about a secret and is none: password_file, token_ttl_ms, secretName.
bool IsAboutASecret(std::string_view name) {
  static constexpr std::array<std::string_view, 50> kAbout{
      "encryption", "authentication", "algorithm", "method",  "cipher", "subject", "file",   "path",   "name",    "names",
      "ref",        "refs",           "id",        "ids",     "ttl",    "url",     "uri",    "type",   "len",     "length",
      "size",       "count",          "hash",      "digest",  "policy", "env",     "field",  "header", "ms",      "s",
      "at",         "expiry",         "bytes",     "rules",   "chars",  "limit",   "limits", "kind",   "format",  "issuer",
      "regex",      "scheme",         "source",    "manager", "store",  "version", "max",    "min",    "counter", "epoch"};
  while (!name.empty() && !IsAlpha(name.back()) && !IsDigit(name.back())) name.remove_suffix(1);
  std::size_t begin = name.size();
  while (begin > 0 && IsAlpha(name[begin - 1]) && !(IsUpper(name[begin - 1]) && begin < name.size() && IsLower(name[begin]))) --begin;
  if (begin > 0 && IsUpper(name[begin - 1]) && begin < name.size() && IsLower(name[begin])) --begin;  // the capital of camelCase
  const std::string last = LowerOf(name.substr(begin));
  return last.size() < name.size() && std::find(kAbout.begin(), kAbout.end(), last) != kAbout.end();
}

// Names whose values are secrets whatever they look like. `token`, `auth` and `credentials` are names of other things too.
bool IsStrongName(std::string_view name) {
  const std::string lower = LowerOf(name);
  for (const auto* part : {"pass", "pwd", "secret", "psk", "private", "api", "key"}) {
    if (lower.find(part) != std::string::npos) return true;
  }
  return false;
}

// Capitals and small letters change as often as chance has it; in names of classes they do not.
bool ChangesCase(std::string_view value) {
  std::size_t changes = 0;
  for (std::size_t i = 1; i < value.size(); ++i)
    changes += (IsUpper(value[i - 1]) && IsLower(value[i])) || (IsLower(value[i - 1]) && IsUpper(value[i])) ? 1 : 0;
  return value.size() >= 16 && changes * 100 >= value.size() * 32;
}

bool IsByChance(std::string_view value) {
  return value.size() >= 10 && Any(value, IsUpper) && Any(value, IsLower) &&
         (std::count_if(value.begin(), value.end(), IsDigit) >= 2 || (Any(value, IsDigit) && ChangesCase(value)));
}

// What stands behind a name that may be a secret's: long, mixed and as if by chance. "tokenizer" is no token.
bool IsLikelyToken(std::string_view name, std::string_view value) {
  const std::string lower = LowerOf(name);
  const auto at = lower.find("token");
  if (at != std::string::npos && at + 5 < lower.size() && lower[at + 5] != 's' && IsLower(name[at + 5])) return false;
  return value.size() >= 12 && IsMixed(value) && (std::count_if(value.begin(), value.end(), IsDigit) >= 2 || ChangesCase(value)) &&
         !IsUuid(value) && BitsOfCharacter(value) >= 2.8;
}

// A word that describes what stands there.
bool IsDescription(std::string_view value) {
  static constexpr std::array<std::string_view, 58> kWords{
      "string",  "text",   "bytes",     "number",    "integer",  "bool",     "boolean", "object",   "array",   "null",
      "none",    "nil",    "true",      "false",     "required", "optional", "default", "never",    "always",  "here",
      "there",   "see",    "hidden",    "redacted",  "opaque",   "public",   "secret",  "password", "token",   "key",
      "value",   "yes",    "no",        "unset",     "empty",    "missing",  "invalid", "valid",    "unknown", "wrong",
      "expired", "masked", "removed",   "omitted",   "file",     "env",      "prompt",  "ask",      "auto",    "disabled",
      "enabled", "auth",   "undefined", "mandatory", "needed",   "long",     "short",   "different"};
  const std::string word = LowerOf(value);
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// What a program writes where a value stands: a name with parts, a call, a path, a template.
bool LooksLikeCode(const Candidate& c) {
  const auto value = c.value();
  const char behind = c.end < c.text.size() ? c.text[c.end] : '\n';
  const bool closes_tag = behind == '<' && c.end + 1 < c.text.size() && c.text[c.end + 1] == '/';
  if (behind == '(' || behind == '[' || (behind == '<' && !closes_tag) || behind == '{') return true;
  if (value.find("::") != value.npos || value.find("->") != value.npos || value.find("...") != value.npos) return true;
  if (value.starts_with('/') || value.starts_with("./") || value.starts_with("~/") || value.starts_with("../")) return true;
  if (value.starts_with("http:") || value.starts_with("https:") || value.starts_with("file:") || value.starts_with("env:")) return true;
  const auto is_name = [](char d) { return IsAlpha(d) || IsDigit(d) || d == '_' || d == '.' || d == '-' || d == '/'; };
  const bool dotted = value.find('.') != value.npos && All(value, [&](char d) { return IsLower(d) || d == '_' || d == '.'; });
  return dotted || (value.find('_') != value.npos && !Any(value, IsDigit) && All(value, is_name));
}

// Name, sign and value are the whole line, but for its indent, an `export` or a list's dash.
bool IsWholeLine(const Candidate& c) {
  if (c.end < c.text.size() && c.text[c.end] != '\n' && c.text[c.end] != '\r') return false;
  std::size_t begin = c.begin;
  while (begin > 0 && c.text[begin - 1] != '\n') --begin;
  const auto line = c.text.substr(begin, c.begin - begin);
  return line.size() <= 80 &&
         All(line, [](char d) { return IsAlpha(d) || IsDigit(d) || std::string_view("_-. \t=:\"'").find(d) != std::string_view::npos; }) &&
         std::count(line.begin(), line.end(), ' ') <= 8;
}

bool IsAssigned(const Candidate& c) {
  const auto value = c.value();
  if (IsAboutASecret(c.name) || IsDescription(value) || LooksLikeCode(c)) return false;
  const bool strong = IsStrongName(c.name);
  if (All(value, IsDigit)) return strong && value.size() >= 6 && IsWholeLine(c);
  if (!strong) return IsLikelyToken(c.name, value);
  const bool tight = c.begin > 0 && c.text[c.begin - 1] == '=' && c.begin > 1 && c.text[c.begin - 2] != ' ';
  const bool word = All(value, [](char d) { return IsAlpha(d) || d == '-' || static_cast<unsigned char>(d) >= 0x80; });
  if (!word) return value.size() >= 5 && (IsMixed(value) || Any(value, IsSign));
  const bool shouts = All(value, [](char d) { return IsUpper(d) || d == '-'; });  // PASSWORD=SECRET of a manual
  return !shouts && value.size() >= 5 && (tight || (IsWholeLine(c) && LowerOf(c.name).find(LowerOf(value)) == std::string::npos));
}

bool IsQuoted(const Candidate& c) {
  const auto value = c.value();
  if (IsAboutASecret(c.name) || IsDescription(value)) return false;
  if (value.size() < 4 || value.find("::") != value.npos) return false;
  const bool strong = IsStrongName(c.name);
  const auto blanks = std::count(value.begin(), value.end(), ' ');
  if (blanks > 0) {  // a passphrase, or what is said about it
    static constexpr std::array<std::string_view, 16> kSaying{" the ", " a ",   " an ", " of ", " is ", " must ", " and ", " to ",
                                                              " not ", " for ", " in ", " or ", " it ", " be ",   " are ", " that "};
    const std::string padded = " " + LowerOf(value) + " ";
    const bool says = Any(std::string_view(value), [](char d) { return d == '\n'; }) ||
                      std::any_of(kSaying.begin(), kSaying.end(), [&](auto word) { return padded.find(word) != std::string::npos; });
    return strong && !says && blanks >= 2 && blanks <= 11 && LowerOf(c.name).find("pass") != std::string::npos;
  }
  if (value.starts_with('/') || value.starts_with("./") || value.starts_with('$') || value.starts_with("http")) return false;
  if (!strong) return IsLikelyToken(c.name, value);
  if (All(value, IsDigit)) return value.size() >= 6;
  const bool name = value.find('_') != value.npos && !Any(value, IsDigit) && All(value, [](char d) { return IsAlpha(d) || d == '_'; });
  const bool shouts = All(value, [](char d) { return IsUpper(d) || d == '_' || d == '-'; });
  return !name && !shouts && value.size() >= 5 && Any(value, [](char d) { return IsAlpha(d) || IsDigit(d); });
}

bool IsSaid(const Candidate& c) {
  auto value = c.value();
  while (!value.empty() && (value.back() == '!' || value.back() == '.')) value.remove_suffix(1);
  if (value.size() < 5 || IsDescription(value) || LooksLikeCode(c) || !Any(value, IsAlpha)) return false;
  if (!c.name.empty() && IsAboutASecret(c.name)) return false;
  return Any(value, IsDigit) ||
         (value.size() >= 8 && Any(value, [](char d) { return IsSign(d) && d != '-' && d != '/' && d != '_' && d != '.'; }));
}

}  // namespace

bool Holds(Check check, const Candidate& candidate) {
  switch (check) {
    case Check::kNone: return true;
    case Check::kMixed: return IsMixed(candidate.value());
    case Check::kJwt: return IsJwt(candidate.value());
    case Check::kPair: return IsPair(candidate.value());
    case Check::kAssigned: return IsAssigned(candidate);
    case Check::kSaid: return IsSaid(candidate);
    case Check::kChance: return IsByChance(candidate.value()) && !LooksLikeCode(candidate);
    case Check::kQuoted: return IsQuoted(candidate);
  }
  return false;
}

bool IsStandIn(std::string_view value) {
  if (IsPlaceholder(value) || value.empty()) return true;
  if (All(value, [](char c) { return c == '*' || c == 'x' || c == 'X' || c == '.' || c == '-' || c == '_'; })) return true;
  const auto around = [&](std::string_view open, std::string_view close) {
    return value.size() > open.size() + close.size() && value.starts_with(open) && value.ends_with(close);
  };
  if (around("${", "}") || around("{{", "}}") || around("<", ">") || around("$(", ")") || around("%", "%")) return true;
  if (value.front() != '$' || value.size() < 2) return false;
  const auto rest = value.substr(1);  // $NAME, as shells have it
  return All(rest, [](char c) { return IsUpper(c) || IsDigit(c) || c == '_'; }) || All(rest, [](char c) { return IsLower(c) || c == '_'; });
}

bool IsImage(std::string_view base64) {
  static constexpr std::array<std::string_view, 8> kBegins{"iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "PHN2Zy", "Qk0", "AAABAA", "PD94bWwg"};
  return std::any_of(kBegins.begin(), kBegins.end(), [&](auto begin) { return base64.starts_with(begin); });
}

double BitsOfCharacter(std::string_view text) {
  std::array<int, 256> count{};
  for (const char c : text) ++count[static_cast<unsigned char>(c)];
  double bits = 0;
  for (const int n : count) {
    if (n > 0) bits -= double(n) / double(text.size()) * std::log2(double(n) / double(text.size()));
  }
  return bits;
}

}  // namespace acl::aegis
