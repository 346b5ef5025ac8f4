// The table of tests/model/README.md says which functions the model's actions are. A name that is gone from its file means that the model
// describes what is not there any more.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/unit/house/source_tree.h"

namespace acl::house {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream in(std::filesystem::path(ACL_SOURCE_DIR) / path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// As a word of its own.
bool Names(const std::string& text, const std::string& name) {
  auto inside = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const bool before = at > 0 && inside(text[at - 1]);
    const std::size_t end = at + name.size();
    if (!before && (end >= text.size() || !inside(text[end]))) return true;
  }
  return false;
}

std::set<std::string> ActionsOf(const std::string& model) {
  std::set<std::string> actions;
  const std::regex action(R"(action: ([a-z_]+))");
  for (std::sregex_iterator it(model.begin(), model.end(), action), end; it != end; ++it) actions.insert((*it)[1]);
  return actions;
}

TEST(ModelTable, EveryNameIsInItsFileAndEveryActionInTheModel) {
  std::set<std::string> told;
  int names = 0;
  const std::regex code("`([^`]+)`");
  for (const std::string& line : ReadLines(std::filesystem::path(ACL_SOURCE_DIR) / "tests/model/README.md")) {
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;  // the action, then names and the files they are in
    for (std::sregex_iterator it(line.begin(), line.end(), code), end; it != end; ++it) cells.push_back((*it)[1]);
    ASSERT_GE(cells.size(), 3u) << line;
    told.insert(cells[0]);
    std::vector<std::string> waiting;
    std::string files;
    for (std::size_t i = 1; i < cells.size(); ++i) {
      if (cells[i].find('/') == std::string::npos) {
        if (!files.empty()) waiting.clear(), files.clear();
        waiting.push_back(cells[i]);
        continue;
      }
      const std::string text = TextOf(cells[i]);
      EXPECT_FALSE(text.empty()) << cells[i] << " is not there any more";
      files += text;
      const bool more = i + 1 < cells.size() && cells[i + 1].find('/') != std::string::npos;
      if (more) continue;
      for (const std::string& name : waiting) {
        EXPECT_TRUE(Names(files, name)) << cells[0] << ": " << name << " is not in " << cells[i] << " any more";
        ++names;
        if (!cells[i].starts_with("migrations/")) continue;
        EXPECT_EQ(cells[i], "migrations/functions/" + name + ".sql") << "a function of the database has a file of its own: name that";
      }
    }
  }
  EXPECT_EQ(told, ActionsOf(TextOf("tests/model/subject.pml"))) << "the table and the model name different actions";
  EXPECT_GT(names, 30);
}

}  // namespace
}  // namespace acl::house
