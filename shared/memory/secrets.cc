#include "shared/memory/secrets.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <deque>

#include "shared/base/redact.h"

namespace acl::memory {
namespace {

struct Form {
  Form(const char* name, const char* form) : what(name), pattern(form, RE2::Quiet) {}
  const char* const what;
  const RE2 pattern;
};

// Forms that their makers have given their keys so that they can be found.
const std::deque<Form>& KnownForms() {
  static const auto* forms = [] {
    auto* all = new std::deque<Form>;
    const auto add = [&](const char* what, const char* pattern) { all->emplace_back(what, pattern); };
    add("a private key", R"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY)");
    add("a private key", R"(AGE-SECRET-KEY-1[A-Z0-9]{8,})");
    add("a GitHub token", R"(\b(gh[opsur]_[A-Za-z0-9]{16,}|github_pat_\w{16,}))");
    add("a GitLab token", R"(\bgl(pat|dt|rt|cbt)-[\w-]{16,})");
    add("a Slack token", R"(\bxox[a-z]-[\w-]{10,}|hooks\.slack\.com/services/\w+/\w+)");
    add("an AWS access key", R"(\b(AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b)");
    add("a Google API key", R"(\bAIza[\w-]{30,}|\bya29\.[\w-]{20,})");
    add("a Stripe key", R"(\b[spr]k_(live|test)_\w{10,})");
    add("a key of a model provider", R"(\bsk-[\w-]{16,})");
    add("a token of a package registry", R"(\b(npm_\w{20,}|pypi-[\w-]{16,}|hf_\w{20,}))");
    add("a SendGrid key", R"(\bSG\.[\w-]{16,}\.[\w-]{16,})");
    add("a webhook key", R"(\bwhs(ec|k)_[A-Za-z0-9+/=_-]{16,})");
    add("an API key of ACL", R"(\bacl_[0-9a-f]{12}_[0-9a-f]{16,})");
    add("a licence key", R"(\b[A-Z0-9]{4,5}(-[A-Z0-9]{4,5}){3,}\b)");
    add("a password on a command line",
        R"(\b(mysql|mysqldump|mariadb|sshpass)\b[^\n]* -p ?\S*\d\S*|\bcurl\b[^\n]* (-u|--user)[ =]\S+:\S+)");
    add("a password",
        R"((?i)\b(password|passwd|pwd|passphrase|token|secret|api key|access key|pin)s? ["'`]?\S*([A-Za-z]\S*\d\S*[!-/:-@]|\d\S*[!-/:-@]\S*[A-Za-z]|[!-/:-@]\S*\d)\S{2,})");
    add("a password or token",
        R"((?i)\b(password|passwd|pwd|passphrase|token|secret|(api|access|secret|private) key)s? ["'`]?([a-z_]+\d|\d+[a-z_])\w*[\w!@#$%&*+]{2,}["'`]?([ .,;)]|$))");
    add("an access code", R"((?i)\b(door|entry|alarm|access|security|unlock|safe) codes?\b[^.\n]{0,20}?( is|:|=) ?#?\d{4,})");
    add("a passphrase", R"((?i)\bpass ?phrase\b[^.:=\n]{0,40}?( is|:|=) ["']?[a-z]+ [a-z]+ [a-z]+ [a-z]+\b[^.\n]*\d)");
    add("a JSON web token", R"(\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)");
    add("a bearer token", R"((?i)\bbearer\s+[\w.~+/-]*\d[\w.~+/-]{8,})");
    return all;
  }();
  return *forms;
}

std::string Lower(std::string_view text) {
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
  const std::string word = Lower(value);
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

// "the admin password is hunter2", "DB_PASSWORD=...", "api key for the gateway: ..."
bool HasNamedSecret(std::string_view clean) {
  static const RE2 assigned(R"(([A-Za-z][\w.-]*)["']?\s*(?:=>|[=:])\s*["'`]?([^\s"'`;]+)["'`]?([^\n]*))", RE2::Quiet);
  static const RE2 said(
      R"re((?i)\b(?:pass ?words?|passwd|pass ?phrase|pwd|secrets?|(?:api|access|private|signing|secret|encryption)[ _-]?keys?|tokens?|credentials?|pins?|pass ?codes?)\b["']?(?: (?:for|of|to) [^.:=]{1,40}?)? ?(?:(is|was|are|->)|([:=]+>?)) ?["'`]?([^\s"'`;]+)["'`]?([^\n]*))re",
      RE2::Quiet);
  re2::StringPiece rest(clean.data(), clean.size());
  std::string name, verb, sign, value, behind;
  while (RE2::FindAndConsume(&rest, assigned, &name, &value, &behind)) {
    if (IsSecretName(name) || Lower(name).ends_with("token")) {
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

double BitsOfCharacter(std::string_view text) {
  std::array<int, 256> count{};
  for (const unsigned char c : text) ++count[c];
  double bits = 0;
  for (const int n : count) {
    if (n > 0) bits -= double(n) / double(text.size()) * std::log2(double(n) / double(text.size()));
  }
  return bits;
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
  for (const Form& form : KnownForms()) {
    if (RE2::PartialMatch(re2::StringPiece(clean.data(), clean.size()), form.pattern)) return form.what;
  }
  if (RedactText(clean) != clean) return "a password in an address or a connection string";
  if (HasNamedSecret(clean)) return "the value of a password, key or token";
  if (HasRandomPiece(clean)) return "a long random piece, as keys are";
  return std::nullopt;
}

}  // namespace acl::memory
