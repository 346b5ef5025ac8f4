// How an inbox is read, by whoever holds the subject.
#include "shared/capability/inbox_inputs.h"

#include <gmock/gmock.h>

#include "shared/base/uuid7.h"
#include "shared/capability/dispatch_format.h"

namespace acl {
namespace {

using testing::ElementsAre;

InboxRow Row(const std::string& kind, const Json& payload = Json::object()) {
  return {InboxId{NewUuid7()}, kind, DumpJson(payload), WallTime{}};
}
InboxRow Damaged(const std::string& what) {
  return Row(std::string(kDispatchResultKind),
             {{"step_id", "s"}, {"attempt", 1}, {"outcome", "failed"}, {"damaged", what}, {"repeatable", true}});
}
std::vector<std::string> KindsOf(const InboxRead& read) {
  std::vector<std::string> kinds;
  for (const InboxInput& input : read.inputs) kinds.push_back(input.kind);
  return kinds;
}

TEST(ReadInbox, AReleaseComesBeforeWhatWasSaidMeanwhile) {
  const std::vector<InboxRow> rows = {Row("cancel"), Row("quarantine_released", {{"by", "one"}}), Row("signal"),
                                      Row("quarantine_released", {{"by", "two"}})};
  const InboxRead read = ReadInbox(rows);
  EXPECT_THAT(KindsOf(read), ElementsAre("quarantine_released", "quarantine_released", "cancel", "signal"));
  EXPECT_EQ(read.inputs[0].payload["by"], "one");
  EXPECT_EQ(read.inputs[0].id, rows[1].id);
}

TEST(ReadInbox, ADecisionCountsFromWhenTheDatabaseTookIt) {
  InboxRow row = Row("decide", {{"received_at", "2000-01-01T00:00:00Z"}});
  row.created_at = WallTimeFromMicros(1'800'000'000'000'000);
  EXPECT_EQ(ReadInbox({&row, 1}).inputs[0].payload["received_at"], FormatWallTime(row.created_at));
}

TEST(ReadInbox, DamageThatAPersonHasSeenIsSettled) {
  const std::vector<InboxRow> seen = {Damaged("content a is gone"), Row("quarantine_released"), Row("signal")};
  const InboxRead read = ReadInbox(seen);
  EXPECT_EQ(read.damage, "");
  EXPECT_EQ(read.inputs[1].payload["outcome"], "not_started");
  EXPECT_FALSE(read.inputs[1].payload.contains("damaged"));
  const std::vector<InboxRow> more = {seen[0], seen[1], Damaged("content b is gone"), Damaged("content c is gone")};
  EXPECT_EQ(ReadInbox(more).damage, "content b is gone");
}

// Rows that are left out still say what stands before them.
TEST(ReadInbox, RowsThatAreNotWantedAreLeftOut) {
  const std::vector<InboxRow> rows = {Damaged("content a is gone"), Row("quarantine_released"), Row("signal")};
  const InboxRead read = ReadInbox(rows, [](const InboxRow& row) { return row.kind == kDispatchResultKind; });
  EXPECT_THAT(KindsOf(read), ElementsAre(std::string(kDispatchResultKind)));
  EXPECT_EQ(read.damage, "");
}

TEST(ReadInbox, WhatIsStoredMayBeDeep) {
  Json deep = 1;
  for (int i = 0; i < 80; ++i) deep = Json::array({std::move(deep)});
  const std::vector<InboxRow> rows = {Row("signal", {{"deep", deep}}), {InboxId{NewUuid7()}, "signal", "no JSON", WallTime{}}};
  const InboxRead read = ReadInbox(rows);
  EXPECT_TRUE(read.inputs[0].payload.contains("deep"));
  EXPECT_EQ(read.inputs[1].payload, Json::object());
}

}  // namespace
}  // namespace acl
