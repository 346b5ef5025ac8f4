#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "shared/aegis/validate/checks.h"

namespace acl::aegis {
namespace {

constexpr std::size_t kLongestSummary = 160;
constexpr int kMostFindings = 50;  // of one class

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kPlainMarks{{{"‘", "'"},
                                                                                     {"’", "'"},
                                                                                     {"“", "\""},
                                                                                     {"”", "\""},
                                                                                     {"„", "\""},
                                                                                     {"«", "\""},
                                                                                     {"»", "\""},
                                                                                     {"–", "-"},
                                                                                     {"—", "-"},
                                                                                     {"…", "..."},
                                                                                     {"\u00a0", " "},
                                                                                     {"\u202f", " "}}};

std::string WithoutQuoted(std::string_view normal) {
  std::string out;
  for (std::size_t i = 0; i < normal.size(); ++i) {
    if (normal[i] == '"' || normal[i] == '`') {
      const auto end = normal.find(normal[i], i + 1);
      if (end != normal.npos) {
        out += "\"\"";
        i = end;
        continue;
      }
    }
    out += normal[i];
  }
  return out;
}

bool EndsSentence(std::string_view text, std::size_t i) {
  if (text[i] == '\n') return true;
  if (text[i] != '.' && text[i] != '!' && text[i] != '?') return false;
  const auto behind = i + 1 < text.size() ? text[i + 1] : '\n';
  if (behind != ' ' && behind != '\n' && behind != '\t') return false;
  const auto before = text.substr(0, i + 1);
  return !before.ends_with("e.g.") && !before.ends_with("i.e.");
}

}  // namespace

std::string NormalText(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto rest = text.substr(i);
    const auto mark =
        static_cast<unsigned char>(rest.front()) < 0x80
            ? kPlainMarks.end()
            : std::find_if(kPlainMarks.begin(), kPlainMarks.end(), [&](const auto& pair) { return rest.starts_with(pair.first); });
    if (mark != kPlainMarks.end()) {
      i += mark->first.size();
      if (mark->second != " ") {
        out += mark->second;
      } else if (!out.empty() && out.back() != ' ') {
        out += ' ';
      }
      continue;
    }
    const char c = text[i++];
    if (c == '*') continue;
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (blank && (out.empty() || out.back() == ' ')) continue;
    out += blank ? ' ' : char(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

Answer::Answer(const ValidationInput& given) : input(given) {
  const std::string_view text = input.response;
  const auto add = [&](std::size_t begin, std::size_t end) {
    while (begin < end && (text[begin] == ' ' || text[begin] == '\n' || text[begin] == '-' || text[begin] == '#' || text[begin] == '>'))
      ++begin;
    if (begin == end) return;
    Sentence sentence{begin, std::string(text.substr(begin, end - begin)), {}, {}};
    sentence.normal = NormalText(sentence.raw);
    sentence.spoken = WithoutQuoted(sentence.normal);
    sentences.push_back(std::move(sentence));
  };
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("```")) {
      add(begin, i);
      const auto end = text.find("```", i + 3);
      i = end == text.npos ? text.size() : end + 2;
      begin = std::min(i + 1, text.size());
      continue;
    }
    if (!EndsSentence(text, i)) continue;
    add(begin, i + 1);
    begin = i + 1;
  }
  add(begin, text.size());
}

void AddFinding(std::vector<Finding>& findings, DriftClass drift, std::string_view rule, std::string place, std::string_view what) {
  const auto of_class = std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.drift == drift; });
  if (of_class >= kMostFindings) return;  // the class is marked already
  std::string summary = fmt::format("{} {} {} {}", NameOf(drift), rule, place, what);
  std::replace_if(
      summary.begin(), summary.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  std::size_t size = std::min(summary.size(), kLongestSummary);
  while (size < summary.size() && size > 0 && (static_cast<unsigned char>(summary[size]) & 0xc0) == 0x80) --size;
  summary.resize(size);
  findings.push_back({drift, std::string(rule), std::move(place), std::move(summary)});
}

std::string PlaceOf(const Sentence& sentence) { return fmt::format("response@{}", sentence.begin); }

bool Matches(const RE2& expression, std::string_view text) {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression);
}

std::string FirstMatch(const RE2& expression, std::string_view text) {
  re2::StringPiece found;
  const re2::StringPiece all(text.data(), text.size());
  return expression.Match(all, 0, all.size(), RE2::UNANCHORED, &found, 1) ? std::string(found) : std::string();
}

std::vector<std::string> AllMatches(const RE2& expression, std::string_view text) {
  std::vector<std::string> all;
  re2::StringPiece rest(text.data(), text.size());
  std::string found;
  while (RE2::FindAndConsume(&rest, expression, &found)) all.push_back(found);
  return all;
}

bool HasWord(std::string_view text, std::string_view word) {
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80; };
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; ++at) {
    const bool begins = at == 0 || !is_word(text[at - 1]);
    std::size_t end = at + word.size();
    if (end < text.size() && text[end] == 's') ++end;
    if (begins && (end >= text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

bool HasValues(const SightOf& sight) { return sight.values.is_object() && !sight.values.empty(); }

bool HasValueOf(const SightOf& sight, double number) {
  for (const auto& [name, value] : sight.values.items()) {
    if (!value.is_number()) continue;
    const double is = value.get<double>();
    for (const double as : {is, is * 100, 100 - is, is / 1024, is / 1000, 100 - is * 100}) {
      if (std::abs(number - as) <= std::max(0.051, std::abs(as) * 0.02)) return true;
    }
  }
  return false;
}

std::vector<std::string> WordsOfSight(const SightOf& sight) {
  static const std::vector<std::string> kNoTopic{"sys",  "used",  "free",  "pct", "mb", "gb",      "status", "get",
                                                 "read", "count", "total", "s",   "ms", "changed", "usage"};
  std::vector<std::string> words;
  const auto add = [&](std::string_view name) {
    std::string word;
    for (const char c : std::string(name) + "_") {
      if (c != '_' && c != '.' && c != '-') {
        word += char(c >= 'A' && c <= 'Z' ? c + 32 : c);
        continue;
      }
      if (word.size() > 1 && std::find(kNoTopic.begin(), kNoTopic.end(), word) == kNoTopic.end()) words.push_back(word);
      word.clear();
    }
  };
  add(sight.tool);
  if (sight.values.is_object()) {
    for (const auto& [name, value] : sight.values.items()) add(name);
  }
  if (std::find(words.begin(), words.end(), "mem") != words.end()) words.insert(words.end(), {"memory", "ram"});
  if (std::find(words.begin(), words.end(), "cpu") != words.end()) words.push_back("processor");
  if (std::find(words.begin(), words.end(), "disk") != words.end()) words.insert(words.end(), {"storage", "space"});
  return words;
}

}  // namespace acl::aegis
