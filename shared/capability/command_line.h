#pragma once
// `command` of sys.exec.run as a line: a shell's word splitting without any expansion. White space separates, '..' and ".." and \x keep.
// kInvalid: an open quote, or a character that only a shell gives meaning to (| & ; < > ` $( newline) outside quotes.

#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace acl {

inline constexpr std::string_view kRunProgram = "sys.exec.run";

// Takes the line piece by piece: what its author wrote, which is split, and what stays whole whatever is in it.
class CommandSplitter {
 public:
  void Split(std::string_view text);
  void Keep(std::string_view text);
  Result<std::vector<std::string>> Finish();

 private:
  void Take(char c);
  void EndWord();
  void Fail(const std::string& what);

  std::vector<std::string> words_;
  std::string word_, wrong_;
  bool in_word_ = false, escaped_ = false, dollar_ = false;
  char quote_ = 0;
};

Result<std::vector<std::string>> SplitCommand(std::string_view command);

}  // namespace acl
