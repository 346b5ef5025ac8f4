#include "shared/verify/subject_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/canonical_json.h"
#include "shared/journal/json_patch.h"
#include "shared/journal/segment.h"

namespace acl::verify {
namespace {

using ::testing::Contains;
using ::testing::Field;

const ChunkReader kNoChunks = [](const Hash256&) -> Result<std::string> { return {Code::kNotFound, "no chunks here"}; };

// A subject that is right in every respect: created under token 1, taken over as 5 after event 4, closed at event 8; steps a, b and c
// completed, c and a undone.
SubjectRows Good(std::int64_t first_token = 1) {
  SubjectRows rows;
  rows.subject = *SubjectId::Parse("0190f5fe-7c00-7a00-8000-0123456789ab");
  rows.grants = {{Token{2}, 1}, {Token{5}, 4}};
  const std::vector<std::string> steps = {"", "a", "b", "c", "", "undo:c", "undo:a", ""};
  Document state;
  Hash256 chain = ChainStart(rows.subject);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Event event;
    event.subject = rows.subject;
    event.seq = std::int64_t(i) + 1;
    event.type = "test.event";
    event.token = Token{i == 0 ? first_token : i < 4 ? 2 : 5};
    event.timestamp = WallTimeFromMicros(std::int64_t(i) * 1000);
    Json delta = Json::array({PatchAdd({"last"}, event.seq)});
    EXPECT_TRUE(state.Apply(delta).ok());
    Json payload = {{"step_id", steps[i]}};
    payload[std::string(kDeltaKey)] = delta;
    payload[std::string(kRootKey)] = ToHex(state.Root());
    event.payload = DumpJson(payload);
    Seal(event, chain);
    chain = event.chain;
    if (i == 3 || i == 6) rows.snapshots.push_back(EncodeSnapshot(state, event.seq, chain).snapshot);
    if (!steps[i].empty()) {
      rows.attempts.push_back({steps[i], 1, event.token, event.timestamp});
      rows.completions.push_back({{steps[i], 1, event.timestamp, Hash256{}, event.seq}, event.token});
    }
    rows.events.push_back(std::move(event));
  }
  rows.head = Head{8, chain, state.Root(), JournalId{}, rows.events.back().timestamp};
  rows.lease = LeaseRow{Token{5}, std::nullopt, LeaseRow::State::kClosed, ""};
  return rows;
}

Report ReportOf(const SubjectRows& rows) {
  Report report;
  CheckSubject(rows, {kNoChunks, {}}, report);
  return report;
}

TEST(CheckSubject, RightIsClean) {
  Report report = ReportOf(Good());
  EXPECT_TRUE(report.clean()) << DumpJson(ToJson(report));
  EXPECT_EQ(report.checked["journal.hashes"], 8);
  EXPECT_EQ(report.checked["state.root"], 8);
  EXPECT_EQ(report.checked["completion.event"], 5);
  EXPECT_EQ(report.checked["snapshot.root"], 2);
  EXPECT_EQ(report.checked["compensation.order"], 2);
  EXPECT_EQ(report.checked["head.chain"], 1);
}

// Created under the token of its first grant.
TEST(CheckSubject, GrantedAsItIsMadeIsCleanAndItsSpanIsStillChecked) {
  SubjectRows rows = Good(2);
  Report report = ReportOf(rows);
  EXPECT_TRUE(report.clean()) << DumpJson(ToJson(report));
  rows.grants[1].head_seq = 3;  // event 4 is of the grant before
  EXPECT_THAT(ReportOf(rows).violations, Contains(Field(&Violation::check, "token.span")));
  rows = Good(1);
  rows.grants[0].head_seq = 2;  // event 2 is of this grant, which was not the creation's
  EXPECT_THAT(ReportOf(rows).violations, Contains(Field(&Violation::check, "token.span")));
}

// What a kind says of ends is asked of every type, also of what joined an event.
TEST(CheckSubject, NothingStandsBehindTheEndButWhatMay) {
  KindChecks kind;
  kind.ends = [](std::string_view type) { return type == "end"; };
  kind.may_follow_the_end = [](std::string_view type) { return type == "late"; };
  const auto report_of = [&](const SubjectRows& rows) {
    Report report;
    CheckSubject(rows, {kNoChunks, {}}, report, &kind);
    std::vector<std::string> found;
    for (const Violation& one : report.violations) {
      if (one.check == "journal.end") found.push_back(one.key.substr(rows.subject.ToString().size()) + ": " + one.found);
    }
    return found;
  };
  SubjectRows rows = Good();
  EXPECT_THAT(report_of(rows), ::testing::ElementsAre(": closed without one"));
  rows.events[7].type = "end";
  EXPECT_THAT(report_of(rows), ::testing::IsEmpty());
  rows.events[6].type = "end";
  rows.events[7].type = "late";
  EXPECT_THAT(report_of(rows), ::testing::IsEmpty());
  rows.events[7].type = "test.event";
  EXPECT_THAT(report_of(rows), ::testing::ElementsAre("/8: test.event"));
}

struct Damage {
  const char* check;
  const char* table;
  std::function<void(SubjectRows&)> spoil;
};

void PrintTo(const Damage& damage, std::ostream* out) { *out << damage.check << " in " << damage.table; }

class Damaged : public ::testing::TestWithParam<Damage> {};

TEST_P(Damaged, IsFound) {
  SubjectRows rows = Good();
  GetParam().spoil(rows);
  Report report = ReportOf(rows);
  EXPECT_FALSE(report.clean());
  EXPECT_THAT(report.violations,
              Contains(::testing::AllOf(Field(&Violation::check, GetParam().check), Field(&Violation::table, GetParam().table))))
      << DumpJson(ToJson(report));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, Damaged,
    ::testing::Values(Damage{"journal.sequence", "event_rows", [](SubjectRows& r) { r.events.erase(r.events.begin() + 2); }},
                      Damage{"journal.hashes", "event_rows", [](SubjectRows& r) { *r.events[2].payload += " "; }},
                      Damage{"journal.hashes", "event_rows", [](SubjectRows& r) { r.events[2].type = "other"; }},
                      Damage{"journal.hashes", "event_rows", [](SubjectRows& r) { r.events[2].checksum[0] ^= 1; }},
                      Damage{"journal.timestamps", "event_rows", [](SubjectRows& r) { r.events[2].timestamp = WallTimeFromMicros(0); }},
                      Damage{"journal.start", "event_rows", [](SubjectRows& r) { r.events.erase(r.events.begin(), r.events.begin() + 3); }},
                      Damage{"token.granted", "event_rows", [](SubjectRows& r) { r.grants.erase(r.grants.begin()); }},
                      Damage{"token.order", "event_rows", [](SubjectRows& r) { r.events[5].token = Token{2}; }},
                      Damage{"token.span", "event_rows", [](SubjectRows& r) { r.grants[1].head_seq = 6; }},
                      Damage{"token.granted", "attempt_rows", [](SubjectRows& r) { r.attempts[0].token = Token{3}; }},
                      Damage{"token.granted", "completion_rows", [](SubjectRows& r) { r.completions[0].token = Token{3}; }},
                      Damage{"token.lease", "leases", [](SubjectRows& r) { r.lease->token = Token{4}; }},
                      Damage{"completion.once", "completion_rows", [](SubjectRows& r) { r.completions.push_back(r.completions[0]); }},
                      Damage{"completion.attempt", "completion_rows", [](SubjectRows& r) { r.attempts.erase(r.attempts.begin()); }},
                      Damage{"completion.event", "completion_rows", [](SubjectRows& r) { r.completions[0].row.event_seq = 99; }},
                      Damage{"completion.step", "completion_rows", [](SubjectRows& r) { r.completions[0].row.event_seq = 3; }},
                      Damage{"completion.token", "completion_rows", [](SubjectRows& r) { r.completions[0].token = Token{5}; }},
                      Damage{"compensation.order", "completion_rows",
                             [](SubjectRows& r) { std::swap(r.completions[3].row.event_seq, r.completions[4].row.event_seq); }},
                      Damage{"compensation.of_completed", "completion_rows",
                             [](SubjectRows& r) { r.completions.erase(r.completions.begin()); }},
                      Damage{"snapshot.decodes", "snapshot_rows", [](SubjectRows& r) { r.snapshots[0].inline_state = R"({"last":5})"; }},
                      Damage{"snapshot.root", "snapshot_rows",
                             [](SubjectRows& r) {
                               Document other;
                               other.Set("last", 77);
                               r.snapshots[0] = EncodeSnapshot(other, 4, r.snapshots[0].chain).snapshot;
                             }},
                      Damage{"snapshot.chain", "snapshot_rows", [](SubjectRows& r) { r.snapshots[1].chain[0] ^= 1; }},
                      Damage{"head.exists", "subject_head", [](SubjectRows& r) { r.head.reset(); }},
                      Damage{"head.seq", "subject_head", [](SubjectRows& r) { r.events.pop_back(); }},
                      Damage{"head.chain", "subject_head", [](SubjectRows& r) { r.head->chain[0] ^= 1; }},
                      Damage{"head.state_root", "subject_head", [](SubjectRows& r) { r.head->state_root[0] ^= 1; }},
                      Damage{"lease.exists", "leases", [](SubjectRows& r) { r.lease.reset(); }},
                      Damage{"closed.rows", "leases", [](SubjectRows& r) { r.timers = 1; }},
                      Damage{"closed.rows", "leases", [](SubjectRows& r) { r.unread_inbox = 1; }},
                      Damage{"open.state", "leases", [](SubjectRows& r) { r.lease->state = LeaseRow::State::kOpen; }}));

TEST(CheckSubject, AnOpenSubjectNeedsSomethingThatWakesIt) {
  auto clean = [](auto change) {
    SubjectRows rows = Good();
    rows.lease->state = LeaseRow::State::kOpen;
    change(rows);
    return ReportOf(rows).clean();
  };
  EXPECT_FALSE(clean([](SubjectRows&) {}));
  EXPECT_TRUE(clean([](SubjectRows& r) { r.lease->session = r.grants.back().session = WorkerSessionId{}; }));
  EXPECT_FALSE(clean([](SubjectRows& r) { r.lease->session = WorkerSessionId{}; }));
  EXPECT_TRUE(clean([](SubjectRows& r) { r.ready_rows = 1; }));
  EXPECT_TRUE(clean([](SubjectRows& r) { r.timers = 1; }));
  EXPECT_TRUE(clean([](SubjectRows& r) { r.open_dispatches = 1; }));
  EXPECT_TRUE(clean([](SubjectRows& r) { r.lease->waiting_reason = "person"; }));
  EXPECT_TRUE(clean([](SubjectRows& r) {
    r.lease->state = LeaseRow::State::kQuarantined;
    r.open_quarantines = 1;
  }));
  EXPECT_FALSE(clean([](SubjectRows& r) { r.lease->state = LeaseRow::State::kQuarantined; }));
  EXPECT_FALSE(clean([](SubjectRows& r) { r.unread_inbox = r.lease->wake = 1; })) << "nobody reads it";
  EXPECT_TRUE(clean([](SubjectRows& r) { r.unread_inbox = r.lease->wake = r.ready_rows = 1; }));
  EXPECT_FALSE(clean([](SubjectRows& r) {
    r.lease->waiting_reason = "retry";
    r.lease->next_wake = WallTimeFromMicros(1);
  })) << "the timer is gone";
  EXPECT_FALSE(clean([](SubjectRows& r) {
    r.lease->waiting_reason = "retry";
    r.lease->next_wake = WallTimeFromMicros(1);
    r.timers = 1;
    r.first_timer = WallTimeFromMicros(2);
  })) << "what is left is its deadline's";
  EXPECT_TRUE(clean([](SubjectRows& r) {
    r.lease->waiting_reason = "retry";
    r.lease->next_wake = r.first_timer = WallTimeFromMicros(1);
    r.timers = 1;
  }));
  EXPECT_FALSE(clean([](SubjectRows& r) { r.lease->waiting_reason = "retry"; })) << "until when?";
  EXPECT_TRUE(clean([](SubjectRows& r) {
    r.lease->waiting_reason = "retry";
    r.timers = 1;
    r.first_timer = WallTimeFromMicros(2);
  })) << "when, a kind need not say: there may be several";
  EXPECT_FALSE(clean([](SubjectRows& r) { r.lease->waiting_reason = "dispatch"; })) << "the dispatch is gone";
  EXPECT_TRUE(clean([](SubjectRows& r) {
    r.lease->waiting_reason = "dispatch";
    r.open_dispatches = 1;
  }));
}

// The same, but event 5 begins a journal behind the snapshot of event 4. `tell` changes what it says, before all that follows is sealed.
SubjectRows Rolled(const std::function<void(SegmentStart&)>& tell = {}) {
  SubjectRows rows = Good();
  rows.snapshots.clear();
  const JournalId first{*Uuid::Parse("0190f5fe-7c00-7a00-8000-00000000000a")}, second = JournalIdAt(rows.subject, 5);
  Document state;
  Hash256 chain = ChainStart(rows.subject);
  for (Event& event : rows.events) {
    event.journal = event.seq < 5 ? first : second;
    if (event.seq == 5) {
      SegmentStart start{first, chain, 4, state.Root()};
      if (tell) tell(start);
      const Event said = MakeSegmentEvent(start);
      event.type = said.type;
      event.payload = said.payload;
    } else {
      Json payload = *ParseJson(*event.payload);
      EXPECT_TRUE(state.Apply(payload[std::string(kDeltaKey)]).ok());
      payload[std::string(kRootKey)] = ToHex(state.Root());
      event.payload = DumpJson(payload);
    }
    Seal(event, chain);
    chain = event.chain;
    if (event.seq == 4 || event.seq == 7) rows.snapshots.push_back(EncodeSnapshot(state, event.seq, chain).snapshot);
  }
  rows.head = Head{8, chain, state.Root(), second, rows.events.back().timestamp, 5};
  rows.segments = {{5, second, rows.events[4].token, false}};
  return rows;
}
SubjectRows Dropped() {
  SubjectRows rows = Rolled();
  rows.events.erase(rows.events.begin(), rows.events.begin() + 4);
  rows.segments[0].dropped = true;
  return rows;
}
std::vector<std::string> ChecksThatFail(const SubjectRows& rows) {
  std::vector<std::string> checks;
  for (const Violation& one : ReportOf(rows).violations) checks.push_back(one.check);
  return checks;
}

TEST(CheckSubject, JournalsThatRollAreClean) {
  Report report = ReportOf(Rolled());
  EXPECT_TRUE(report.clean()) << DumpJson(ToJson(report));
  EXPECT_EQ(report.checked["segment.chain"], 1);
  EXPECT_EQ(report.checked["segment.root"], 1);
  EXPECT_TRUE(report.notes.empty());
}

TEST(CheckSubject, AJournalWhoseStartWasDroppedVerifiesFromItsSnapshotAndSaysSo) {
  Report report = ReportOf(Dropped());
  EXPECT_TRUE(report.clean()) << DumpJson(ToJson(report));
  EXPECT_EQ(report.checked["state.root"], 4);
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_THAT(report.notes[0], ::testing::HasSubstr("events 1 to 4"));
  EXPECT_THAT(ToText(report), ::testing::HasSubstr("note: events 1 to 4"));
}

TEST(CheckSubject, AJournalThatBeginsOnSomethingElseIsFound) {
  using ::testing::Contains;
  EXPECT_THAT(ChecksThatFail(Rolled([](SegmentStart& start) { start.chain[0] ^= 1; })), ::testing::ElementsAre("segment.chain"));
  EXPECT_THAT(ChecksThatFail(Rolled([](SegmentStart& start) { start.state_root[0] ^= 1; })), Contains("segment.root"));
  EXPECT_THAT(ChecksThatFail(Rolled([](SegmentStart& start) { start.last_seq = 3; })), ::testing::ElementsAre("segment.place"));
  EXPECT_THAT(ChecksThatFail(Rolled([](SegmentStart& start) { start.closed.uuid.bytes[0] ^= 1; })),
              ::testing::ElementsAre("segment.closed"));
  const auto failing = [](const std::function<void(SubjectRows&)>& spoil, SubjectRows rows = Rolled()) {
    spoil(rows);
    return ChecksThatFail(rows);
  };
  EXPECT_THAT(failing([](SubjectRows& r) { r.events[4].type = "test.event"; }), Contains("segment.first"));
  EXPECT_THAT(failing([](SubjectRows& r) { r.events[4].journal = r.events[3].journal; }), Contains("segment.first"));
  EXPECT_THAT(failing([](SubjectRows& r) { r.segments.clear(); }), ::testing::ElementsAre("segment.row"));
  EXPECT_THAT(failing([](SubjectRows& r) { r.segments[0].token = Token{3}; }), ::testing::ElementsAre("segment.token"));
  EXPECT_THAT(failing([](SubjectRows& r) { r.segments.push_back({7, {}, Token{5}, false}); }), ::testing::ElementsAre("segment.event"));
  EXPECT_THAT(failing([](SubjectRows& r) { r.head->journal_first = 4; }), ::testing::ElementsAre("head.journal_first"));
  EXPECT_THAT(failing([](SubjectRows& r) { r.snapshots.erase(r.snapshots.begin()); }), Contains("segment.snapshot"));
  EXPECT_THAT(failing([](SubjectRows& r) {
                for (std::int64_t seq : {5, 6}) r.snapshots.push_back(r.snapshots[1]), r.snapshots.back().last_event_seq = seq;
              }),
              Contains("snapshot.kept"));
}

TEST(CheckSubject, AJournalThatWasDroppedThoughItIsNeededIsFound) {
  using ::testing::Contains;
  const auto failing = [](const std::function<void(SubjectRows&)>& spoil) {
    SubjectRows rows = Dropped();
    spoil(rows);
    return ChecksThatFail(rows);
  };
  EXPECT_THAT(failing([](SubjectRows& r) { r.snapshots.erase(r.snapshots.begin()); }), Contains("journal.start"))
      << "nothing to begin from";
  EXPECT_THAT(failing([](SubjectRows& r) { r.segments[0].dropped = false; }), Contains("journal.dropped")) << "nobody dropped it";
  EXPECT_THAT(failing([](SubjectRows& r) { r.events.erase(r.events.begin()); }), Contains("journal.dropped")) << "more than is on record";
  EXPECT_THAT(failing([](SubjectRows& r) { r.attempts.erase(r.attempts.begin()); }), Contains("completion.attempt")) << "what it did";
}

TEST(CheckSubject, RemovedContentsVerifyByTheirHashes) {
  SubjectRows rows = Good();
  rows.events[1].payload.reset();
  Report report = ReportOf(rows);
  EXPECT_TRUE(report.clean()) << DumpJson(ToJson(report));
  EXPECT_EQ(report.checked["journal.hashes"], 8);
  EXPECT_EQ(report.checked["state.root"], 5);  // not known between the hole and the next snapshot
}

// A step's outputs are what its own event puts, whatever a later one puts there: in journals of older programs an output named like a step
// lies over it.
TEST(CheckSubject, AResultIsThatOfItsOwnEvent) {
  SubjectRows rows = Good();
  const Json outputs = {{"rendered", "R"}};
  Document state;
  Hash256 chain = ChainStart(rows.subject);
  rows.snapshots.clear();
  for (Event& event : rows.events) {
    Json delta = Json::array({PatchAdd({"last"}, event.seq)});
    Json payload = *ParseJson(*event.payload);
    if (event.seq == 2) {
      event.type = "step.completed";
      delta.push_back(PatchAdd({"var:a"}, outputs));
      rows.completions[0].row.result_checksum = CanonicalHash(outputs);
    }
    if (event.seq == 3) delta.push_back(PatchAdd({"var:a"}, "of another step"));
    EXPECT_TRUE(state.Apply(delta).ok());
    payload[std::string(kDeltaKey)] = delta;
    payload[std::string(kRootKey)] = ToHex(state.Root());
    event.payload = DumpJson(payload);
    Seal(event, chain);
    chain = event.chain;
  }
  rows.head = Head{8, chain, state.Root(), JournalId{}, rows.events.back().timestamp};
  Report report = ReportOf(rows);
  EXPECT_TRUE(report.clean()) << DumpJson(ToJson(report));
  EXPECT_EQ(report.checked["completion.result"], 1);
  rows.completions[0].row.result_checksum[0] ^= 1;
  EXPECT_THAT(ReportOf(rows).violations, Contains(Field(&Violation::check, "completion.result")));
}

}  // namespace
}  // namespace acl::verify
