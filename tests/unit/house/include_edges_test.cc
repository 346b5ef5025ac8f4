// The allowed-edges table of includes (allowed_edges.txt) holds for every file of the product.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/unit/house/source_tree.h"

namespace acl::house {
namespace {

struct EdgeTable {
  std::vector<std::string> order;  // top first
  std::map<std::string, std::set<std::string>> allowed;
};

EdgeTable LoadTable() {
  EdgeTable table;
  for (const auto& line : ReadLines(std::filesystem::path(ACL_SOURCE_DIR) / "tests/unit/house/allowed_edges.txt")) {
    if (line.empty() || line[0] == '#') continue;
    const auto colon = line.find(':');
    EXPECT_NE(colon, std::string::npos) << "no colon: " << line;
    const std::string folder = line.substr(0, colon);
    EXPECT_EQ(table.allowed.count(folder), 0u) << "twice in the table: " << folder;
    table.order.push_back(folder);
    std::istringstream rest(line.substr(colon + 1));
    auto& set = table.allowed[folder];
    for (std::string name; rest >> name;) set.insert(name);
  }
  return table;
}

TEST(IncludeEdges, TheTablePointsOneWay) {
  const auto table = LoadTable();
  ASSERT_GT(table.order.size(), 10u);
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < table.order.size(); ++i) place[table.order[i]] = i;
  for (const auto& [folder, targets] : table.allowed) {
    for (const auto& target : targets) {
      ASSERT_TRUE(place.count(target)) << folder << " may include " << target << ", which has no line of its own";
      EXPECT_GT(place[target], place[folder]) << folder << " may include " << target << ", which stands above it";
    }
  }
}

TEST(IncludeEdges, EveryIncludeIsAllowed) {
  const auto table = LoadTable();
  const std::regex include(R"re(^\s*#\s*include\s+"([^"]+)")re");
  const auto files = SourceFiles(ProductFolders());
  ASSERT_FALSE(files.empty());
  for (const auto& file : files) {
    const std::string folder = FolderOf(file.path);
    const auto row = table.allowed.find(folder);
    ASSERT_NE(row, table.allowed.end()) << file.path << ": the folder " << folder << " has no line in allowed_edges.txt";
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(file.lines[i], match, include)) continue;
      const std::string target = match[1];
      if (target.ends_with(".pb.h")) continue;  // generated from proto/
      const std::string target_folder = FolderOf(target);
      EXPECT_TRUE(target_folder == folder || row->second.count(target_folder))
          << file.path << ":" << i + 1 << ": " << folder << " may not include " << target
          << "; move the code, or change tests/unit/house/allowed_edges.txt and say why";
      EXPECT_TRUE(target_folder.empty() || std::filesystem::exists(std::filesystem::path(ACL_SOURCE_DIR) / target))
          << file.path << ":" << i + 1 << ": includes are written from the root: " << target;
    }
  }
}

// What a folder links (CMakeLists.txt) is no more than what it may include.
TEST(IncludeEdges, LinksAgreeWithTheTable) {
  const auto table = LoadTable();
  const std::regex library(R"(^acl_library\((\S+)\s+LINK ([^)]*)\))");
  int seen = 0;
  for (const auto& line : ReadLines(std::filesystem::path(ACL_SOURCE_DIR) / "CMakeLists.txt")) {
    std::smatch match;
    if (!std::regex_search(line, match, library)) continue;
    ++seen;
    const auto row = table.allowed.find(match[1]);
    ASSERT_NE(row, table.allowed.end()) << match[1] << " has no line in allowed_edges.txt";
    std::istringstream links(match[2]);
    for (std::string link; links >> link && link != "EXCEPT";) {
      if (!table.allowed.count(link)) continue;  // third party
      EXPECT_TRUE(row->second.count(link)) << match[1] << " links " << link << ", which it may not include";
    }
  }
  EXPECT_EQ(static_cast<std::size_t>(seen), table.order.size()) << "the table and CMakeLists.txt name different folders";
}

}  // namespace
}  // namespace acl::house
