// docs/reference/cli.md names every command, and every option of those that people use most.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "shared/base/read_file.h"
#include "shared/kinds/project/operations.h"
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
  const auto page = ReadFile(std::string(ACL_SOURCE_DIR) + "/docs/reference/cli.md", 1 << 20);
  ASSERT_TRUE(page.ok()) << page.error();
  std::ostringstream out, err;
  Session session(Environment{out, err, false, false, [](const std::string&) { return std::string(); }, {}, {}, "airun"});
  Check(*page, *MakeApp(&session), false);
}

// What stands for a value of the parameter: "GOAL", "N", "todo\\|doing".
std::string Placeholder(const project::Parameter& parameter) {
  if (parameter.form == project::Form::kNumber) return "N";
  std::string words;
  for (const std::string& one : parameter.words) words += (words.empty() ? "" : "\\|") + one;
  if (!words.empty()) return words;
  if (parameter.name.starts_with("goal")) return "GOAL";
  return parameter.name == "depends_on" ? "TASK" : parameter.name == "needed_context_refs" ? "REF" : "TEXT";
}

std::string Usage(const project::Operation& operation) {
  std::string places, needed, optional;
  for (const project::Parameter& one : operation.parameters) {
    if (one.flag.empty() || one.flag == "--at") continue;
    if (!one.flag.starts_with("--")) {
      places += " " + one.flag;
      continue;
    }
    const std::string text = one.flag + (one.form == project::Form::kFlag ? "" : " " + Placeholder(one));
    const bool again = one.form == project::Form::kTexts || one.form == project::Form::kObjects;
    (one.required ? needed : optional) += " " + (one.required ? text : "[" + text + "]") + (again ? "..." : "");
  }
  if (operation.name == "show_project") places += " [NAME]";
  return "airun " + operation.words + places + needed + optional + (operation.Find("at_seq") != nullptr ? " [--at EVENT\\|TIME]" : "");
}

std::string ProjectTable() {
  std::string table = "| command | |\n|---|---|\n";
  for (const project::Operation& one : project::Operations()) {
    std::string summary = one.summary;
    summary[0] = char(std::toupper(static_cast<unsigned char>(summary[0])));
    table += "| `" + Usage(one) + "` | " + summary + " |\n";
  }
  return table;
}

// The commands of projects are the table of operations written out; ACL_UPDATE_DOCS=1 rewrites them.
TEST(CliDocs, TheCommandsOfProjectsAreTheTable) {
  const std::string path = std::string(ACL_SOURCE_DIR) + "/docs/reference/cli.md", begin = "<!-- made of the table of operations -->\n",
                    end = "<!-- end -->\n";
  auto page = ReadFile(path, 1 << 20);
  ASSERT_TRUE(page.ok()) << page.error();
  const std::size_t from = page->find(begin), to = page->find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos && from < to) << "docs/reference/cli.md has no place for them";
  const std::string want = page->substr(0, from) + begin + ProjectTable() + page->substr(to);
  if (std::getenv("ACL_UPDATE_DOCS") != nullptr) {
    std::ofstream(path) << want;
  } else {
    EXPECT_EQ(*page, want) << "run the test with ACL_UPDATE_DOCS=1 and commit docs/reference/cli.md";
  }
}

}  // namespace
}  // namespace acl::cli::test
