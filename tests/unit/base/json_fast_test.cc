// The short cut gives what the strict parser gives, or nothing. What that gives is nlohmann's reading; what it refuses is in json_test.cc.
#include "shared/base/json_fast.h"

#include <gtest/gtest.h>

#include <random>

namespace acl {
namespace {

bool SameTypes(const Json& a, const Json& b) {
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (!a.is_structured()) return a == b && DumpJson(a) == DumpJson(b);
  for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y) {
    if (a.is_object() && x.key() != y.key()) return false;
    if (!SameTypes(*x, *y)) return false;
  }
  return true;
}

TEST(ParseJsonFast, GivesTheSameValueOfTheSameTypes) {
  const char* const texts[] = {
      "1",
      "0",
      "-1",
      " [ ] ",
      "{}",
      "true",
      "null",
      "\"\"",
      R"("a\n\t\"\\\/\b\f\r")",
      "\"\xc3\xa4\xf0\x9f\x98\x80\"",
      "9223372036854775807",
      "9223372036854775808",
      "18446744073709551615",
      "-9223372036854775808",
      "[0.0,-0.0,1.0,1e0,1E+2,5e-324,1.7976931348623157e308,0.1,2.2250738585072011e-308,123456789012345678901234567890.0]",
      R"({"z":1,"a":[1.5,-2,{"n":[[],{}]}],"":{"k":0},"day":"2026-01-05"})",
      R"({"run":"01a20761-0a4a","n":0,"m":12})"};
  for (const char* text : texts) {
    const auto fast = ParseJsonFast(text, 64);
    ASSERT_TRUE(fast) << text;
    EXPECT_TRUE(SameTypes(*fast, Json::parse(text))) << text << " was read as " << DumpJson(*fast);
  }
}

TEST(ParseJsonFast, LeavesTheRestToTheStrictParser) {
  for (const char* text : {"",      " ",           "nix",         "[1] 2",       "[1,]",     "{\"a\":1,\"a\":2}",    "-0",
                           "[-0]",  "[0, -0]",     "{\"a\":-0}",  "01",          "1.",       "18446744073709551616", "-9223372036854775809",
                           "1e999", "\"\\u00e4\"", "\"\\udc00\"", "\"\\ud800\"", "\"\x80\"", "\"\xed\xa0\x80\"",     "\"a\nb\"",
                           "[NaN]", "\"unended",   "{\"a\"}",     "// 1",        "\"\\x\""}) {
    EXPECT_FALSE(ParseJsonFast(text, 64)) << text;
  }
  std::string wide = "{";
  for (int i = 0; i < 100; ++i) wide += "\"k" + std::to_string(i) + "\":1,";
  EXPECT_TRUE(ParseJsonFast(wide + "\"k\":1}", 64));
  EXPECT_FALSE(ParseJsonFast(wide + "\"k57\":1}", 64)) << "twice, in a large object";
}

TEST(ParseJsonFast, HoldsToTheDepth) {
  EXPECT_TRUE(ParseJsonFast("[[[1]]]", 3));
  EXPECT_FALSE(ParseJsonFast("[[[1]]]", 2));
  EXPECT_FALSE(ParseJsonFast(R"({"a":{"b":{}}})", 2));
  EXPECT_FALSE(ParseJsonFast(std::string(2'000, '[') + std::string(2'000, ']'), 64));
}

TEST(ParseJsonFast, ReadsTextsLargerThanItKeepsRoomFor) {
  for (const std::size_t size : {std::size_t(200'000), std::size_t(300'000), std::size_t(3'000'000), std::size_t(10)}) {
    const std::string text = "[\"" + std::string(size, 'x') + "\",1]";
    const auto value = ParseJsonFast(text, 64);
    ASSERT_TRUE(value);
    EXPECT_EQ((*value)[0].get_ref<const std::string&>().size(), size);
  }
}

// Texts with a byte changed: whatever the short cut takes, the strict parser takes and reads the same.
TEST(ParseJsonFast, NeverTakesWhatIsRefused) {
  const std::string good = R"({"at":"2026-11-23T07:49:18Z","n":[1,-2,3.5e1,0,true,false,null],"o":{"a":{},"b":[{}]},"t":"\n x"})";
  std::mt19937_64 random(7);
  int taken = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text = good;
    for (int changes = 1 + int(random() % 3); changes > 0; --changes) {
      const char alphabet[] = "{}[]\",:\\-+.0123456789eEtrufalsn \t\n\x80\xc3";
      text[random() % text.size()] = alphabet[random() % (sizeof alphabet - 1)];
    }
    const auto fast = ParseJsonFast(text, 64);
    if (!fast) continue;
    ++taken;
    const Json strict = Json::parse(text, nullptr, false);
    ASSERT_TRUE(SameTypes(*fast, strict)) << text;
  }
  EXPECT_GT(taken, 1'000);
}

}  // namespace
}  // namespace acl
