#pragma once
// How AEGIS reads a text: its words, by which artifacts are found and scored, and about how many tokens a model counts in it. Both are
// part of what a bundle is a function of, so they never depend on locale, machine or model (docs/guides/aegis.md).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace acl::aegis {

// In order, repeats kept. The text is normalised (NFKC) and case-folded; a word is a run of letters, marks and digits, so `sys_health` is
// two. Each ideograph and kana is a word of its own: such text has no blanks. Bytes that are not UTF-8 separate words. Of a word no more
// than its first kLongestWord bytes count. Unicode keeps the folding of what is assigned; a text with characters that are newer than the
// tables of utf8proc may read otherwise with newer ones.
std::vector<std::string> WordsOf(std::string_view text);
inline constexpr std::size_t kLongestWord = 64;

// Words of grammar ("the", "is"): nothing is found by them. Of a case-folded word.
bool IsStopWord(std::string_view word);

// An estimate that errs on the high side for English, code and JSON: a run of ASCII letters and digits counts one for every four begun,
// each other visible ASCII character and each line end one, each code point beyond ASCII one, a blank nothing.
std::int64_t EstimateTokens(std::string_view text);

}  // namespace acl::aegis
