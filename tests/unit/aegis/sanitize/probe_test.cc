#include <gtest/gtest.h>
#include <fstream>
#include <iostream>
#include <filesystem>
#include "shared/aegis/sanitize/preview.h"
namespace acl::aegis {
TEST(Probe, Clean) {
  const auto made = Sanitizer::Make(RuleSet::Standard(), {}, "0123456789abcdef"); const Sanitizer& s = *made;
  namespace fs = std::filesystem;
  std::string root = ACL_SOURCE_DIR;
  int lines = 0, hits = 0;
  for (const char* folder : {"docs", "shared", "coordinator", "worker", "cli", "chaos", "examples", "tests", "README.md", "migrations", "helm", "proto"}) {
    std::vector<fs::path> files;
    if (fs::is_regular_file(root + "/" + folder)) files.push_back(root + "/" + folder);
    else if (fs::exists(root + "/" + folder)) for (auto& e : fs::recursive_directory_iterator(root + "/" + folder)) if (e.is_regular_file()) files.push_back(e.path());
    for (auto& f : files) {
      std::ifstream in(f); std::string t{std::istreambuf_iterator<char>(in), {}};
      auto scan = s.ScanText(t);
      lines += int(std::count(t.begin(), t.end(), '\n'));
      for (auto& sp : scan.spans) {
        ++hits;
        auto b = t.rfind('\n', sp.begin) + 1; if (b > sp.begin) b = 0;
        auto e = std::min(t.find('\n', sp.begin), t.size());
        printf("HIT %s %s [%s] %s\n", fs::relative(f, root).c_str(), sp.kind, t.substr(sp.begin, std::min<size_t>(sp.end - sp.begin, 60)).c_str(), t.substr(b, std::min<size_t>(e - b, 200)).c_str());
      }
    }
  }
  printf("LINES %d HITS %d\n", lines, hits);
}
}
