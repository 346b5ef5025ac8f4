// The table of settings against the page about it and the programs that are to read them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "shared/config/settings_table.h"

namespace acl {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// docs/reference/settings.md is the table written out; ACL_UPDATE_DOCS=1 rewrites it.
TEST(SettingsDocs, ThePageSaysWhatTheTableSays) {
  const std::string want = SettingsMarkdown(), path = ACL_SOURCE_DIR "/docs/reference/settings.md";
  if (::getenv("ACL_UPDATE_DOCS")) std::ofstream(path) << want;
  EXPECT_EQ(ReadText(path), want) << "run the test with ACL_UPDATE_DOCS=1 and commit docs/reference/settings.md";
  EXPECT_NE(ReadText(std::string(ACL_SOURCE_DIR) + "/docs/operate/operations.md").find("(../reference/settings.md)"), std::string::npos);
}

std::string SourcesOf(const std::string& folder) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(ACL_SOURCE_DIR) + "/" + folder)) {
    if (entry.path().extension() == ".cc") all += ReadText(entry.path());
  }
  return all;
}

// A setting that a program lists and nobody reads is a promise that nobody keeps. The member is the setting's name without its unit;
// airun reads some from its environment itself.
TEST(SettingsDocs, EveryProgramReadsWhatItLists) {
  for (const auto& [program, folder] :
       {std::pair{Program::kCoordinator, "coordinator"}, {Program::kWorker, "worker"}, {Program::kCli, "cli"}}) {
    std::string sources = SourcesOf(folder);
    if (sources.find("OpenObjectStore(") != std::string::npos) sources += SourcesOf("shared/objectstore");  // which reads its own
    if (sources.find("memory::OpenMemory(") != std::string::npos) sources += SourcesOf("shared/memory");
    ASSERT_FALSE(sources.empty()) << folder;
    for (const auto& info : SettingsOf(program)) {
      std::string member = info.name;
      for (const std::string unit : {"_ms", "_days"}) {
        if (member.ends_with(unit)) member.erase(member.size() - unit.size());
      }
      EXPECT_TRUE(std::regex_search(sources, std::regex("[.>]" + member + "\\b|\"" + info.environment + "\"")))
          << folder << " lists " << info.name << " and never reads it";
    }
  }
}

}  // namespace
}  // namespace acl
