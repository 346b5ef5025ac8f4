#pragma once
// A text as the gate reads it. Spelling variants are one: wide and ligature forms, invisible characters, kinds of quotes, dashes and
// spaces.

#include <string>
#include <string_view>
#include <vector>

namespace acl::memory {

// NFKC without invisible characters; typographic quotes and dashes become ' " and -; each run of blanks is one space. Case is kept. A text
// that is not UTF-8 comes back as it is.
std::string CleanText(std::string_view text);
// The same, case folded.
std::string PlainText(std::string_view text);

// Of a plain text; ends at . ! ? ; and a space, or at a line end. Without what ends them.
std::vector<std::string> Sentences(std::string_view plain);

// Of a word: letters, digits, '_' and whatever is not ASCII.
inline bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

struct Word {
  std::string text;
  std::size_t begin = 0, end = 0;
};
std::vector<Word> Words(std::string_view plain);

}  // namespace acl::memory
