#pragma once
// Text on its way to a person. It is made from any text, which is escaped then (shared/base/terminal_text.h), and only colours of ours
// stand in it unescaped: nothing else can be printed, so no answer of a server and no file reaches the terminal raw.

#include <string>
#include <utility>

#include "shared/base/terminal_text.h"

namespace acl::cli {

class Shown {
 public:
  Shown() = default;
  Shown(const std::string& text) : bytes_(TerminalText(text)) {}  // NOLINT(google-explicit-constructor)
  Shown(const char* text) : bytes_(TerminalText(text)) {}         // NOLINT(google-explicit-constructor)
  // `code`: of ours, as "31"; empty: no colour.
  Shown(const char* code, const std::string& text) : Shown(text) {
    if (*code && !bytes_.empty()) bytes_ = std::string("\033[") + code + "m" + bytes_ + "\033[0m";
  }

  const std::string& bytes() const { return bytes_; }
  Shown& operator+=(const Shown& more) {
    bytes_ += more.bytes_;
    return *this;
  }
  // Lines after the first begin with so many spaces: a text of several lines cannot pass for lines of ours.
  friend Shown Indented(Shown text, std::size_t spaces) {
    for (std::size_t at = 0; (at = text.bytes_.find('\n', at)) != std::string::npos; at += spaces) text.bytes_.insert(++at, spaces, ' ');
    return text;
  }
  friend Shown operator+(Shown left, const Shown& right) { return std::move(left += right); }

 private:
  std::string bytes_;
};

Shown Indented(Shown text, std::size_t spaces);

}  // namespace acl::cli
