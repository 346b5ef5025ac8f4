// What joins an event says nothing of the state twice, and the state is the same as if it stood in an event of its own.

#include "shared/kernel/fold.h"

#include <gtest/gtest.h>

#include <chrono>

#include "shared/base/canonical_json.h"
#include "shared/base/sha256.h"

namespace acl {
namespace {

Json Of(std::string_view text) { return ParseJson(text).value(); }

// The delta of two events in one, checked against both applied one after another.
std::string Joined(std::string_view state, std::string_view first, std::string_view next) {
  Document apart = Document::FromJson(Of(state)).value(), together = apart;
  Folded folded{"a", Json{{"x", 1}}, Of(first), {}}, joins{"b", Json{{"y", 2}}, Of(next), {}};
  EXPECT_TRUE(apart.Apply(folded.delta).ok());
  EXPECT_TRUE(apart.Apply(joins.delta).ok());
  folded.Join(std::move(joins), apart);
  Event event;
  WordPayload(folded, apart, event);
  const Json payload = Of(*event.payload);
  EXPECT_EQ(DumpJson(payload["also"]), R"([{"type":"b","y":2}])");
  EXPECT_EQ(payload["x"], 1);
  EXPECT_TRUE(together.Apply(payload["state_delta"]).ok());
  EXPECT_EQ(DumpJson(together.ToJson()), DumpJson(apart.ToJson()));
  EXPECT_EQ(together.Root(), apart.Root());
  EXPECT_EQ(payload["state_root"], ToHex(apart.Root()));
  EXPECT_EQ(event.checksum, CanonicalHash(payload));
  EXPECT_EQ(event.content_hash, Sha256(*event.payload));
  return DumpJson(payload["state_delta"]);
}

TEST(Fold, AnEntryThatBothWriteIsWrittenOnce) {
  EXPECT_EQ(Joined("{}", R"([{"op":"add","path":"/p","value":{"done":1}},{"op":"add","path":"/k","value":1}])",
                   R"([{"op":"add","path":"/p/open","value":["s"]},{"op":"add","path":"/k","value":2}])"),
            R"([{"op":"add","path":"/p","value":{"done":1,"open":["s"]}},{"op":"add","path":"/k","value":2}])");
  EXPECT_EQ(Joined("{}", R"([{"op":"add","path":"/p","value":{"done":1}}])", R"([{"op":"add","path":"/p/done","value":2}])"),
            R"([{"op":"add","path":"/p","value":{"done":2}}])");
}

TEST(Fold, WhatWasReadOrChangedInBetweenStays) {
  // Copied from, changed by a member, removed, not an object, a member of a member, a name with an escape, another operation.
  const std::string_view cases[][3] = {
      {"{}", R"([{"op":"add","path":"/p","value":{"a":1}},{"from":"/p/a","op":"copy","path":"/q"}])",
       R"([{"op":"add","path":"/p/a","value":2}])"},
      {R"({"p":{}})", R"([{"op":"add","path":"/p/a","value":1}])", R"([{"op":"add","path":"/p/b","value":2}])"},
      {R"({"p":1})", R"([{"op":"remove","path":"/p"}])", R"([{"op":"add","path":"/p","value":2}])"},
      {"{}", R"([{"op":"add","path":"/p","value":[1]}])", R"([{"op":"add","path":"/p/0","value":2}])"},
      {"{}", R"([{"op":"add","path":"/p","value":{"a":{}}}])", R"([{"op":"add","path":"/p/a/b","value":2}])"},
      {"{}", R"([{"op":"add","path":"/p","value":{"a/b":1}}])", R"([{"op":"add","path":"/p/a~1b","value":2}])"},
      {"{}", R"([{"op":"add","path":"/p","value":{"a":1}}])", R"([{"op":"remove","path":"/p/a"}])"},
      {"{}", R"([{"op":"add","path":"/p","value":{"a":1}}])", R"([{"op":"add","path":"/pa","value":2}])"},
  };
  for (const auto& [state, first, next] : cases) {
    Json both = Of(first);
    for (const Json& operation : Of(next)) both.push_back(operation);
    EXPECT_EQ(Joined(state, first, next), DumpJson(both));
  }
}

// A step may change very many files, and its event joins another that did.
TEST(Fold, VeryManyEntriesAreJoinedAsFewAre) {
  const auto patch = [](int from, int to) {
    std::string text;
    for (int i = from; i < to; ++i)
      text += (i == from ? "[" : ",") + (R"({"op":"add","path":"/file:folder~1)" + std::to_string(i)) + R"(","value":{"mode":)" +
              std::to_string(from) + "}}";
    return text + "]";
  };
  const Json joined = Of(Joined("{}", patch(0, 20'000), patch(10'000, 30'000)));
  ASSERT_EQ(joined.size(), 30'000u) << "no entry twice";
  EXPECT_EQ(joined[9'999]["value"]["mode"], 0);
  EXPECT_EQ(joined[10'000]["value"]["mode"], 10'000);
  EXPECT_EQ(joined[29'999]["path"], "/file:folder~129999");
}

}  // namespace
}  // namespace acl
