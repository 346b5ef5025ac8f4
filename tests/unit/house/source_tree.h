#pragma once
// The project's own C++ files, for the tests that hold the house's rules.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace acl::house {

struct SourceFile {
  std::string path;                // from the root, with /
  std::vector<std::string> lines;  // without their newlines
};

// The folder a file belongs to in the table of edges: shared/NAME, the checkers and the parts of AEGIS (which others link alone), else its
// first component.
inline std::string FolderOf(const std::string& path) {
  if (path.starts_with("chaos/checkers/")) return "chaos/checkers";
  for (const char* part : {"shared/aegis/sanitize", "shared/aegis/validate", "shared/aegis/provider"}) {
    if (path.starts_with(part + std::string("/"))) return part;
  }
  auto slash = path.find('/');
  if (slash != std::string::npos && path.compare(0, slash, "shared") == 0) slash = path.find('/', slash + 1);
  if (path.starts_with("shared/kinds/")) slash = path.find('/', slash + 1);  // one folder a kind
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

inline std::vector<std::string> ReadLines(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Every .h and .cc below these folders of the checkout, in order of path.
inline std::vector<SourceFile> SourceFiles(const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  const fs::path root = ACL_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (const auto& folder : folders) {
    if (!fs::is_directory(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const auto extension = entry.path().extension();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cc")) continue;
      files.push_back({fs::relative(entry.path(), root).generic_string(), ReadLines(entry.path())});
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

inline const std::vector<std::string>& ProductFolders() {
  static const std::vector<std::string> folders = {"shared", "coordinator", "worker", "cli", "chaos"};
  return folders;
}

}  // namespace acl::house
