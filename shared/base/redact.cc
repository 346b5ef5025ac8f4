#include "shared/base/redact.h"

#include <array>

namespace acl {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

// Names compared without case, '-' and '_'.
std::string Plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '-' && c != '_') out += Lower(c);
  }
  return out;
}

// Masks user:PASSWORD@ of the URL whose "://" ends at `from`; returns where to look on.
std::size_t MaskAuthority(std::string& text, std::size_t from) {
  auto end = text.find_first_of("/?# \t\r\n\"'<>", from);
  if (end == std::string::npos) end = text.size();
  const auto at = text.rfind('@', end == 0 ? 0 : end - 1);
  if (at == std::string::npos || at < from) return end;
  const auto colon = text.find(':', from);
  if (colon == std::string::npos || colon > at) return end;
  text.replace(colon + 1, at - colon - 1, kRedacted);
  return colon + 1 + kRedacted.size();
}

void MaskAssignment(std::string& text, std::string_view name) {
  for (std::size_t i = 0; i + name.size() < text.size(); ++i) {
    std::size_t k = 0;
    while (k < name.size() && Lower(text[i + k]) == name[k]) ++k;
    if (k < name.size()) continue;
    auto begin = i + k;
    while (begin < text.size() && text[begin] == ' ') ++begin;
    if (begin >= text.size() || text[begin] != '=') continue;
    ++begin;
    while (begin < text.size() && text[begin] == ' ') ++begin;
    std::size_t end = begin;
    if (begin < text.size() && text[begin] == '\'') {  // libpq: quoted, with backslash escapes
      end = begin + 1;
      while (end < text.size() && text[end] != '\'') end += text[end] == '\\' ? 2 : 1;
      end = end < text.size() ? end + 1 : text.size();
    } else {
      end = text.find_first_of(" \t\r\n&;\"", begin);
      if (end == std::string::npos) end = text.size();
    }
    if (end == begin) continue;
    text.replace(begin, end - begin, kRedacted);
    i = begin + kRedacted.size() - 1;
  }
}

}  // namespace

bool IsSecretName(std::string_view name) {
  static constexpr std::array<std::string_view, 14> kParts = {"password",      "passwd", "passphrase",   "secret",     "apikey",
                                                              "authorization", "cookie", "privatekey",   "credential", "accesstoken",
                                                              "refreshtoken",  "bearer", "sessiontoken", "signingkey"};
  const std::string plain = Plain(name);
  for (const auto part : kParts) {
    if (plain.find(part) != std::string::npos) return true;
  }
  return plain == "pgpass" || plain == "pwd";
}

std::string RedactText(std::string_view input) {
  std::string text(input);
  for (std::size_t at = 0; (at = text.find("://", at)) != std::string::npos;) at = MaskAuthority(text, at + 3);
  MaskAssignment(text, "password");
  MaskAssignment(text, "passwd");
  return text;
}

}  // namespace acl
