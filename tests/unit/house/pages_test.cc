// What pages and comments refer to is in the repository: files, pages, sections of pages.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/unit/house/source_tree.h"

namespace acl::house {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kFolders = {"chaos",    "cli",  "cmake",      "coordinator", "docker", "docs",  ".dev",
                                           "examples", "helm", "migrations", "proto",       "shared", "tests", "worker"};

// Files of the project whose names end so, README.md and CMakeLists.txt of the root included.
std::vector<SourceFile> TextFiles(const std::set<std::string>& extensions) {
  const fs::path root = ACL_SOURCE_DIR;
  std::vector<SourceFile> files;
  const auto take = [&](const fs::path& path) {
    if (extensions.contains(path.extension().string())) files.push_back({fs::relative(path, root).generic_string(), ReadLines(path)});
  };
  for (const auto& folder : kFolders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file()) take(entry.path());
    }
  }
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.is_regular_file()) take(entry.path());
  }
  return files;
}

// The anchor that a heading of Markdown gets: as GitHub makes it.
std::string AnchorOf(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || (c & 0x80) != 0) {
      anchor += char(std::tolower(static_cast<unsigned char>(c)));
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

// Anchors of a page: of its headings, and those that it names itself (<a id="..."> or <a name="...">).
const std::set<std::string>& AnchorsOf(const std::string& page) {
  static auto* known = new std::map<std::string, std::set<std::string>>;
  const auto [it, is_new] = known->try_emplace(page);
  if (!is_new) return it->second;
  static const std::regex named(R"re(<a (?:id|name)="([^"]+)">)re");
  std::map<std::string, int> seen;
  bool is_code = false;
  for (const auto& line : ReadLines(fs::path(ACL_SOURCE_DIR) / page)) {
    if (line.starts_with("```")) is_code = !is_code;
    if (is_code) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), named), end; at != end; ++at) it->second.insert((*at)[1]);
    const auto text = line.find_first_not_of('#');
    if (text == 0 || text == std::string::npos || line[text] != ' ') continue;
    const std::string anchor = AnchorOf(line.substr(text + 1));
    const int before = seen[anchor]++;
    it->second.insert(before == 0 ? anchor : anchor + "-" + std::to_string(before));
  }
  return it->second;
}

bool Exists(const std::string& path) { return fs::exists(fs::path(ACL_SOURCE_DIR) / path); }

// docs/PAGE and docs/PAGE#SECTION, in comments, messages, scripts and pages alike. Migrations that have run do not change with the pages.
TEST(HousePages, EveryPageAndSectionThatIsNamedExists) {
  const std::regex named(R"re((?:^|[^A-Za-z0-9_/.-]|"/|\.\./)(docs/[A-Za-z0-9_./-]*[A-Za-z0-9_])(?:#([a-z0-9_-]+))?)re");
  const std::regex example(R"(docs/(plan|a|b|PAGE)\b.*)");  // of files that a user may have, in tests and examples of references
  for (const auto& file : TextFiles({".h", ".cc", ".md", ".sh", ".py", ".cmake", ".txt", ".yml", ".yaml", ".proto", ".service", ".env"})) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      if (line.find("docs/") == std::string::npos || line.find("://") != std::string::npos) continue;
      for (std::sregex_iterator at(line.begin(), line.end(), named), end; at != end; ++at) {
        const std::string page = (*at)[1], anchor = (*at)[2];
        if (std::regex_match(page, example)) continue;
        EXPECT_TRUE(Exists(page)) << file.path << ":" << i + 1 << ": there is no " << page;
        if (anchor.empty() || !page.ends_with(".md") || !Exists(page)) continue;
        EXPECT_TRUE(AnchorsOf(page).contains(anchor)) << file.path << ":" << i + 1 << ": " << page << " has no section #" << anchor;
      }
    }
  }
}

TEST(HousePages, EveryLinkLeadsSomewhere) {
  const std::regex link(R"(\]\(([^)\s]+)\))");
  for (const auto& file : TextFiles({".md"})) {
    bool is_code = false;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string& line = file.lines[i];
      if (line.starts_with("```")) is_code = !is_code;
      if (is_code) continue;
      for (std::sregex_iterator at(line.begin(), line.end(), link), end; at != end; ++at) {
        const std::string target = (*at)[1];
        if (target.find("://") != std::string::npos || target.starts_with("mailto:")) continue;
        const auto hash = target.find('#');
        const std::string path = target.substr(0, hash);
        const std::string page = path.empty() ? file.path : (fs::path(file.path).parent_path() / path).lexically_normal().generic_string();
        EXPECT_TRUE(Exists(page)) << file.path << ":" << i + 1 << ": dead link " << target;
        if (hash == std::string::npos || !page.ends_with(".md") || !Exists(page)) continue;
        EXPECT_TRUE(AnchorsOf(page).contains(target.substr(hash + 1))) << file.path << ":" << i + 1 << ": no such section: " << target;
      }
    }
  }
}

// A comment that names a file of ours (with or without its ending) or a folder names one that is there.
TEST(HousePages, EveryFileThatACommentNamesExists) {
  const std::regex named(
      R"((?:^|[^A-Za-z0-9_/.<-])((?:shared|coordinator|worker|cli|chaos|tests|migrations|proto|helm|examples|docker|cmake)/[A-Za-z0-9_./-]*[A-Za-z0-9_]))");
  const std::set<std::string> patterns = {"shared/NAME", "tests/fuzz/corpus/NAME"};  // said of any file
  for (const auto& file : TextFiles({".h", ".cc", ".proto"})) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto begin = file.lines[i].find("//");
      if (begin == std::string::npos || file.lines[i].starts_with("#include")) continue;
      const std::string comment = file.lines[i].substr(begin + 2);
      for (std::sregex_iterator at(comment.begin(), comment.end(), named), end; at != end; ++at) {
        const std::string path = (*at)[1];
        if (patterns.contains(path)) continue;
        bool is_there = Exists(path) || Exists(path + ".h") || Exists(path + ".cc");
        if (!is_there) {  // by the number of a migration, or the beginning of several files' names
          const fs::path folder = fs::path(ACL_SOURCE_DIR) / fs::path(path).parent_path();
          const std::string stem = fs::path(path).filename().string();
          if (fs::is_directory(folder) && (path.starts_with("migrations/") || stem.ends_with('_'))) {
            for (const auto& entry : fs::directory_iterator(folder)) is_there |= entry.path().filename().string().starts_with(stem);
          }
        }
        EXPECT_TRUE(is_there) << file.path << ":" << i + 1 << ": there is no " << path;
      }
    }
  }
}

// A subtle folder has a README: what it is for, who has authority over what, its states, what fails, in which order to read its files. The
// files that it names are there.
TEST(HousePages, SubtleFoldersHaveReadmesThatNameFilesThatExist) {
  const std::regex named(R"(`((?:[a-z0-9_]+/)*[a-z0-9_]+\.(?:h|cc|proto|sql|txt|md))`)");
  for (const char* folder : {"worker", "coordinator", "shared/kernel", "shared/workflow", "shared/postgres", "shared/queue", "shared/kafka",
                             "shared/journal", "shared/kinds"}) {
    const std::string page = std::string(folder) + "/README.md";
    ASSERT_TRUE(Exists(page)) << page;
    const std::vector<std::string> lines = ReadLines(fs::path(ACL_SOURCE_DIR) / page);
    for (const char* part : {"authority", "State", "fails", "order to read"}) {
      const bool is_there = std::any_of(lines.begin(), lines.end(), [&](const std::string& line) {
        return line.starts_with("## ") && line.find(part) != std::string::npos;
      });
      EXPECT_TRUE(is_there) << page << " has no section about: " << part;
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (std::sregex_iterator at(lines[i].begin(), lines[i].end(), named), end; at != end; ++at) {
        const std::string file = (*at)[1];
        EXPECT_TRUE(Exists(std::string(folder) + "/" + file) || Exists(file)) << page << ":" << i + 1 << ": there is no " << file;
      }
    }
  }
}

// The design page, the notes and the requirement documents are not in the repository: what is needed of them is on our own pages.
TEST(HousePages, NobodyNamesAPageFromOutside) {
  for (const auto& file : TextFiles({".h", ".cc", ".md", ".sh", ".py", ".cmake", ".proto"})) {
    if (file.path.starts_with("tests/unit/house/")) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      for (const char* page :
           {"DESIGN.md", "DESIGN section", "compat.md", "notes/performance.md", "notes/reliability.md", "notes/compat"}) {
        EXPECT_EQ(file.lines[i].find(page), std::string::npos)
            << file.path << ":" << i + 1 << ": " << page << " is not in the repository; name a section of docs/architecture.md instead";
      }
    }
  }
}

}  // namespace
}  // namespace acl::house
