#pragma once
// The planted secrets of tests/data/aegis/secrets.tsv.

#include <sstream>
#include <string>
#include <vector>

#include "shared/aegis/sanitize/sanitizer.h"

namespace acl::aegis::test {

inline const Sanitizer& PlainSanitizer() {
  static const auto* made = new Result<Sanitizer>(Sanitizer::Make(RuleSet::Standard(), {}, "a key for tests, 24 byte"));
  return **made;
}

struct Planted {
  bool held = false;  // never used to tune the rules
  std::string kind, text;
  std::vector<std::string> values;  // what must not survive
};

inline void ReplaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

inline Planted ParsePlanted(const std::string& line) {
  std::istringstream cells(line);
  std::string set, text;
  Planted planted;
  std::getline(cells, set, '\t');
  std::getline(cells, planted.kind, '\t');
  std::getline(cells, text);
  planted.held = set == "held";
  ReplaceAll(text, "·", "");
  ReplaceAll(text, "\\\\n", "\x01");
  ReplaceAll(text, "\\n", "\n");
  ReplaceAll(text, "\x01", "\\n");
  const std::string open = "⟦", close = "⟧";
  for (std::size_t at = 0; (at = text.find(open, at)) != std::string::npos;) {
    const auto end = text.find(close, at);
    planted.values.push_back(text.substr(at + open.size(), end - at - open.size()));
    text.replace(at, end + close.size() - at, planted.values.back());
    at += planted.values.back().size();
  }
  planted.text = text;
  return planted;
}

std::vector<Planted> ReadPlanted();

// Whether a piece of eight bytes of the value stands in the text, or the whole of a shorter one. Lines of a log are alike: a piece of 60.
inline bool Survives(const std::string& kind, const std::string& value, const std::string& text) {
  const std::size_t kPiece = kind == "log" ? 60 : 8;
  if (value.size() <= kPiece) return text.find(value) != std::string::npos;
  for (std::size_t i = 0; i + kPiece <= value.size(); ++i) {
    if (text.find(value.substr(i, kPiece)) != std::string::npos) return true;
  }
  return false;
}

}  // namespace acl::aegis::test
