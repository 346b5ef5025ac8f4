#include "shared/aegis/words.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "shared/base/utf8.h"

namespace acl::aegis {

namespace {

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool IsAsciiWordByte(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

void AddWord(std::string word, std::vector<std::string>* words) {
  if (word.empty()) return;
  if (word.size() > kLongestWord) {
    std::size_t end = kLongestWord;
    while (end > 0 && (static_cast<unsigned char>(word[end]) & 0xC0) == 0x80) --end;
    word.resize(end);
  }
  words->push_back(std::move(word));
}

std::vector<std::string> AsciiWords(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    while (i < text.size() && IsAsciiWordByte(text[i])) ++i;
    std::string word(text.substr(begin, i - begin));
    std::transform(word.begin(), word.end(), word.begin(), [](char c) { return char(c >= 'A' && c <= 'Z' ? c + 32 : c); });
    AddWord(std::move(word), &words);
    if (i == begin) ++i;
  }
  return words;
}

bool IsWordPoint(utf8proc_int32_t point) {
  switch (utf8proc_category(point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return true;
    default: return false;
  }
}

// Ideographs and kana; Hangul has blanks between its words.
bool StandsAlone(utf8proc_int32_t point) { return (point >= 0x2E80 && point < 0xA4D0) || (point >= 0x20000 && point < 0x40000); }

}  // namespace

std::vector<std::string> WordsOf(std::string_view text) {
  if (IsAscii(text)) return AsciiWords(text);
  const std::string storable = StorableText(text);
  utf8proc_uint8_t* mapped = nullptr;
  constexpr int kFold = UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_COMPOSE | UTF8PROC_IGNORE | UTF8PROC_CASEFOLD;
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(storable.data()), utf8proc_ssize_t(storable.size()), &mapped,
                                   utf8proc_option_t(kFold));
  if (length < 0) return AsciiWords(storable);  // no memory for the mapping
  std::vector<std::string> words;
  std::string word;
  for (utf8proc_ssize_t i = 0; i < length;) {
    utf8proc_int32_t point = -1;
    const auto step = utf8proc_iterate(mapped + i, length - i, &point);
    if (step <= 0) break;
    const std::string_view bytes(reinterpret_cast<const char*>(mapped + i), std::size_t(step));
    i += step;
    const bool alone = StandsAlone(point);
    if (!IsWordPoint(point) || alone) AddWord(std::exchange(word, {}), &words);
    if (!IsWordPoint(point)) continue;
    word += bytes;
    if (alone) AddWord(std::exchange(word, {}), &words);
  }
  AddWord(std::move(word), &words);
  std::free(mapped);  // NOLINT: utf8proc allocates with malloc
  return words;
}

bool IsStopWord(std::string_view word) {
  static constexpr std::array<std::string_view, 62> kStop = {
      "a",    "about", "all",  "am",  "an",   "and",  "any",  "are",  "as",    "at",   "be",   "been",  "but",  "by",   "can",   "could",
      "did",  "do",    "does", "for", "from", "had",  "has",  "have", "how",   "i",    "if",   "in",    "into", "is",   "it",    "its",
      "me",   "my",    "no",   "not", "of",   "on",   "or",   "our",  "s",     "so",   "that", "the",   "them", "then", "there", "these",
      "this", "to",    "us",   "was", "we",   "were", "what", "when", "which", "will", "with", "would", "you",  "your"};
  static_assert(std::is_sorted(kStop.begin(), kStop.end()));
  return std::binary_search(kStop.begin(), kStop.end(), word);
}

std::int64_t EstimateTokens(std::string_view text) {
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    while (i < text.size() && IsAsciiWordByte(text[i])) ++i;
    tokens += std::int64_t((i - begin + 3) / 4);
    if (i > begin) continue;
    const auto byte = static_cast<unsigned char>(text[i++]);
    const bool blank = byte == ' ' || byte == '\t' || byte == '\r';
    const bool follows = (byte & 0xC0) == 0x80;  // a later byte of a code point
    if (!blank && !follows) ++tokens;
  }
  return tokens;
}

}  // namespace acl::aegis
