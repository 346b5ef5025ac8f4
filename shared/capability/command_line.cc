#include "shared/capability/command_line.h"

#include <fmt/format.h>

#include <utility>

namespace acl {

void CommandSplitter::Split(std::string_view text) {
  for (char c : text) Take(c);
}

void CommandSplitter::Keep(std::string_view text) {
  word_ += text;
  in_word_ = true;
  escaped_ = dollar_ = false;  // the backslash is spent on it
}

void CommandSplitter::EndWord() {
  if (in_word_) words_.push_back(std::move(word_));
  word_.clear();
  in_word_ = false;
}

void CommandSplitter::Fail(const std::string& what) {
  if (wrong_.empty()) wrong_ = fmt::format("command: {}; no shell runs it: give the program in `command` and a list in `args`", what);
}

void CommandSplitter::Take(char c) {
  const bool after_dollar = std::exchange(dollar_, false);
  if (escaped_) {
    if (quote_ == '"' && c != '"' && c != '\\') word_ += '\\';
    word_ += c;
    escaped_ = false;
  } else if (quote_ == '\'') {
    if (c == '\'')
      quote_ = 0;
    else
      word_ += c;
  } else if (c == '\\') {
    escaped_ = in_word_ = true;
  } else if (quote_ == '"') {
    if (c == '"')
      quote_ = 0;
    else
      word_ += c;
  } else if (c == '\'' || c == '"') {
    quote_ = c;
    in_word_ = true;
  } else if (c == ' ' || c == '\t') {
    EndWord();
  } else if (std::string_view("|&;<>`\n").find(c) != std::string_view::npos || (c == '(' && after_dollar)) {
    Fail(fmt::format("'{}' would need a shell", c == '\n' ? std::string("a line break") : c == '(' ? "$(" : std::string(1, c)));
  } else {
    dollar_ = c == '$';
    word_ += c;
    in_word_ = true;
  }
}

Result<std::vector<std::string>> CommandSplitter::Finish() {
  if (escaped_) Fail("it ends in a backslash");
  if (quote_) Fail(fmt::format("the quote {} is not closed", quote_));
  EndWord();
  if (words_.empty()) Fail("it is empty");
  if (!wrong_.empty()) return Error{Code::kInvalid, std::move(wrong_)};
  return std::move(words_);
}

Result<std::vector<std::string>> SplitCommand(std::string_view command) {
  CommandSplitter splitter;
  splitter.Split(command);
  return splitter.Finish();
}

}  // namespace acl
