#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/sha256.h"
#include "shared/journal/segment.h"
#include "shared/journal/snapshot.h"
#include "tests/unit/journal/samples.h"

namespace acl {
namespace {

using ::testing::HasSubstr;

const ChunkReader kNoChunks = [](const Hash256&) -> Result<std::string> { return {Code::kNotFound, "no chunks here"}; };

std::vector<Event> From(const std::vector<Event>& events, std::size_t first) {
  return {events.begin() + std::ptrdiff_t(first), events.end()};
}

std::string Refusal(const std::vector<Event>& events, const std::optional<Snapshot>& snapshot = std::nullopt) {
  auto restored = Restore(samples::Subject(), snapshot, events, kNoChunks);
  if (restored.ok()) return "restored";
  EXPECT_EQ(restored.code(), Code::kCorrupt);
  return restored.message();
}

TEST(Restore, ReplaysFromTheStartAndFromEverySnapshot) {
  std::vector<Event> journal;
  Document state;
  std::vector<Snapshot> snapshots;
  for (int i = 1; i <= 40; ++i) {
    samples::Append(journal, state, i % 5 == 0 ? Json::array() : Json::array({PatchAdd({"k" + std::to_string(i % 9)}, i)}));
    snapshots.push_back(EncodeSnapshot(state, i, journal.back().chain).snapshot);
  }
  for (std::size_t from = 0; from <= journal.size(); ++from) {
    auto snapshot = from == 0 ? std::nullopt : std::optional(snapshots[from - 1]);
    auto restored = Restore(samples::Subject(), snapshot, From(journal, from), kNoChunks);
    ASSERT_TRUE(restored.ok()) << restored.message();
    EXPECT_TRUE(MatchesHead(*restored, 40, journal.back().chain, state.Root()).ok());
    EXPECT_EQ(restored->replayed, std::int64_t(journal.size() - from));
    EXPECT_EQ(DumpJson(restored->state.ToJson()), DumpJson(state.ToJson()));
  }
}

TEST(Restore, AJournalBeginsOnWhatWasBefore) {
  const auto refusal = [](const std::function<void(SegmentStart&)>& tell) {
    std::vector<Event> journal;
    Document state;
    samples::Append(journal, state, Json::array({PatchAdd({"k"}, 1)}));
    samples::AppendRoll(journal, state, tell);
    samples::Append(journal, state, Json::array({PatchAdd({"k"}, 2)}));
    return Refusal(journal);
  };
  EXPECT_EQ(refusal({}), "restored");
  EXPECT_THAT(refusal([](SegmentStart& start) { start.chain[0] ^= 1; }), HasSubstr("it names the chain head"));
  EXPECT_THAT(refusal([](SegmentStart& start) { start.last_seq = 7; }), HasSubstr("a snapshot of event 7"));
  EXPECT_THAT(refusal([](SegmentStart& start) { start.state_root[0] ^= 1; }), HasSubstr("the state root after it is"));
}

TEST(Restore, ASegmentsFirstEventReadsBackAsItWasMade) {
  const SegmentStart start{JournalIdAt(samples::Subject(), 1), Sha256("chain"), 41, Sha256("root")};
  const Event event = MakeSegmentEvent(start);
  const auto payload = ParseJson(*event.payload);
  ASSERT_TRUE(payload.ok());
  const auto again = ParseSegmentStart(*payload);
  ASSERT_TRUE(again.ok()) << again.message();
  EXPECT_EQ(*again, start);
  EXPECT_EQ(event.checksum, event.content_hash) << "its text is canonical";
  for (const char* fact : {"chain", "journal", "snapshot", "state_root"}) {
    Json without = *payload;
    without.erase(fact);
    EXPECT_EQ(ParseSegmentStart(without).code(), Code::kCorrupt) << fact;
  }
  EXPECT_EQ(DroppedText(samples::Subject(), 4, 5), "");
  EXPECT_THAT(DroppedText(samples::Subject(), 4, 9), HasSubstr("events 5 to 8 of"));
}

TEST(Restore, OfNothingIsEmpty) {
  auto restored = Restore(samples::Subject(), std::nullopt, {}, kNoChunks);
  ASSERT_TRUE(restored.ok());
  EXPECT_EQ(restored->head_seq, 0);
  EXPECT_EQ(restored->chain, ChainStart(samples::Subject()));
}

TEST(Restore, FindsWhatIsMissingTwiceOrOfAnotherSubject) {
  const auto good = samples::SealedEvents(10);
  auto without = [&](std::size_t i) {
    auto events = good;
    events.erase(events.begin() + std::ptrdiff_t(i));
    return events;
  };
  EXPECT_THAT(Refusal(without(0)), HasSubstr("event 2 of 0190f5fe-7c00-7a00-8000-0123456789ab: the next sequence number is 1"));
  EXPECT_THAT(Refusal(without(5)), HasSubstr("event 7 of"));
  auto twice = good;
  twice.insert(twice.begin() + 3, good[3]);
  EXPECT_THAT(Refusal(twice), HasSubstr("the next sequence number is 5"));
  auto foreign = good;
  foreign[4].subject = SubjectId{};
  EXPECT_THAT(Refusal(foreign), HasSubstr("it stands in the journal of"));
}

TEST(Restore, ATruncatedJournalDoesNotMatchItsHead) {
  const auto good = samples::SealedEvents(10);
  const auto whole = Restore(samples::Subject(), std::nullopt, good, kNoChunks);
  const auto cut = Restore(samples::Subject(), std::nullopt, {good.begin(), good.end() - 1}, kNoChunks);
  ASSERT_TRUE(whole.ok() && cut.ok());
  EXPECT_THAT(MatchesHead(*cut, 10, whole->chain, whole->state.Root()).message(), HasSubstr("ends with event 9, the head row says 10"));
  EXPECT_THAT(MatchesHead(*whole, 10, cut->chain, whole->state.Root()).message(), HasSubstr("chain"));
  EXPECT_THAT(MatchesHead(*whole, 10, whole->chain, cut->state.Root()).message(), HasSubstr("state root"));
}

TEST(Restore, FindsAWriterThatWasFenced) {
  auto events = samples::SealedEvents(3);
  events[2].token = Token{events[1].token.value - 1};
  Seal(events[2], events[1].chain);
  EXPECT_THAT(Refusal(events), HasSubstr("event 3 of 0190f5fe-7c00-7a00-8000-0123456789ab: its token 4294967296 is below"));
}

TEST(Restore, FindsADeltaThatGivesAnotherState) {
  auto events = samples::SealedEvents(3);
  auto spoil = [&](const char* payload) {
    auto bad = events;
    bad[2].payload = payload;
    Seal(bad[2], bad[1].chain);
    return Refusal(bad);
  };
  EXPECT_THAT(spoil(R"({"state_delta":[{"op":"add","path":"/x","value":1}],"state_root":"00"})"), HasSubstr("the state root after it is"));
  EXPECT_THAT(spoil(R"({"state_delta":[{"op":"add","path":"/x","value":1}]})"), HasSubstr("names no \"state_root\""));
  EXPECT_THAT(spoil(R"({"state_delta":[{"op":"remove","path":"/none"}],"state_root":"00"})"), HasSubstr("there is no entry"));
  EXPECT_THAT(spoil(R"({"state_root":7})"), HasSubstr("the state root after it is"));
}

TEST(Restore, NeedsTheContentOfWhatItReplays) {
  auto events = samples::SealedEvents(5);
  events[2].payload.reset();
  EXPECT_THAT(Refusal(events), HasSubstr("event 3 of 0190f5fe-7c00-7a00-8000-0123456789ab: its content was removed"));
}

TEST(Restore, ASnapshotOfAnotherChainIsFoundByTheNextEvent) {
  const auto events = samples::SealedEvents(10);
  auto at5 = Restore(samples::Subject(), std::nullopt, {events.begin(), events.begin() + 5}, kNoChunks);
  auto snapshot = EncodeSnapshot(at5->state, 5, at5->chain).snapshot;
  EXPECT_EQ(Refusal(From(events, 5), snapshot), "restored");
  auto other_chain = snapshot, other_seq = snapshot, other_state = EncodeSnapshot(Document(), 5, at5->chain).snapshot;
  other_chain.chain[31] ^= 1;
  other_seq.last_event_seq = 4;
  EXPECT_THAT(Refusal(From(events, 5), other_chain), HasSubstr("event 6 of 0190f5fe-7c00-7a00-8000-0123456789ab: the chain is"));
  EXPECT_THAT(Refusal(From(events, 5), other_seq), HasSubstr("the next sequence number is 5"));
  EXPECT_THAT(Refusal(From(events, 5), other_state), HasSubstr("the state root after it is"));
}

}  // namespace
}  // namespace acl
