// The language of `when`, `if` and `foreach`.

#include "shared/definition/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/random.h"
#include "shared/base/utf8.h"

namespace acl {
namespace {

using testing::HasSubstr;

const Json& Things() {
  static const Json things = *ParseJson(R"({"n": 5, "big": 9223372036854775807, "half": 2.5, "name": "Ann", "yes": true, "nothing": null,
    "list": [1, "two", 3.0, [4]], "order": {"total": 250, "lines": [{"a": 1}], "country": "DE"}, "empty": [], "with-dash": 1})");
  return things;
}

Result<Json> Asked(const std::string& text) {
  auto parsed = ParseExpression(text);
  if (!parsed) return parsed.error();
  return Evaluate(*parsed, [](std::string_view name) -> const Json* {
    const auto it = Things().find(std::string(name));
    return it == Things().end() ? nullptr : &*it;
  });
}

TEST(Expressions, ComeTo) {
  const std::pair<const char*, const char*> cases[] = {
      {"1", "1"},
      {"-3", "-3"},
      {"2.5e3", "2500.0"},
      {"'it\\'s'", "\"it's\""},
      {"\"a\\nb\"", "\"a\\nb\""},
      {"[1, 'x', n]", "[1,\"x\",5]"},
      {"[]", "[]"},
      {"null", "null"},
      {"n", "5"},
      {"order.total", "250"},
      {"{{ order.total }}", "250"},
      {"{{order.total}} > 100 and {{name}} == 'Ann'", "true"},
      {"with-dash", "1"},
      {"n + 1 * 2", "7"},
      {"(n + 1) * 2", "12"},
      {"n - 1", "4"},
      {"-n", "-5"},
      {"- (n)", "-5"},
      {"7 / 2", "3.5"},
      {"6 / 2", "3"},
      {"7 % 3", "1"},
      {"-7 % 3", "-1"},
      {"0.5 + n", "5.5"},
      {"n == 5.0", "true"},
      {"big == 9223372036854775807", "true"},
      {"big < 9223372036854775808.0", "true"},
      {"big + 1", "9223372036854775808"},
      {"9223372036854775808 == 9223372036854775809", "false"},
      {"9223372036854775809 in [9223372036854775808]", "false"},
      {"9223372036854775808 < 9223372036854775809", "true"},
      {"18446744073709551615 - 1", "18446744073709551614"},
      {"18446744073709551615 % 2", "1"},
      {"18446744073709551615 < 18446744073709551616.0", "true"},
      {"-9223372036854775808 % -1", "0"},
      {"-9223372036854775808 / -1", "9223372036854775808"},
      {"1 - 2 - 3", "-4"},
      {"1 - (2 - 3)", "2"},
      {"12 / 2 / 3", "2"},
      {"n != 'x'", "true"},
      {"1 == '1'", "false"},
      {"true == 1", "false"},
      {"nothing == null", "true"},
      {"n == null", "false"},
      {"'a' < 'b'", "true"},
      {"'Z' < 'a'", "true"},
      {"2 <= 2 and 3 >= 2", "true"},
      {"not yes or yes", "true"},
      {"not (yes or yes)", "false"},
      {"!yes || n > 4 && n < 6", "true"},
      {"false and nobody.there", "false"},
      {"yes or nobody.there", "true"},
      {"3 in list", "true"},
      {"'two' in list", "true"},
      {"[4] in list", "true"},
      {"9 not in list", "true"},
      {"'total' in order", "true"},
      {"'nn' in name", "true"},
      {"exists(order.total)", "true"},
      {"exists(order.nope)", "false"},
      {"exists(nothing)", "false"},
      {"exists(nobody)", "false"},
      {"length(list) == 4", "true"},
      {"length(name) + length(order)", "6"},
      {"name | upper", "\"ANN\""},
      {"nobody | default(3) > 2", "true"},
      {"list | length > 3", "true"},
      {"(name | lower) in ['ann', 'bob']", "true"},
      {"order.lines | first", "{\"a\":1}"},
      {"order == order", "true"},
      {"[1, 2.0] == [1.0, 2]", "true"},
      {"empty == []", "true"},
  };
  for (const auto& [text, wanted] : cases) {
    auto value = Asked(text);
    ASSERT_TRUE(value.ok()) << text << ": " << value.message();
    EXPECT_EQ(DumpJson(*value), wanted) << text;
    auto again = Asked(ParseExpression(text)->Canonical());
    ASSERT_TRUE(again.ok()) << ParseExpression(text)->Canonical() << ": " << again.message();
    EXPECT_EQ(*again, *value) << ParseExpression(text)->Canonical();
  }
}

TEST(Expressions, MistakesSayWhereAndWhat) {
  struct Case {
    const char* text;
    std::size_t offset;
    const char* what;
  };
  for (const Case& one : std::vector<Case>{{"", 0, "a value must follow"},
                                           {"n = 5", 2, "did you mean '=='"},
                                           {"n & yes", 2, "did you mean 'and'"},
                                           {"n == 'x", 5, "is not closed"},
                                           {"(n == 1", 0, "is not closed"},
                                           {"{{n == 1", 0, "are not closed"},
                                           {"[1, 2", 0, "is not closed"},
                                           {"n == ", 5, "a value must follow"},
                                           {"and n", 0, "stands between two values"},
                                           {"n n", 2, "an operator is missing"},
                                           {"list[0]", 4, "first and last"},
                                           {"lenght(n)", 0, "did you mean 'length'"},
                                           {"upper(n)", 0, "it is a filter: x | upper"},
                                           {"n | uper", 4, "did you mean 'upper'"},
                                           {"n | default", 2, "needs the value"},
                                           {"exists(1)", 7, "takes one reference"},
                                           {"exists(n", 0, "is not closed"},
                                           {"1 < 2 < 3", 6, "do not go in a chain"},
                                           {"1 < 'a'", 2, "two numbers or two texts"},
                                           {"'a' + 1", 4, "two numbers"},
                                           {"1 and true", 2, "true or false on both sides"},
                                           {"not 1", 0, "'not' needs true or false"},
                                           {"- 'a'", 0, "'-' needs a number"},
                                           {"length(5)", 0, "length() needs a text"},
                                           {"length(true) > 1", 0, "this is true or false"},
                                           {"1 in 2", 2, "a list on the right"},
                                           {"12x", 0, "is no number"},
                                           {"a..b", 0, "is no reference"},
                                           {"n ? 1", 2, "cannot stand here"}}) {
    ExpressionMistake mistake;
    EXPECT_FALSE(ParseExpression(one.text, &mistake)) << one.text;
    EXPECT_EQ(mistake.offset, one.offset) << one.text << ": " << mistake.what;
    EXPECT_THAT(mistake.what, HasSubstr(one.what)) << one.text;
  }
}

TEST(Expressions, WhatCannotBeToldSaysWhy) {
  const std::pair<const char*, const char*> cases[] = {
      {"nobody", "nothing answers 'nobody'"},
      {"order.nope > 1", "at character 1: nothing answers 'order.nope'"},
      {"nobody | upper", "nothing answers 'nobody'"},
      {"name < 3", "at character 6: '<' needs two numbers or two texts; these are a text and a number"},
      {"n and yes", "its left side is a number"},
      {"yes and n", "its right side is a number"},
      {"not name", "'not' needs true or false"},
      {"-name", "'-' needs a number"},
      {"n / 0", "a division by zero"},
      {"n % 0", "a division by zero"},
      {"half % 2", "whole numbers"},
      {"18446744073709551615 + 1", "too large"},
      {"-9223372036854775808 - 1", "too large"},
      {"big * big", "too large"},
      {"1e308 * 10", "too large"},
      {"n in name", "a list on the right"},
      {"length(n)", "length() needs"},
      {"n | upper", "needs a text"}};
  for (const auto& [text, what] : cases) {
    auto value = Asked(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_THAT(value.message(), HasSubstr(what)) << text;
  }
  auto condition = EvaluateCondition(*ParseExpression("n"), [](std::string_view) -> const Json* { return &Things()["n"]; });
  ASSERT_FALSE(condition.ok());
  EXPECT_THAT(condition.message(), HasSubstr("it must come to true or false, and comes to a number: 5"));
}

TEST(Expressions, AreBounded) {
  ExpressionMistake mistake;
  EXPECT_FALSE(ParseExpression(std::string(5'000, '1'), &mistake));
  EXPECT_FALSE(ParseExpression(std::string(60, '(') + "1" + std::string(60, ')'), &mistake));
  EXPECT_THAT(mistake.what, HasSubstr("nested"));
  EXPECT_FALSE(ParseExpression(std::string(60, '!') + "yes", &mistake));
  EXPECT_FALSE(ParseExpression("é == 1", &mistake));
  EXPECT_THAT(mistake.what, HasSubstr("'é'"));
  EXPECT_FALSE(ParseExpression("n == '\xff'", &mistake));
  EXPECT_THAT(mistake.what, HasSubstr("UTF-8"));
  std::string row = "1";
  for (int i = 0; i < 100; ++i) row += " + n";
  ASSERT_TRUE(ParseExpression(row, &mistake));
  EXPECT_TRUE(ParseExpression(ParseExpression(row)->Canonical(), &mistake)) << mistake.what;
  std::string many = "1";
  for (int i = 0; i < 600; ++i) many += "+1";
  EXPECT_FALSE(ParseExpression(many, &mistake));
  EXPECT_THAT(mistake.what, HasSubstr("parts"));
  // Much to compare costs no more than it may.
  Json long_list = Json::array();
  for (int i = 0; i < 2'000; ++i) long_list.push_back(Json::array({i, std::string(100, 'x')}));
  const auto scope = [&](std::string_view) -> const Json* { return &long_list; };
  EXPECT_FALSE(EvaluateCondition(*ParseExpression("a == b"), scope, {.max_output_bytes = 1 << 20, .max_work_bytes = 1'000}).ok());
}

TEST(Expressions, SayWhatTheyRefersTo) {
  for (const char* text : {"(n + gone) | default(1)", "(gone | upper) | default(1)"})
    EXPECT_FALSE(ParseExpression(text)->References().back().may_miss) << text;
  const auto references = ParseExpression("exists(a.b) and c.d > 1 and (e | default(1)) == f")->References();
  ASSERT_EQ(references.size(), 4u);
  EXPECT_EQ(references[0].path, "a.b");
  EXPECT_TRUE(references[0].may_miss);
  EXPECT_EQ(references[1].path, "c.d");
  EXPECT_EQ(references[1].offset, 16u);
  EXPECT_FALSE(references[1].may_miss);
  EXPECT_TRUE(references[2].may_miss);
  EXPECT_FALSE(references[3].may_miss);
}

// The one form keeps what a text holds, and needs no more depth than what it was read from.
TEST(Expressions, TheOneFormReadsAsTheSame) {
  const std::string deep_not = [] {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "not ";
    return text + "yes";
  }();
  const std::string deep_minus = std::string(40, '-') + "n";
  std::string ranks = "yes";
  for (int i = 0; i < 20; ++i) ranks = "yes or yes and n == n + n * (" + ranks + ")";
  for (const std::string& text : {std::string("'a\rb\b\f\x01 \\\\ \" \n\t'"), std::string("['\r', ['\x1f']]"),
                                  std::string("nobody | default('\r')"), std::string("- 5"), std::string("--5"), std::string("-(n - 1)"),
                                  std::string("not (n == 5)"), std::string("(not yes) == yes"), std::string("(n | length) | default(1)"),
                                  std::string("-(name | length)"), std::string("(-n) | default(1)"), deep_not, deep_minus, ranks}) {
    ExpressionMistake mistake;
    const auto parsed = ParseExpression(text, &mistake);
    ASSERT_TRUE(parsed) << text << ": " << mistake.what;
    const auto again = ParseExpression(parsed->Canonical(), &mistake);
    ASSERT_TRUE(again) << text << " -> " << parsed->Canonical() << ": " << mistake.what;
    EXPECT_EQ(again->Canonical(), parsed->Canonical());
    const auto one = Asked(text), two = Asked(parsed->Canonical());
    ASSERT_EQ(one.ok(), two.ok()) << text << " -> " << parsed->Canonical();
    if (one.ok()) {
      EXPECT_EQ(*one, *two) << text << " -> " << parsed->Canonical();
    }
  }
  const std::pair<const char*, const char*> forms[] = {{"( (n) )", "n"},
                                                       {"a||b&&!c", "a or b and not c"},
                                                       {"(a or b) and c", "(a or b) and c"},
                                                       {"a-1", "a-1"},
                                                       {"1-(2-3)*4", "1 - (2 - 3) * 4"},
                                                       {"- 5", "- 5"},
                                                       {"not (a not in 'it\\'s')", "not a not in \"it's\""}};
  for (const auto& [text, form] : forms) EXPECT_EQ(ParseExpression(text)->Canonical(), form);
}

// What stands in the state may be far larger than what an expression may make: it is looked at where it stands.
TEST(Expressions, WhatIsLargeIsNotCopied) {
  const Json large = Json::array({std::string(100'000, 'x'), 2});
  const auto scope = [&](std::string_view) -> const Json* { return &large; };
  const TemplateLimits limits{.max_output_bytes = 1'000, .max_work_bytes = 1'000'000};
  const auto taken = Evaluate(*ParseExpression("a"), scope, limits);
  ASSERT_FALSE(taken.ok());
  EXPECT_THAT(taken.message(), HasSubstr("more than 1000 bytes"));
  for (const char* text : {"[a]", "[[a]] == 1", "a | first"}) EXPECT_FALSE(Evaluate(*ParseExpression(text), scope, limits).ok()) << text;
  for (const char* text : {"length(a) == 2", "a == a", "2 in a", "(a | last) == 2", "exists(a)"}) {
    const auto holds = EvaluateCondition(*ParseExpression(text), scope, limits);
    ASSERT_TRUE(holds.ok()) << text << ": " << holds.message();
    EXPECT_TRUE(*holds) << text;
  }
}

// A text that is nearly everywhere in another: naive search compares them for minutes, and a deciding thread must not.
TEST(Expressions, ATextIsSearchedInOneWayThrough) {
  const Json text = std::string(4'000'000, 'a'), what = std::string(1'000'000, 'a') + "b" + std::string(1'000'000, 'a');
  const auto scope = [&](std::string_view name) -> const Json* { return name == "what" ? &what : &text; };
  const auto holds = EvaluateCondition(*ParseExpression("what in text"), scope);
  ASSERT_TRUE(holds.ok()) << holds.message();
  EXPECT_FALSE(*holds);
  EXPECT_TRUE(*EvaluateCondition(*ParseExpression("'' in text and 'aa' in text and 'b' not in text"), scope));
  EXPECT_TRUE(*EvaluateCondition(*ParseExpression("'' in ''"), scope));
}

TEST(Expressions, MessagesHoldWholeCharacters) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "é";
  const Json value = text;
  const auto condition = EvaluateCondition(*ParseExpression("a"), [&](std::string_view) -> const Json* { return &value; });
  ASSERT_FALSE(condition.ok());
  EXPECT_TRUE(IsUtf8(condition.message())) << condition.message();
}

// Whatever is thrown at it: no crash; and what parses reads back as the same from its one form.
TEST(Expressions, AnyTextIsReadOrRefused) {
  const char* parts[] = {"n",         "order.total",
                         "1",         "-2",
                         "2.5",       "'x'",
                         "\"y\"",     "true",
                         "null",      "(",
                         ")",         "[",
                         "]",         ",",
                         "+",         "-",
                         "*",         "/",
                         "%",         "==",
                         "!=",        "<",
                         "<=",        "in",
                         "not",       "and",
                         "or",        "&&",
                         "||",        "!",
                         "| upper",   "| default(1)",
                         "exists(n)", "length(list)",
                         "{{",        "}}",
                         "=",         "&",
                         "list",      " "};
  SeededRandom random(7);
  int read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::uint64_t n = random.Below(9) + 1; n > 0; --n) text += std::string(parts[random.Below(std::size(parts))]) + " ";
    ExpressionMistake mistake;
    const auto parsed = ParseExpression(text, &mistake);
    if (!parsed) {
      ASSERT_LE(mistake.offset, text.size()) << text;
      ASSERT_FALSE(mistake.what.empty()) << text;
      continue;
    }
    ++read;
    const std::string canonical = parsed->Canonical();
    const auto again = ParseExpression(canonical, &mistake);
    ASSERT_TRUE(again) << text << " -> " << canonical << ": " << mistake.what;
    ASSERT_EQ(again->Canonical(), canonical) << text;
    const auto one = Asked(text), two = Asked(canonical);
    ASSERT_EQ(one.ok(), two.ok()) << text << " -> " << canonical;
    if (one.ok()) {
      ASSERT_EQ(*one, *two) << text << " -> " << canonical;
    }
  }
  EXPECT_GT(read, 500);
}

}  // namespace
}  // namespace acl
