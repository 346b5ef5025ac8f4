// Every operator with every pair of types, and the examples of the guide.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <map>
#include <sstream>

#include "shared/definition/expression.h"

namespace acl {
namespace {

Result<Json> AskedOf(const Json& state, const std::string& text) {
  auto parsed = ParseExpression(text);
  if (!parsed) return parsed.error();
  return Evaluate(*parsed, [&](std::string_view name) -> const Json* {
    const auto it = state.find(std::string(name));
    return it == state.end() ? nullptr : &*it;
  });
}

// One row for each type on the left, one letter for each on the right: T true, F false, V another value, - an error.
// The types: null, boolean, number, text, list, map.
TEST(ExpressionTypes, EveryOperatorWithEveryPair) {
  const Json state = *ParseJson(R"({"a": null, "b": true, "c": 2, "d": "b", "e": [2, "b"], "f": {"b": 1}})");
  const std::map<std::string, std::array<const char*, 6>> tables = {
      {"==", {"TFFFFF", "FTFFFF", "FFTFFF", "FFFTFF", "FFFFTF", "FFFFFT"}},
      {"!=", {"FTTTTT", "TFTTTT", "TTFTTT", "TTTFTT", "TTTTFT", "TTTTTF"}},
      {"<", {"------", "------", "--F---", "---F--", "------", "------"}},
      {">", {"------", "------", "--F---", "---F--", "------", "------"}},
      {"<=", {"------", "------", "--T---", "---T--", "------", "------"}},
      {">=", {"------", "------", "--T---", "---T--", "------", "------"}},
      {"in", {"----F-", "----F-", "----T-", "---TTT", "----F-", "----F-"}},
      {"not in", {"----T-", "----T-", "----F-", "---FFF", "----T-", "----T-"}},
      {"and", {"------", "-T----", "------", "------", "------", "------"}},
      {"or", {"------", "TTTTTT", "------", "------", "------", "------"}},  // the right side is not looked at
      {"+", {"------", "------", "--V---", "------", "------", "------"}},
      {"-", {"------", "------", "--V---", "------", "------", "------"}},
      {"*", {"------", "------", "--V---", "------", "------", "------"}},
      {"/", {"------", "------", "--V---", "------", "------", "------"}},
      {"%", {"------", "------", "--V---", "------", "------", "------"}},
  };
  for (const auto& [op, rows] : tables) {
    for (std::size_t left = 0; left < 6; ++left) {
      for (std::size_t right = 0; right < 6; ++right) {
        const std::string text = std::string(1, char('a' + left)) + " " + op + " " + char('a' + right);
        const auto value = AskedOf(state, text);
        const char came = !value ? '-' : !value->is_boolean() ? 'V' : value->get<bool>() ? 'T' : 'F';
        EXPECT_EQ(came, rows[left][right]) << text << " of " << state[std::string(1, char('a' + left))] << " and "
                                           << state[std::string(1, char('a' + right))] << ": " << (value ? value->dump() : value.message());
        if (!value) {
          EXPECT_THAT(value.message(), testing::HasSubstr("at character 3: '" + op + "' needs"));
        }
      }
    }
  }
}

// The same words of literals are refused at load, before anything runs.
TEST(ExpressionTypes, LiteralsAreCheckedWhenTheyAreRead) {
  const char* literals[] = {"null", "true", "2", "'b'", "[2]"};
  for (const char* op : {"==", "!=", "<", ">", "<=", ">=", "in", "not in", "+", "-", "*", "/", "%"}) {
    for (const char* left : literals) {
      for (const char* right : literals) {
        const std::string text = std::string(left) + " " + op + " " + right;
        ExpressionMistake mistake;
        const auto parsed = ParseExpression(text, &mistake);
        const Json state = {{"l", AskedOf({}, left).value()}, {"r", AskedOf({}, right).value()}};
        EXPECT_EQ(parsed.has_value(), AskedOf(state, std::string("l ") + op + " r").ok()) << text;
        if (!parsed) {
          EXPECT_EQ(mistake.offset, std::string(left).size() + 1) << text;
        }
      }
    }
  }
}

// docs/guides/workflows.md, "Expressions": the rows of its table of examples, of the state that stands above it.
TEST(ExpressionTypes, TheGuidesExamplesComeToWhatItSays) {
  std::ifstream file(ACL_SOURCE_DIR "/docs/guides/workflows.md");
  std::stringstream read;
  read << file.rdbuf();
  const std::string guide = read.str();
  const auto section = guide.find("### Expressions\n"), end = guide.find("\n### ", section + 1);
  ASSERT_NE(section, std::string::npos);
  const auto json = guide.find("```json\n", section) + 8;
  ASSERT_LT(json, end);
  const auto state = ParseJson(guide.substr(json, guide.find("```", json) - json));
  ASSERT_TRUE(state.ok()) << state.message();
  std::istringstream lines(guide.substr(guide.find("| expression | comes to |", json), end - json));
  int examples = 0;
  for (std::string line; std::getline(lines, line) && line.starts_with("|");) {
    for (std::size_t at = 0; (at = line.find("\\|", at)) != std::string::npos;) line.erase(at, 1);
    const auto first = line.find('`'), last = line.rfind("` | ");
    if (first == std::string::npos) continue;  // the head
    const std::string text = line.substr(first + 1, last - first - 1), wanted = line.substr(last + 4, line.size() - last - 6);
    const auto value = AskedOf(*state, text);
    ++examples;
    if (wanted.starts_with("an error: ")) {
      ASSERT_FALSE(value.ok()) << text;
      EXPECT_THAT(value.message(), testing::HasSubstr(wanted.substr(10)));
    } else {
      ASSERT_TRUE(value.ok()) << text << ": " << value.message();
      EXPECT_EQ("`" + DumpJson(*value) + "`", wanted) << text;
    }
  }
  EXPECT_GE(examples, 12);
}

}  // namespace
}  // namespace acl
