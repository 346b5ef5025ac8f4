#include "shared/base/foreign_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace acl {
namespace {

std::string Read(std::string_view text) {
  auto parsed = ParseForeignJson(text);
  return parsed ? DumpJson(*parsed) : parsed.message();
}

TEST(ForeignJson, WhatOthersWriteIsReadByAStatedRule) {
  EXPECT_EQ(Read(R"({"id":12345678901234567890123,"n":18446744073709551615,"m":-9223372036854775809,"f":1.5})"),
            R"({"id":"12345678901234567890123","n":18446744073709551615,"m":"-9223372036854775809","f":1.5})");
  EXPECT_EQ(Read(R"({"a":1,"b":2,"a":{"x":1,"x":[2]},"c":3,"b":4})"), R"({"a":{"x":[2]},"b":4,"c":3})");
  EXPECT_EQ(Read("{\"a\\u0000b\":\"c\\u0000\"}"),
            "{\"a\xef\xbf\xbd"
            "b\":\"c\xef\xbf\xbd\"}");
  // Objects of many keys, which are looked up another way: the last value at the place of the first.
  std::string many = "{", want = "{";
  for (int i = 0; i < 100; ++i) {
    many += "\"k" + std::to_string(i) + "\":0,";
    want += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":" + (i == 7 || i == 40 ? "[1]" : "0");
  }
  EXPECT_EQ(Read(many + R"("k40":5,"k7":[1],"k40":[1]})"), want + "}");
}

TEST(ForeignJson, EverythingElseIsAsStrictAsElsewhere) {
  for (const char* text : {"", "{oops", "{\"a\":1,}", "[1] 2", "NaN", "1e400", "\"\\ud800\"", "{'a':1}"}) {
    EXPECT_FALSE(ParseForeignJson(text)) << text;
    EXPECT_EQ(Read(text), ParseJson(text).message()) << text;
  }
  EXPECT_FALSE(ParseForeignJson("[[[1]]]", {.max_depth = 2}));
  for (const char* text : {"1", "\"x\"", "null", R"({"z":1,"a":[1.5,-2,true]})"}) EXPECT_EQ(Read(text), text);
  // And what is refused elsewhere stays so.
  for (const char* text : {"{\"a\":1,\"a\":2}", "18446744073709551616", "\"\\u0000\""}) EXPECT_FALSE(ParseJson(text)) << text;
}

}  // namespace
}  // namespace acl
