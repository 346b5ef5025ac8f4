#include "tests/unit/aegis/generated_part.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace acl::aegis::test {

void CheckGeneratedPart(const std::string& name, const std::string& want) {
  const std::string path = ACL_SOURCE_DIR "/docs/guides/aegis.md";
  std::ifstream file(path);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string begin = "<!-- " + name + " -->\n", end = "<!-- end of " + name + " -->\n";
  const auto at = page.find(begin), to = page.find(end);
  ASSERT_TRUE(at != std::string::npos && to != std::string::npos) << path << " has no part \"" << name << "\": add " << begin << end;
  const auto from = at + begin.size();
  if (::getenv("ACL_UPDATE_DOCS")) {
    std::ofstream(path) << page.substr(0, from) + want + page.substr(to);
    return;
  }
  EXPECT_EQ(page.substr(from, to - from), want) << "run build/dev/bin/unit_aegis with ACL_UPDATE_DOCS=1 and commit docs/guides/aegis.md";
}

}  // namespace acl::aegis::test
