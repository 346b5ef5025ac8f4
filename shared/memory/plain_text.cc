#include "shared/memory/plain_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "shared/base/utf8.h"

namespace acl::memory {
namespace {

std::string Mapped(std::string_view text, int options) {
  if (std::all_of(text.begin(), text.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {  // most texts: nothing to map but case
    std::string out(text);
    if ((options & UTF8PROC_CASEFOLD) != 0)
      std::transform(out.begin(), out.end(), out.begin(), [](char c) { return char(c >= 'A' && c <= 'Z' ? c + 32 : c); });
    return out;
  }
  if (!IsUtf8(text)) return std::string(text);
  utf8proc_uint8_t* mapped = nullptr;
  const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), utf8proc_ssize_t(text.size()), &mapped,
                                   utf8proc_option_t(options));
  if (length < 0) return std::string(text);
  std::string out(reinterpret_cast<const char*>(mapped), std::size_t(length));
  std::free(mapped);  // NOLINT: utf8proc allocates with malloc
  return out;
}

constexpr std::array<std::pair<std::string_view, char>, 12> kPunctuation{{{"‘", '\''},
                                                                          {"’", '\''},
                                                                          {"‚", '\''},
                                                                          {"“", '"'},
                                                                          {"”", '"'},
                                                                          {"„", '"'},
                                                                          {"‐", '-'},
                                                                          {"‑", '-'},
                                                                          {"‒", '-'},
                                                                          {"–", '-'},
                                                                          {"—", '-'},
                                                                          {"−", '-'}}};

std::string WithSingleSpaces(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    bool replaced = false;
    const bool is_mark = text[at] == kPunctuation[0].first[0];  // all begin with the same byte
    for (const auto& [mark, plain] : kPunctuation) {
      if (!is_mark) break;
      if (std::string_view(text).substr(at).starts_with(mark)) {
        out += plain;
        at += mark.size();
        replaced = true;
        break;
      }
    }
    if (replaced) continue;
    const char c = text[at++];
    const bool blank = c == ' ' || c == '\t';
    if (blank && (out.empty() || out.back() == ' ' || out.back() == '\n')) continue;
    out += blank ? ' ' : c == '\r' ? '\n' : c;
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
  return out;
}

constexpr int kClean = UTF8PROC_STABLE | UTF8PROC_COMPAT | UTF8PROC_COMPOSE | UTF8PROC_IGNORE;

}  // namespace

std::string CleanText(std::string_view text) { return WithSingleSpaces(Mapped(text, kClean)); }
std::string PlainText(std::string_view text) { return WithSingleSpaces(Mapped(text, kClean | UTF8PROC_CASEFOLD)); }

std::vector<std::string> Sentences(std::string_view plain) {
  std::vector<std::string> sentences;
  std::string sentence;
  const auto end = [&] {
    while (!sentence.empty() && sentence.front() == ' ') sentence.erase(0, 1);
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
    sentence.clear();
  };
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    const bool last = i + 1 == plain.size() || plain[i + 1] == ' ' || plain[i + 1] == '\n';
    if (c == '\n' || (last && (c == '.' || c == '!' || c == '?' || c == ';'))) {
      end();
    } else {
      sentence += c;
    }
  }
  end();
  return sentences;
}

std::vector<Word> Words(std::string_view plain) {
  std::vector<Word> words;
  for (std::size_t i = 0; i < plain.size();) {
    const std::size_t begin = i;
    while (i < plain.size() && IsLetter(plain[i])) ++i;
    if (i > begin) words.push_back({std::string(plain.substr(begin, i - begin)), begin, i});
    if (i == begin) ++i;
  }
  return words;
}

}  // namespace acl::memory
