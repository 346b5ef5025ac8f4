#include "tests/unit/aegis/sanitize/corpus.h"

#include <fstream>

namespace acl::aegis::test {

std::vector<Planted> ReadPlanted() {
  std::vector<Planted> all;
  std::ifstream file(ACL_SOURCE_DIR "/tests/data/aegis/secrets.tsv");
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') all.push_back(ParsePlanted(line));
  }
  return all;
}

}  // namespace acl::aegis::test
