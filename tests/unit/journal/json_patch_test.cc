#include "shared/journal/json_patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "shared/journal/document.h"

namespace acl {
namespace {

using ::testing::HasSubstr;

Json Cases() {
  std::ifstream file(ACL_SOURCE_DIR "/tests/data/json_patch_cases.json");
  std::stringstream text;
  text << file.rdbuf();
  auto parsed = ParseJson(text.str());
  EXPECT_TRUE(parsed.ok()) << parsed.message();
  return parsed.ok() ? *parsed : Json::array();
}

// An error case names part of its message; the cases with a result compare text, so that key order and kind of number count.
TEST(ApplyPatch, Cases) {
  const Json cases = Cases();
  ASSERT_GE(cases.size(), 100u);
  for (const Json& one : cases) {
    SCOPED_TRACE(one["name"].get<std::string>());
    const Json before = one["doc"];
    auto result = ApplyPatch(one["doc"], one["patch"]);
    if (one.contains("expected")) {
      ASSERT_TRUE(result.ok()) << result.message();
      EXPECT_EQ(DumpJson(*result), DumpJson(one["expected"]));
    } else {
      ASSERT_FALSE(result.ok()) << DumpJson(*result);
      EXPECT_EQ(result.code(), Code::kInvalid);
      EXPECT_THAT(result.message(), HasSubstr(one["error"].get<std::string>()));
    }
  }
}

bool NamesEntriesOnly(const Json& patch) {
  for (const Json& op : patch) {
    for (const char* member : {"path", "from"}) {
      if (op.is_object() && op.contains(member) && op[member] == "") return false;
    }
  }
  return true;
}

// The same cases one level up, on a Document: equal results, and the root of the result is that of the result built anew.
TEST(ApplyPatch, DocumentsMeanTheSame) {
  int compared = 0;
  for (const Json& one : Cases()) {
    if (!one["doc"].is_object() || !one["patch"].is_array() || !NamesEntriesOnly(one["patch"])) continue;
    SCOPED_TRACE(one["name"].get<std::string>());
    auto document = Document::FromJson(one["doc"]);
    ASSERT_TRUE(document.ok());
    const Hash256 before = document->Root();
    Status status = document->Apply(one["patch"]);
    ++compared;
    if (one.contains("expected")) {
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(document->Root(), Document::FromJson(one["expected"])->Root());
      EXPECT_EQ(document->size(), one["expected"].size());
    } else {
      EXPECT_FALSE(status.ok());
      EXPECT_EQ(document->Root(), before);
    }
  }
  EXPECT_GE(compared, 80);
}

TEST(Pointer, RoundTrips) {
  for (std::vector<std::string> tokens : {std::vector<std::string>{}, {""}, {"", ""}, {"a/b", "m~n", "~1", "~", "/"}, {"ü", "0", "-"}}) {
    auto parsed = ParsePointer(MakePointer(tokens));
    ASSERT_TRUE(parsed.ok()) << MakePointer(tokens);
    EXPECT_EQ(*parsed, tokens);
  }
  EXPECT_EQ(MakePointer({"a/b"}), "/a~1b");
  for (const char* bad : {"a", "a/b", "/~", "/~2", "/a~/b", "~0"}) EXPECT_FALSE(ParsePointer(bad).ok()) << bad;
}

TEST(Builders, MakeOperationsThatApply) {
  Json patch = Json::array({PatchAdd({"a/b"}, 1), PatchCopy({"a/b"}, {"c"}), PatchReplace({"c"}, "x"), PatchRemove({"a/b"})});
  EXPECT_EQ(DumpJson(patch), R"([{"op":"add","path":"/a~1b","value":1},{"op":"copy","path":"/c","from":"/a~1b"},)"
                             R"({"op":"replace","path":"/c","value":"x"},{"op":"remove","path":"/a~1b"}])");
  EXPECT_EQ(DumpJson(*ApplyPatch(Json::object(), patch)), R"({"c":"x"})");
}

// Each operation doubles what is there: sixty of them would fill any memory.
TEST(JsonPatch, CopiesAreBoundedByBytes) {
  Json patch = Json::array();
  for (int i = 0; i < 60; ++i) patch.push_back({{"op", "copy"}, {"from", "/a"}, {"path", "/a/c" + std::to_string(i)}});
  const auto doubled = ApplyPatch({{"a", {{"text", std::string(1'000, 'x')}}}}, patch);
  ASSERT_FALSE(doubled.ok());
  EXPECT_NE(doubled.message().find("the copies of this patch make more than"), std::string::npos) << doubled.message();
  Document document;
  document.Set("a", {{"text", std::string(1'000, 'x')}});
  const Hash256 root = document.Root();
  EXPECT_FALSE(document.Apply(patch).ok());
  EXPECT_EQ(document.Root(), root);
}

}  // namespace
}  // namespace acl
