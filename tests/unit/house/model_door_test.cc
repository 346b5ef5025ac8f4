// One door to a language model (D-r1), in sources and build files: shared/aegis/provider is included by coordinator/ask and linked by the
// coordinator, and by nobody else of the product. In the programs: tests/e2e/model_door_test.cc.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/unit/house/source_tree.h"

namespace acl::house {
namespace {

constexpr const char* kClient = "shared/aegis/provider";
constexpr const char* kFolder = "shared/aegis/provider/";
constexpr const char* kInclude = "#include \"shared/aegis/provider/";

TEST(ModelDoor, OnlyTheAskIncludesTheModelClient) {
  std::set<std::string> found;
  for (const auto& file : SourceFiles(ProductFolders())) {
    if (file.path.starts_with(kFolder)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (file.lines[i].find(kInclude) == std::string::npos) continue;
      found.insert(file.path);
      EXPECT_TRUE(file.path.starts_with("coordinator/ask/"))
          << file.path << ":" << i + 1 << ": " << file.lines[i]
          << "\n  instead: AskDesk::Ask (coordinator/ask/ask_desk.h): no bundle, no call";
    }
  }
  EXPECT_FALSE(found.empty()) << "nobody includes it: this test looks for nothing";
}

// Each acl_library and acl_binary of the build files that links it, with what stands before EXCEPT.
TEST(ModelDoor, OnlyTheCoordinatorLinksTheModelClient) {
  std::string text;
  for (const auto& line : ReadLines(std::filesystem::path(ACL_SOURCE_DIR) / "CMakeLists.txt"))
    text += line.substr(0, line.find('#')) + "\n";
  static const std::regex command(R"re(\b(acl_library|acl_binary|acl_link|target_link_libraries)\s*\(\s*(\S+)([^)]*)\))re");
  std::set<std::string> linked;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), command); it != std::sregex_iterator(); ++it) {
    const std::string name = (*it)[2], all = (*it)[3], links = all.substr(0, all.find("EXCEPT"));
    if (name != kClient && links.find(kClient) != std::string::npos) linked.insert(name);
  }
  EXPECT_EQ(linked, std::set<std::string>{"coordinator"});
}

}  // namespace
}  // namespace acl::house
