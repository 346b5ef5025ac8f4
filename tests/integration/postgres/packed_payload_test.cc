// Payloads in fewer bytes (shared/postgres/packed_payload.h, migrations/functions/unpack_payload.sql): what is read is what was written, by
// the program and by the database, and nobody who reads the view sees a difference.
#include "shared/postgres/packed_payload.h"

#include <fmt/format.h>

#include <random>

#include "tests/integration/postgres/store_fixture.h"

namespace acl {
namespace {

using pg::BesidePayload;
using pg::PackedPayload;

constexpr std::string_view kStep =
    R"({"also":[{"attempt":1,"step_id":"step_6","type":"step.started"}],"attempt":1,"state_delta":[{"op":"add","path":"/step:step_5",)"
    R"("value":{"attempts":1,"completed_at":1795576060070770,"order":5,"started_at":1795576060066367,"status":"COMPLETED"}},)"
    R"({"op":"add","path":"/progress","value":{"done":5,"open":["step_6"]}},{"op":"add","path":"/ready~10~10","value":32},)"
    R"({"op":"add","path":"/var:step_5","value":{"step":5}},{"op":"add","path":"/step:step_6","value":{"attempt":1,)"
    R"("started_at":1795576060070770,"status":"RUNNING"}}],)"
    R"("state_root":"1a9420a9cb5deb461bd03aed8e42c4ac9890bd27baf2d015f43ef0b0f572aeac","step_id":"step_5"})";
const BesidePayload kBeside{WallTimeFromMicros(1795576060070770), "step_5", "step_6"};

class PackedPayloadTest : public test::PgStoreTest {
 protected:
  static std::string Literal(std::string_view text) {
    std::string hex;
    for (const char c : text) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return "convert_from('\\x" + hex + "'::bytea, 'UTF8')";
  }
  // As the database reads it.
  std::string Shown(const PackedPayload& packed, const BesidePayload& beside) {
    const auto step = [](std::string_view id) { return id.empty() ? std::string("NULL") : Literal(id); };
    return db().Value(fmt::format("SELECT unpack_payload({}, '\\x{}', to_timestamp({} / 1e6::numeric), {}, {})", Literal(packed.text),
                                  ToHex(packed.root), MicrosOf(beside.at), step(beside.completed), step(beside.begun)));
  }
  // Of a new subject, whose event `kStep` is packed in its row.
  CommitItem CommitStep(const WorkerSessionId& session) {
    CreateOne();
    Claimed claimed = ClaimOne(session);
    const Hash256 before = claimed.head.chain;
    CommitItem item = Append(claimed, session);
    Event& event = item.events.front();
    event.payload = std::string(kStep);
    Seal(event, before);
    item.chain = event.chain;
    item.attempts = {{"step_5", 1, {}, item.last_timestamp}, {"step_6", 1, {}, item.last_timestamp}};
    item.completions = {{"step_5", 1, item.last_timestamp, Sha256("out"), event.seq}};
    EXPECT_EQ(CommitOne(item).kind, CommitOutcome::Kind::kCommitted);
    return item;
  }
};

TEST_F(PackedPayloadTest, AStepTakesAThirdAndIsReadAsItWas) {
  const auto packed = pg::Pack(kStep, kBeside);
  ASSERT_TRUE(packed.has_value());
  EXPECT_LT(packed->text.size() + packed->root.size(), kStep.size() / 4);
  EXPECT_EQ(ToHex(packed->root), "1a9420a9cb5deb461bd03aed8e42c4ac9890bd27baf2d015f43ef0b0f572aeac");
  EXPECT_EQ(pg::Unpack(*packed, kBeside), kStep);
  EXPECT_EQ(Shown(*packed, kBeside), kStep);
}

TEST_F(PackedPayloadTest, TheDatabaseHasTheSamePhrases) {
  for (std::size_t i = 0; i < pg::kPhrases.size(); ++i) {
    const PackedPayload one{std::string(1, char(pg::kFirstPhraseByte + int(i))), {}};
    EXPECT_EQ(Shown(one, {}), pg::kPhrases[i]) << i;
  }
}

// Texts put together of what is replaced, in any order and cut anywhere, and of what looks like it.
TEST_F(PackedPayloadTest, WhateverIsWrittenIsRead) {
  std::mt19937 random(20261125);
  const std::string root = ToHex(Sha256("state")), other = ToHex(Sha256("another"));
  int packed_ones = 0;
  for (int round = 0; round < 400; ++round) {
    const auto any = [&](std::size_t below) { return std::size_t(random() % below); };
    const std::string ids[] = {"", "s", "step_1", "step_10", "été", "a~1b", "1795576060070770", root.substr(0, 20)};
    const std::string completed = ids[any(8)], begun = ids[any(8)];
    const BesidePayload beside{WallTimeFromMicros(std::int64_t(1795576060070770 - int(any(2)) * 70770)), completed, begun};
    std::string text;
    for (std::size_t pieces = 1 + any(30), i = 0; i < pieces; ++i) {
      const std::string some[] = {std::string(pg::kPhrases[any(pg::kPhrases.size())]),
                                  std::to_string(MicrosOf(beside.at)),
                                  completed,
                                  begun,
                                  root,
                                  other,
                                  root.substr(0, any(64)),
                                  "é\xF0\x9F\x98\x80",
                                  "\xC2\x80",
                                  std::string(pg::kPhrases[any(pg::kPhrases.size())]).substr(0, 1 + any(12)),
                                  std::string(pg::kPhrases[17]) + root,
                                  "\\u0001"};
      text += some[any(12)];
    }
    const auto packed = pg::Pack(text, beside);
    if (!packed) continue;
    ++packed_ones;
    ASSERT_EQ(pg::Unpack(*packed, beside), text);
    ASSERT_EQ(Shown(*packed, beside), text);
  }
  EXPECT_GT(packed_ones, 100);
}

TEST_F(PackedPayloadTest, WhatCannotBePackedStaysAsItIs) {
  const std::string step(kStep);
  EXPECT_FALSE(pg::Pack(step + "\t", kBeside)) << "a byte that stands for something";
  EXPECT_FALSE(pg::Pack(step.substr(0, step.find("state_root")), kBeside)) << "no root";
  EXPECT_FALSE(pg::Pack(step + std::string(2'000, 'a'), kBeside)) << "PostgreSQL compresses it";
  EXPECT_FALSE(pg::Pack(R"({"state_root":"1a9420a9cb5deb461bd03aed8e42c4ac9890bd27baf2d015f43ef0b0f572aeac"})", kBeside)) << "no shorter";
  EXPECT_FALSE(pg::Pack("", kBeside));
}

TEST_F(PackedPayloadTest, ARowIsReadThroughTheViewAndItsContentGoesWhole) {
  const CommitItem item = CommitStep(OpenSession());
  const Event& event = item.events.front();
  const std::string its = " WHERE seq = " + std::to_string(event.seq) + " AND subject_id = " + Sql(item.subject);
  EXPECT_EQ(db().Value("SELECT payload FROM event_rows" + its), kStep);
  EXPECT_EQ(db().Value("SELECT encode(content_hash, 'hex') FROM event_rows" + its), ToHex(event.content_hash));
  EXPECT_LT(db().Count("SELECT length(payload) FROM journal_rows" + its), int(kStep.size()) / 2);
  EXPECT_EQ(db().Value("SELECT count(*) FROM journal_rows WHERE root IS NOT NULL AND content_hash IS NULL AND" + its.substr(6)), "1")
      << "in canonical order one hash is both";
  EXPECT_EQ(db().Value("SELECT payload ->> 'step_id' FROM events WHERE event_seq = " + std::to_string(event.seq) +
                       " AND workflow_id = " + Sql(item.subject)),
            "step_5");

  db().Exec("UPDATE leases SET state = 1 WHERE subject_id = " + Sql(item.subject));
  db().Exec("SELECT remove_contents(" + Sql(item.subject) + ", " + std::to_string(event.seq) + ")");
  EXPECT_EQ(db().Value("SELECT count(*) FROM journal_rows WHERE root IS NULL AND payload IS NULL AND" + its.substr(6)), "1");
}

TEST_F(PackedPayloadTest, AClaimUnpacks) {
  const WorkerSessionId session = OpenSession();
  const CommitItem item = CommitStep(session);
  ASSERT_TRUE(store().ReleaseLease(item.subject, session, item.token));
  const Claimed claimed = ClaimOne(session);
  ASSERT_EQ(claimed.events.size(), 2u);
  EXPECT_EQ(claimed.events[1].payload, kStep);
  EXPECT_EQ(claimed.events[1].content_hash, item.events[0].content_hash);
}

// Whoever writes into the view (damage on purpose, tests) writes the table.
TEST_F(PackedPayloadTest, TheViewIsWrittenInto) {
  db().Exec(
      "INSERT INTO event_rows (subject_id, seq, journal_id, type, schema_version, producer_version, token, at, checksum, content_hash, "
      "chain, "
      "payload) SELECT gen_random_uuid(), n, gen_random_uuid(), 't', 1, 'p', 1, now(), sha256('a'), sha256(CASE n WHEN 1 THEN 'a' ELSE 'b' "
      "END::bytea), sha256('c'), '{}' FROM generate_series(1, 2) n");
  EXPECT_EQ(
      db().Value("SELECT string_agg(coalesce(encode(content_hash, 'hex'), 'none'), ' ' ORDER BY seq) FROM journal_rows WHERE type = 't'"),
      "none " + ToHex(Sha256("b")));
  EXPECT_EQ(db().Value("SELECT string_agg(encode(content_hash, 'hex'), ' ' ORDER BY seq) FROM event_rows WHERE type = 't'"),
            ToHex(Sha256("a")) + " " + ToHex(Sha256("b")));
  EXPECT_EQ(db().Refusal("UPDATE event_rows SET seq = 9", "acl_service").code, Code::kDenied);
}

}  // namespace
}  // namespace acl
