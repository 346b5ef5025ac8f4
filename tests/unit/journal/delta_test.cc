// A delta as values does what its words say: applied by the Document, and as JSON Patch by ApplyPatch, which knows no entries.

#include "shared/journal/delta.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "shared/journal/document.h"
#include "shared/journal/json_patch.h"

namespace acl {
namespace {

using Kind = DeltaOp::Kind;

constexpr const char* kEntries[] = {"a", "b/c", "d~e", "ü"};
constexpr const char* kBelow[] = {"", "", "/x", "/y", "/x/z", "/l/-", "/l/0", "/x~1y"};

Json AnyValue() {
  switch (*rc::gen::inRange(0, 4)) {
    case 0: return *rc::gen::inRange(0, 9);
    case 1: return Json{{"x", {{"z", 1}}}, {"l", {1, 2}}};
    case 2: return Json{{"y", 1.5}, {"x/y", "text"}};
    default: return Json{{"l", Json::array()}, {"x", 2}};
  }
}

Delta AnyDelta() {
  Delta delta;
  const int count = *rc::gen::inRange(1, 7);
  for (int i = 0; i < count; ++i) {
    DeltaOp& op = delta.ops.emplace_back();
    op.kind = *rc::gen::element(Kind::kAdd, Kind::kAdd, Kind::kAdd, Kind::kRemove, Kind::kReplace, Kind::kMove, Kind::kCopy);
    op.entry = *rc::gen::elementOf(std::vector<std::string>(std::begin(kEntries), std::end(kEntries)));
    op.below = *rc::gen::elementOf(std::vector<std::string>(std::begin(kBelow), std::end(kBelow)));
    if (op.kind == Kind::kMove || op.kind == Kind::kCopy) {
      op.from_entry = *rc::gen::elementOf(std::vector<std::string>(std::begin(kEntries), std::end(kEntries)));
      op.from_below = *rc::gen::elementOf(std::vector<std::string>(std::begin(kBelow), std::end(kBelow)));
    } else if (op.kind != Kind::kRemove) {
      op.value = AnyValue();
    }
  }
  return delta;
}

RC_GTEST_PROP(DeltaProperty, AppliedItDoesWhatItsWordsSay, ()) {
  Json whole = Json::object();
  for (const char* entry : kEntries) {
    if (*rc::gen::arbitrary<bool>()) whole[entry] = AnyValue();
  }
  Document state = Document::FromJson(whole).value();
  Delta delta = AnyDelta();
  const Json words = delta.ToPatch();
  auto expected = ApplyPatch(whole, words);
  Document from_words = state;
  const bool read = from_words.Apply(words).ok();
  RC_ASSERT(read == expected.ok());
  if (!Delta::Parse(words)) return;  // "moves a value into itself": only words say so
  const bool applied = state.Apply(delta).ok();
  RC_ASSERT(applied == expected.ok());
  if (!applied) return;
  RC_ASSERT(state.Root() == Document::FromJson(*expected).value().Root());
  RC_ASSERT(from_words.Root() == state.Root());
  RC_ASSERT(delta.ToPatch() == words);  // shared with the state or not, it says the same afterwards
}

TEST(Delta, IsReadBackFromItsWords) {
  Delta delta;
  delta.Add("var:a/b", Json{{"x", 1}});
  delta.AddMember("run", "st~tus", "RUNNING");
  delta.Remove("gone");
  delta.RemoveMember("run", "x/y");
  delta.Copy("var:a/b", "x", "var:x");
  const Json words = delta.ToPatch();
  EXPECT_EQ(DumpJson(words),
            R"([{"op":"add","path":"/var:a~1b","value":{"x":1}},{"op":"add","path":"/run/st~0tus","value":"RUNNING"},)"
            R"({"op":"remove","path":"/gone"},{"op":"remove","path":"/run/x~1y"},{"from":"/var:a~1b/x","op":"copy","path":"/var:x"}])");
  EXPECT_EQ(Delta::Parse(words).value().ToPatch(), words);
}

TEST(Delta, WhatIsNoPatchDoesNotApply) {
  Document state;
  Delta broken = Json{{"op", "add"}};
  EXPECT_FALSE(broken.empty());
  EXPECT_THAT(state.Apply(broken).message(), ::testing::HasSubstr("array of operations"));
  Delta impossible = Delta::Impossible("run A -> B");
  EXPECT_THAT(state.Apply(impossible).message(), ::testing::HasSubstr("run A -> B"));
}

}  // namespace
}  // namespace acl
