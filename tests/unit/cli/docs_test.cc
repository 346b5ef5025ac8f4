// docs/cli.md names every command, and every option of those that people use most.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/read_file.h"
#include "tests/unit/cli/fake_transport.h"

namespace acl::cli::test {
namespace {

std::string FullName(const CLI::App& command) {
  return command.get_parent() == nullptr ? command.get_name() : FullName(*command.get_parent()) + " " + command.get_name();
}

// A line of the page that names the group and, behind it, the command: "`airun schedule pause NAME`, `resume NAME`".
bool Names(const std::string& page, const CLI::App& command) {
  const std::string group = FullName(*command.get_parent()), word = command.get_name();
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(group + " ");
    if (at != std::string::npos && line.find(word, at + group.size()) != std::string::npos) return true;
  }
  return false;
}

void Check(const std::string& page, const CLI::App& command, bool options) {
  const auto below = command.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* one : below)
    Check(page, *one, options || one->get_name() == "workflow" || one->get_name() == "schedule" || one->get_name() == "step");
  if (!below.empty() || command.get_parent() == nullptr) return;
  EXPECT_TRUE(Names(page, command)) << FullName(command);
  EXPECT_FALSE(command.get_description().empty()) << FullName(command);
  for (const CLI::Option* option : command.get_options()) {
    EXPECT_FALSE(option->get_description().empty()) << FullName(command) << " " << option->get_name();
    for (const std::string& name : option->get_lnames()) {
      const bool said = !options || name == "help" || name == "input" || page.find("--" + name) != std::string::npos;
      EXPECT_TRUE(said) << FullName(command) << " --" << name;
    }
  }
}

TEST(CliDocs, NameEveryCommandAndOption) {
  const auto page = ReadFile(std::string(ACL_SOURCE_DIR) + "/docs/cli.md", 1 << 20);
  ASSERT_TRUE(page.ok()) << page.error();
  std::ostringstream out, err;
  Session session(Surroundings{out, err, false, false, [](const std::string&) { return std::string(); }, {}, {}, "airun"});
  Check(*page, *MakeApp(&session), false);
}

}  // namespace
}  // namespace acl::cli::test
