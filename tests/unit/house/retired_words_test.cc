// Words that were retired do not come back: the list is retired_words.txt, what each word means now docs/glossary.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "tests/unit/house/source_tree.h"

namespace acl::house {
namespace {

struct RetiredWords {
  std::vector<std::string> words;
  std::string instead;
  std::vector<std::string> folders, except;  // prefixes of paths; no folders: everywhere
};

std::vector<std::string> WordsIn(const std::string& column) {
  std::istringstream text(column);
  std::vector<std::string> words;
  for (std::string word; text >> word;)
    if (word != "*" && word != "-") words.push_back(word);
  return words;
}

RetiredWords ParseRetiredWords(const std::string& line) {
  std::vector<std::string> columns;
  std::size_t at = 0;
  for (std::size_t end; (end = line.find(" | ", at)) != std::string::npos; at = end + 3) columns.push_back(line.substr(at, end - at));
  columns.push_back(line.substr(at));
  if (columns.size() != 4) throw std::runtime_error("retired_words.txt: four columns divided by \" | \" are needed: " + line);
  return {WordsIn(columns[0]), columns[1], WordsIn(columns[2]), WordsIn(columns[3])};
}

std::vector<RetiredWords> ReadRetiredWords() {
  std::vector<RetiredWords> words;
  for (const std::string& line : ReadLines(std::filesystem::path(ACL_SOURCE_DIR) / "tests/unit/house/retired_words.txt"))
    if (!line.empty() && !line.starts_with('#')) words.push_back(ParseRetiredWords(line));
  return words;
}

bool Under(const std::string& path, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) { return path.starts_with(prefix); });
}

bool InWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::set<std::string, std::less<>> IdentifiersOf(const std::string& text) {
  std::set<std::string, std::less<>> found;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && InWord(text[end])) ++end;
    if (end > at) found.insert(text.substr(at, end - at));
    at = std::max(end, at + 1);
  }
  return found;
}

// `word` with * at its beginning or end for anything.
bool Matches(std::string_view identifier, std::string_view word) {
  const bool any_begin = word.starts_with('*'), any_end = word.ends_with('*');
  if (any_begin) word.remove_prefix(1);
  if (any_end) word.remove_suffix(1);
  if (any_begin && any_end) return identifier.find(word) != std::string_view::npos;
  return any_begin ? identifier.ends_with(word) : any_end ? identifier.starts_with(word) : identifier == word;
}

// What stands in the file for a retired word; empty: nothing.
std::string Find(const std::string& word, const std::string& text, const std::set<std::string, std::less<>>& identifiers) {
  const bool is_text = std::any_of(word.begin(), word.end(), [](char c) { return !InWord(c) && c != '*'; }) || word.starts_with("a_");
  if (is_text || word == "lonely_runs") {
    std::string sought = word;
    if (word.find('/') == std::string::npos) std::replace(sought.begin(), sought.end(), '_', ' ');
    return text.find(sought) == std::string::npos ? "" : sought;
  }
  const auto it = std::find_if(identifiers.begin(), identifiers.end(), [&](const auto& identifier) { return Matches(identifier, word); });
  return it == identifiers.end() ? "" : *it;
}

// Sources, migrations and pages; not what other people wrote, nor what the tests of this folder quote.
std::vector<SourceFile> PagesAndSources() {
  namespace fs = std::filesystem;
  const fs::path root = ACL_SOURCE_DIR;
  const std::vector<std::string> endings = {".h", ".cc", ".sql", ".proto", ".md", ".json", ".yml"};
  const std::vector<std::string> not_ours = {"tests/unit/house/", "tests/data/",      "tests/outside/", "tests/fuzz/corpus/",
                                             "tests/llm/",        "docs/glossary.md", "docs/lab/"};
  std::vector<SourceFile> files;
  for (const char* folder : {"shared", "coordinator", "worker", "cli", "chaos", "tests", "migrations", "proto", "docs", "helm"}) {
    if (!fs::is_directory(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = fs::relative(entry.path(), root).generic_string();
      if (!entry.is_regular_file() || std::find(endings.begin(), endings.end(), entry.path().extension()) == endings.end()) continue;
      if (!Under(path, not_ours)) files.push_back({path, ReadLines(entry.path())});
    }
  }
  return files;
}

std::vector<std::string> FindRetiredWords(const std::vector<SourceFile>& files, const std::vector<RetiredWords>& retired) {
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    std::string text;
    for (const std::string& line : file.lines) text += line + '\n';
    const auto identifiers = IdentifiersOf(text);
    for (const RetiredWords& one : retired) {
      if ((!one.folders.empty() && !Under(file.path, one.folders)) || Under(file.path, one.except)) continue;
      for (const std::string& word : one.words) {
        const std::string there = Find(word, text, identifiers);
        if (there.empty()) continue;
        const auto at = text.begin() + std::ptrdiff_t(text.find(there));
        found.push_back(file.path + ":" + std::to_string(1 + std::count(text.begin(), at, '\n')) + ": '" + there +
                        "' is retired; write: " + one.instead);
      }
    }
  }
  return found;
}

TEST(RetiredWords, DoNotComeBack) {
  std::string all;
  for (const std::string& one : FindRetiredWords(PagesAndSources(), ReadRetiredWords())) all += one + "\n";
  EXPECT_EQ(all, "") << "(docs/glossary.md has the terms; tests/unit/house/retired_words.txt the list)";
}

TEST(RetiredWords, AreFoundWhereTheyStandAndNotWhereTheyAreAllowed) {
  const std::vector<RetiredWords> retired = {ParseRetiredWords("barren v_* *Spec api/forms.h | something | shared | shared/old/")};
  const auto count = [&](const std::string& path, const std::string& line) {
    return FindRetiredWords({{path, {"", line}}}, retired).size();
  };
  EXPECT_EQ(count("shared/a.cc", "int barren;"), 1u);
  EXPECT_EQ(count("shared/a.cc", "v_x = StepSpec{};"), 2u);
  EXPECT_EQ(count("shared/a.cc", "#include \"coordinator/api/forms.h\""), 1u);
  EXPECT_EQ(count("shared/a.cc", "barrens, Specific, forms.h"), 0u);
  EXPECT_EQ(count("shared/old/a.cc", "int barren;"), 0u);
  EXPECT_EQ(count("worker/a.cc", "int barren;"), 0u);
}

}  // namespace
}  // namespace acl::house
