#include "shared/base/canonical_json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>

#include "shared/base/sha256.h"

namespace acl {
namespace {

Json Cases() {
  std::ifstream file(ACL_SOURCE_DIR "/tests/data/jcs_cases.json");
  std::stringstream text;
  text << file.rdbuf();
  auto parsed = ParseJson(text.str());
  EXPECT_TRUE(parsed.ok()) << parsed.message();
  return parsed.ok() ? *parsed : Json::object();
}

TEST(CanonicalJson, TextVectors) {
  const Json cases = Cases()["texts"];
  ASSERT_GE(cases.size(), 13u);
  for (const Json& one : cases) {
    auto value = ParseJson(one["in"].get<std::string>());
    ASSERT_TRUE(value.ok()) << one["name"] << ": " << value.message();
    EXPECT_EQ(CanonicalJson(*value), one["out"].get<std::string>()) << one["name"];
    EXPECT_EQ(CanonicalHash(*value), Sha256(one["out"].get<std::string>()));
    // Integers beyond 64 bits are canonical text of a double, but not what our strict parser takes for one.
    if (one["name"].get<std::string>().find("beyond") != std::string::npos) continue;
    auto again = ParseJson(CanonicalJson(*value));
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_EQ(CanonicalJson(*again), CanonicalJson(*value)) << one["name"];
  }
}

TEST(CanonicalJson, NumberSamples) {
  const Json samples = Cases()["numbers"];
  ASSERT_EQ(samples.size(), 24u);
  for (const Json& sample : samples) {
    auto bits = std::stoull(sample[0].get<std::string>(), nullptr, 16);
    EXPECT_EQ(CanonicalJson(Json(std::bit_cast<double>(std::uint64_t(bits)))), sample[1].get<std::string>()) << sample[0];
  }
}

TEST(CanonicalJsonDeathTest, NotANumberIsAProgrammersError) { EXPECT_DEATH(CanonicalJson(Json(std::nan(""))), "JSON has no NaN"); }

RC_GTEST_PROP(CanonicalJson, EveryFiniteDoubleReadsBackAsItself, (std::uint64_t bits)) {
  double value = std::bit_cast<double>(bits);
  RC_PRE(std::isfinite(value));
  std::string text = CanonicalJson(Json(value));
  RC_ASSERT(std::strtod(text.c_str(), nullptr) == value);
}

RC_GTEST_PROP(CanonicalJson, KeyOrderDoesNotMatter, (const std::map<std::string, int>& members)) {
  Json forward = Json::object(), backward = Json::object();
  for (auto it = members.begin(); it != members.end(); ++it) forward[ToHex(it->first)] = it->second;
  for (auto it = members.rbegin(); it != members.rend(); ++it) backward[ToHex(it->first)] = it->second;
  RC_ASSERT(CanonicalJson(forward) == CanonicalJson(backward));
}

// Written once where both texts are the same; else both are right.
TEST(StoredText, HasBothHashes) {
  const std::string_view values[] = {R"({"a":1,"b":[true,null,"x"]})",
                                     R"({"b":1,"a":2})",
                                     R"({"a":1.0})",
                                     R"([1e300,-0.0,12345678901234567890])",
                                     R"({"€":1,"\r":{"z":1,"y":2}})",
                                     R"("text \" \\ /")",
                                     R"({"a":{"b":[{"d":1,"c":2.50}]}})",
                                     "{}"};
  for (const std::string_view one : values) {
    for (const std::string_view other : values) {
      const Json a = ParseJson(one).value(), b = ParseJson(other).value();
      StoredText text(0);
      text.Raw("{\"a\":").Value(a);
      text.Raw(",\"b\":").Value(b);
      text.Raw(",\"c\":").String("q\"").Raw("}");
      const StoredText::Hashes hashes = text.Measure();
      const std::string stored = std::move(text).Take();
      const Json whole = {{"a", a}, {"b", b}, {"c", "q\""}};
      EXPECT_EQ(stored, DumpJson(whole));
      EXPECT_EQ(hashes.stored, Sha256(stored)) << stored;
      EXPECT_EQ(hashes.canonical, CanonicalHash(whole)) << stored;
    }
  }
}

// An error message may hold anything: what is stored is text, and the hash is of that text's value.
TEST(StoredText, MendsWhatIsNoText) {
  StoredText text(0);
  text.Raw("[").Value(Json{{"b", "x\xff"}, {"a", 1}});
  text.Raw(",").String("y\xfe").Raw("]");
  const StoredText::Hashes hashes = text.Measure();
  const std::string stored = std::move(text).Take();
  EXPECT_EQ(hashes.canonical, CanonicalHash(ParseJson(stored).value()));
}

}  // namespace
}  // namespace acl
