#include "shared/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <random>

#include "shared/base/json_object.h"

namespace acl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Refusal(std::string_view text, const JsonLimits& limits = {}) {
  auto parsed = ParseJson(text, limits);
  if (parsed.ok()) return "accepted as " + DumpJson(*parsed);
  EXPECT_EQ(parsed.code(), Code::kInvalid);
  return parsed.message();
}

TEST(ParseJson, KeepsKeyOrderAndKindOfNumber) {
  const std::string text = R"({"z":1,"a":[1.5,-2,18446744073709551615,true,null,""],"m":{"ü":"\u00e4\ud83d\ude00"}})";
  auto parsed = ParseJson(text);
  ASSERT_TRUE(parsed.ok()) << parsed.message();
  EXPECT_EQ(DumpJson(*parsed), "{\"z\":1,\"a\":[1.5,-2,18446744073709551615,true,null,\"\"],\"m\":{\"ü\":\"ä\xf0\x9f\x98\x80\"}}");
  EXPECT_TRUE((*parsed)["a"][0].is_number_float());
  EXPECT_TRUE((*parsed)["a"][1].is_number_integer());
  EXPECT_EQ((*parsed)["a"][2].get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
}

TEST(ParseJson, AcceptsAnyTopLevelValue) {
  for (const char* text : {"1", "-9223372036854775808", "\"x\"", "null", "true", " [ ] ", "{}", "1e308", "0.1"}) {
    EXPECT_TRUE(ParseJson(text).ok()) << text;
  }
}

TEST(ParseJson, SaysWhereAndWhat) {
  EXPECT_EQ(Refusal("{\"a\":1,\n \"b\":2, \"a\":3}"),
            "not valid JSON: line 2, column 9: the key \"a\" stands twice in the same object; remove one");
  EXPECT_EQ(Refusal("[1,\n 18446744073709551616]"),
            "not valid JSON: line 2, column 2: the integer \"18446744073709551616\" does not fit into 64 bits; write it as a string");
  EXPECT_THAT(Refusal("[-9223372036854775809]"), HasSubstr("line 1, column 2: the integer \"-9223372036854775809\""));
  EXPECT_EQ(Refusal(R"({"k": "x\u0000"})"),
            "not valid JSON: line 1, column 7: the string holds \\u0000 (NUL), which cannot be stored; remove it");
  EXPECT_THAT(Refusal(R"({"k\u0000": 1})"), HasSubstr("line 1, column 2: the key holds \\u0000 (NUL)"));
  EXPECT_THAT(Refusal("[1e999]"), HasSubstr("line 1, column 2: the number is too large"));
  EXPECT_THAT(Refusal("[1] 2"), HasSubstr("line 1, column 5: "));
  EXPECT_THAT(Refusal("{\"ää\": nix}"), HasSubstr("line 1, column 9: "));  // columns count characters, not bytes
  EXPECT_THAT(Refusal("[1, 2"), HasSubstr("line 1, column 6: "));
  EXPECT_THAT(Refusal(""), HasSubstr("line 1, column 1: "));
}

TEST(ParseJson, RefusesWhatIsNotStrictJson) {
  for (const char* text : {"NaN",
                           "[Infinity]",
                           "[-Infinity]",
                           "[01]",
                           "[1.]",
                           "[.5]",
                           "[+1]",
                           "{'a':1}",
                           "[1,]",
                           "{\"a\":1,}",
                           "// c\n1",
                           "[1 2]",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "\"a\nb\"",
                           "\"\\x\"",
                           "\xef\xbb\xbf{}",
                           "\"\xc3\"",
                           "\"\xed\xa0\x80\"",
                           "\"\xc0\x80\"",
                           "\"\xf5\x80\x80\x80\"",
                           "{\"a\"}",
                           "nul",
                           "[",
                           "]"}) {
    auto parsed = ParseJson(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(parsed.message(), HasSubstr("line 1, column ")) << text;
    EXPECT_TRUE(CheckStorable(Json(parsed.message())).ok()) << "a message must be valid UTF-8";
  }
}

// The parser underneath quotes what it read last, cut after the byte that was wrong: anywhere in a character.
TEST(ParseJson, AMessageQuotesNothingThatIsNotText) {
  EXPECT_EQ(Refusal("[1e\xc3\xa9]"),
            "not valid JSON: line 1, column 4: while parsing value - invalid number; expected '+', '-', or digit after exponent");
  EXPECT_EQ(Refusal("[-\xff]"), "not valid JSON: line 1, column 3: while parsing value - invalid number; expected digit after '-'");
  EXPECT_THAT(Refusal("[\"; expected \xff\"]"), Not(HasSubstr("; expected \xff")));
  EXPECT_THAT(Refusal("{\"a\":1,\x01"), HasSubstr("; expected string literal"));
}

// The parser underneath ends at a NUL: what stood behind it was neither read nor refused (JSONTestSuite, n_multidigit_number_then_00).
TEST(ParseJson, RefusesANulByteAndWhatStandsBehindIt) {
  using std::literals::operator""sv;
  EXPECT_THAT(Refusal("123\0"sv), HasSubstr("line 1, column 4: a NUL byte"));
  EXPECT_THAT(Refusal("{\"a\":1}\0{\"a\":2}"sv), HasSubstr("line 1, column 8: a NUL byte"));
  EXPECT_THAT(Refusal("\0"sv), HasSubstr("line 1, column 1: a NUL byte"));
  EXPECT_THAT(Refusal("[\"x\0\"]"sv), HasSubstr("line 1, column 4: a NUL byte"));
}

TEST(ParseJson, RefusesDepthAndSizeOverTheLimit) {
  EXPECT_TRUE(ParseJson(std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_THAT(Refusal(std::string(65, '[') + std::string(65, ']')), HasSubstr("column 65: nested deeper than 64 levels"));
  EXPECT_THAT(Refusal(std::string(5'000'000, '[')), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(Refusal("[1,2,3]", {.max_bytes = 6}), HasSubstr("7 bytes are more than the 6 allowed"));
}

TEST(ParseJson, FindsDuplicatesInLargeObjectsToo) {
  std::string text = "{";
  for (int i = 0; i < 50'000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(ParseJson(text + "\"last\":0}").ok());
  for (const char* key : {"k3", "k15", "k16", "k17", "k49999"}) {
    EXPECT_THAT(Refusal(text + "\"" + key + "\":0}"), HasSubstr("stands twice"));
  }
}

TEST(ParseJson, CutsLongTokensInMessages) {
  std::string key(100'000, 'k');
  EXPECT_LT(Refusal("{\"" + key + "\":1,\"" + key + "\":2}").size(), 250u);
  EXPECT_LT(Refusal("[\"" + key + "\xff\"]").size(), 250u);
}

// Text is looked through eight bytes at a time: what must be escaped is seen wherever it stands, and beside bytes of every value.
TEST(DumpJson, EscapesWhereverItStands) {
  const auto one_by_one = [](const std::string& text) {
    std::string out = "\"";
    for (char c : text) {
      const std::string one = c == '"' ? "\\\"" : c == '\\' ? "\\\\" : c == '\n' ? "\\n" : c == '\x1f' ? "\\u001f" : std::string(1, c);
      out += one;
    }
    return out + "\"";
  };
  for (const std::string beside : {"a", "!", "#", "[", "]", "\x7f", " ", "\xc3\xa9"}) {
    for (const char c : {'"', '\\', '\n', '\x1f', '!', '\x7f'}) {
      for (std::size_t before = 0; before < 20; ++before) {
        std::string text;
        for (std::size_t i = 0; i < before; ++i) text += beside;
        text += c;
        for (std::size_t i = 0; i < 11; ++i) text += beside;
        ASSERT_EQ(DumpJson(Json(text)), one_by_one(text));
      }
    }
  }
}

// Of any value, in characters that are escaped and bytes that are replaced too.
TEST(DumpJson, ItsLengthIsKnownWithoutMakingIt) {
  std::mt19937 random(7);
  const auto text = [&] {
    static const std::vector<std::string> kPieces = {"a", "\"", "\\", "\n", "\x01", "\x7f", "\xff", "\xc3\xa9", "\xf0\x9f\x98\x80", "\xc3"};
    std::string out;
    for (unsigned n = random() % 12; n > 0; --n) out += kPieces[random() % kPieces.size()];
    return out;
  };
  const std::function<Json(int)> value = [&](int depth) -> Json {
    switch (random() % (depth > 0 ? 8 : 6)) {
      case 0: return nullptr;
      case 1: return random() % 2 == 0;
      case 2: return std::int64_t(random()) * (random() % 2 == 0 ? 1 : -1);
      case 3: return std::uint64_t(random()) << (random() % 33);
      case 4: return double(random()) / (1 + random() % 1000) * (random() % 2 == 0 ? 1e-9 : 1e12);
      case 5: return text();
      case 6: {
        Json list = Json::array();
        for (unsigned n = random() % 4; n > 0; --n) list.push_back(value(depth - 1));
        return list;
      }
      default: {
        Json map = Json::object();
        for (unsigned n = random() % 4; n > 0; --n) map[text()] = value(depth - 1);
        return map;
      }
    }
  };
  for (int i = 0; i < 2'000; ++i) {
    const Json one = value(4);
    ASSERT_EQ(DumpedBytes(one), DumpJson(one).size()) << DumpJson(one);
  }
}

// Two characters of text take fifty bytes of memory: the number of values is bounded, and counted before anything is made of them.
TEST(ParseJson, ManyValuesAreRefusedBeforeTheyAreMade) {
  const auto list = [](int values, const std::string& each) {
    std::string text = "[" + each;
    for (int i = 1; i < values; ++i) text += "," + each;
    return text + "]";
  };
  EXPECT_THAT(Refusal(list(5'600'000, "[]")), HasSubstr("more than 1000000 values"));
  EXPECT_THAT(Refusal(list(1'000'000, "1")), HasSubstr("line 1, column"));
  EXPECT_TRUE(ParseJson(list(999'999, "1")).ok()) << "with the list itself";
  EXPECT_TRUE(ParseJson(list(1'000'000, "1"), {.max_values = kAnyNumberOfValues}).ok());
  EXPECT_TRUE(ParseJson("[\"" + std::string(3'000'000, ',') + "\\\"[{,\"]").ok()) << "commas of a text are no values";
  EXPECT_TRUE(ParseJson("[" + list(9, "1") + "]", {.max_values = 11}).ok());
  EXPECT_FALSE(ParseJson("[" + list(10, "1") + "]", {.max_values = 11}).ok());
  EXPECT_FALSE(ParseJson(R"({"a":{"b":1},"c":[2,3]})", {.max_values = 5}).ok());
  EXPECT_TRUE(ParseJson(R"({"a":{"b":1},"c":[2,3]})", {.max_values = 6}).ok());
  EXPECT_TRUE(ParseJson("[[],{},[ ],\"[\"]", {.max_values = 5}).ok()) << "what is empty is one value";
  EXPECT_FALSE(ParseJson("[[],{},[ ],\"[\"]", {.max_values = 4}).ok());
}

TEST(CheckStorable, ManyValuesAreRefused) {
  const Json list = Json(std::vector<int>(10, 1));
  EXPECT_TRUE(CheckStorable(list, {.max_values = 11}).ok());
  EXPECT_THAT(CheckStorable(list, {.max_values = 10}).message(), HasSubstr("more than 10 values"));
}

TEST(DumpJson, NeverThrowsOnBadBytes) { EXPECT_EQ(DumpJson(Json("a\xff")), "\"a\xef\xbf\xbd\""); }

TEST(CheckStorable, SaysThePlace) {
  EXPECT_TRUE(CheckStorable(Json{{"a", {1, "ü", nullptr, 1.5}}}).ok());
  auto message = [](const Json& value) { return CheckStorable(value).message(); };
  EXPECT_THAT(message(Json{{"a", Json::array({1, "x\xff"})}}), HasSubstr("at \"/a/1\": the string is not valid UTF-8 (byte 1)"));
  EXPECT_THAT(message(Json{{"a", std::string("x\0y", 3)}}), HasSubstr("at \"/a\": the string holds NUL"));
  EXPECT_THAT(message(Json{{std::string("\0", 1), 1}}), HasSubstr("at the top: a key holds NUL"));
  EXPECT_THAT(message(Json{{"a", std::numeric_limits<double>::infinity()}}), HasSubstr("not finite"));
  EXPECT_THAT(message(Json::array({std::numeric_limits<double>::quiet_NaN()})), HasSubstr("not finite"));
  EXPECT_THAT(message(Json::binary({1, 2})), HasSubstr("not JSON"));
  Json deep = 1;
  for (int i = 0; i < 64; ++i) deep = Json::array({deep});
  EXPECT_TRUE(CheckStorable(deep).ok());
  EXPECT_THAT(message(Json::array({deep})), HasSubstr("deeper than 64"));
  EXPECT_FALSE(CheckStorable(Json("abcdef"), {.max_bytes = 3}).ok() && CheckStorable(Json{{"a", "abcdef"}}, {.max_bytes = 3}).ok());
  for (const char* bad : {"\xed\xa0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\x80", "\xe2\x82"}) {
    EXPECT_FALSE(CheckStorable(Json(bad)).ok()) << bad;
  }
}

TEST(KeyedObject, KeepsTheOrderAndTheLastValueOfAKey) {
  for (const int many : {3, 15, 16, 17, 100}) {
    KeyedObject made;
    Json want = Json::object();
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < many; ++i) {
        made.Put("k" + std::to_string(i * 7 % many), i + round);
        want["k" + std::to_string(i * 7 % many)] = i + round;
      }
    }
    EXPECT_EQ(std::move(made).Take(), want) << many;
  }
  KeyedObject begun(Json{{"a", 1}, {"b", 2}}.get_ref<Json::object_t&>());
  begun.Put("b", 3);
  EXPECT_EQ(DumpJson(std::move(begun).Take()), R"({"a":1,"b":3})");
}

TEST(KeyedObject, VeryManyKeysAreNotComparedWithOneAnother) {
  KeyedObject made;
  for (int i = 0; i < 200'000; ++i) made.Put(std::to_string(i), i);
  const Json object = std::move(made).Take();
  const MembersByKey members(object);
  ASSERT_NE(members.Find("199999"), nullptr);
  EXPECT_EQ(*members.Find("199999"), 199'999);
  EXPECT_EQ(members.Find("x"), nullptr);
  EXPECT_EQ(MembersByKey(Json(1)).Find("x"), nullptr);
}

TEST(CountJsonValues, CountsWhatAParserMakes) {
  for (const char* text : {"1", "[]", "[1]", "[1,2]", R"({"a":1,"b":[{},[]]})", R"(["a,b[",{"c\",\"":1}])"}) {
    std::size_t values = 0;
    const std::function<void(const Json&)> count = [&](const Json& value) {
      ++values;
      if (value.is_structured()) std::for_each(value.begin(), value.end(), count);
    };
    count(Json::parse(text));
    EXPECT_GE(CountJsonValues(text), values) << text;
    EXPECT_LE(CountJsonValues(text), 2 * values + 1) << text;
  }
}

}  // namespace
}  // namespace acl
