#pragma once
// The phrases of tests/data/memory: what must be refused, what must be accepted.

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace acl::memory::test {

struct Line {
  bool held = false;    // written beside the rules, never used to tune them
  std::string reasons;  // of what is refused: those that are right, with spaces between them
  std::string type, text;
};

// `columns`: 4 with reasons, 3 without.
inline std::vector<Line> ReadCorpus(const std::string& path, int columns) {
  std::vector<Line> lines;
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    if (text.empty() || text.front() == '#') continue;
    std::istringstream cells(text);
    std::string set;
    Line line;
    std::getline(cells, set, '\t');
    if (columns == 4) std::getline(cells, line.reasons, '\t');
    std::getline(cells, line.type, '\t');
    std::getline(cells, line.text);
    line.held = set == "held";
    lines.push_back(line);
  }
  return lines;
}

}  // namespace acl::memory::test
