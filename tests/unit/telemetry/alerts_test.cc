// docs/operate/runbooks.md against docs/operate/alerts.yml and the tree: each alert has a section that says where to look and what to do,
// and each disaster a test that causes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>

#include "shared/base/read_file.h"

namespace acl {
namespace {

const std::string kTree = ACL_SOURCE_DIR "/";

std::string PageOf(const std::string& path) { return ReadFile(kTree + path, 1 << 20).value(); }

std::string Lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  return text;
}

// What stands under "### NAME", up to the next heading.
std::string SectionOf(const std::string& page, const std::string& name) {
  const auto from = page.find("\n### " + name + "\n");
  if (from == std::string::npos) return "";
  return page.substr(from, page.find("\n#", from + 5) - from);
}

TEST(Runbooks, EachAlertHasOne) {
  const std::string rules = PageOf("docs/operate/alerts.yml"), page = PageOf("docs/operate/runbooks.md");
  const std::regex alert(R"(alert: (\w+)\n)");
  std::set<std::string> names;
  for (std::sregex_iterator it(rules.begin(), rules.end(), alert), end; it != end; ++it) {
    const std::string name = (*it)[1];
    names.insert(name);
    const std::string section = SectionOf(page, name);
    EXPECT_THAT(section, testing::HasSubstr("- **Look**: ")) << name;
    EXPECT_THAT(section, testing::HasSubstr("- **Do**: ")) << name;
    const std::string rule =
        rules.substr(std::size_t(it->position()), rules.find("- alert:", std::size_t(it->position())) - std::size_t(it->position()));
    EXPECT_THAT(rule, testing::HasSubstr("runbook: docs/operate/runbooks.md#" + Lower(name) + "\n"));
  }
  EXPECT_GE(names.size(), 21u);
  const std::regex heading(R"(\n### (\w+)\n)");
  for (std::sregex_iterator it(page.begin(), page.end(), heading), end; it != end; ++it)
    EXPECT_TRUE(names.contains((*it)[1])) << (*it)[1] << " is no alert";
}

TEST(Runbooks, EachDisasterIsCausedInATestThatIsThere) {
  const std::string page = PageOf("docs/operate/runbooks.md");
  const std::regex row(R"(\| `([a-z0-9_/.]+)` `([^`]+)` \|\n)");
  int rows = 0;
  for (std::sregex_iterator it(page.begin(), page.end(), row), end; it != end; ++it, ++rows)
    EXPECT_THAT(PageOf((*it)[1]), testing::HasSubstr((*it)[2].str())) << (*it)[1];
  EXPECT_GE(rows, 14);
}

}  // namespace
}  // namespace acl
