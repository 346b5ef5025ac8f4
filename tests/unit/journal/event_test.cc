#include "shared/journal/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "shared/base/sha256.h"
#include "shared/journal/document.h"
#include "tests/unit/journal/samples.h"

namespace acl {
namespace {

using ::testing::HasSubstr;

// docs/reference/journal-format.md holds its vectors as ```json blocks: what a reader of the page recomputes is what this test recomputes.
Json VectorsOfTheDoc(const std::string& kind) {
  std::ifstream file(ACL_SOURCE_DIR "/docs/reference/journal-format.md");
  std::stringstream text;
  text << file.rdbuf();
  Json found = Json::array();
  const std::string page = text.str();
  const std::string fence = "```json\n";
  for (auto at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    at += fence.size();
    auto vector = ParseJson(page.substr(at, page.find("```", at) - at));
    EXPECT_TRUE(vector.ok()) << vector.message();
    if (vector.ok() && vector->value("vector", "") == kind) found.push_back(*vector);
  }
  return found;
}

TEST(Event, VectorsOfTheDoc) {
  const Json vectors = VectorsOfTheDoc("event");
  ASSERT_GE(vectors.size(), 3u);
  for (const Json& vector : vectors) {
    const Json& in = vector["event"];
    Event event;
    event.subject = *SubjectId::Parse(in["subject"].get<std::string>());
    event.seq = in["seq"];
    event.type = in["type"];
    event.schema_version = in["schema_version"];
    event.producer_version = in["producer_version"];
    event.token = Token{in["token"]};
    event.timestamp = *ParseWallTime(in["timestamp"].get<std::string>());
    event.payload = in["payload"].get<std::string>();
    const std::string previous = vector["previous_chain"];
    const Hash256 start = previous == "start" ? ChainStart(event.subject) : *HashFromHex(previous);
    EXPECT_EQ(ToHex(start), vector.value("chain_start", ToHex(start)));
    Seal(event, start);
    EXPECT_EQ(ToHex(event.checksum), vector["checksum"].get<std::string>()) << event.seq;
    EXPECT_EQ(ToHex(event.content_hash), vector["content_hash"].get<std::string>()) << event.seq;
    EXPECT_EQ(ToHex(ChainHeader(event)), vector["header"].get<std::string>()) << event.seq;
    EXPECT_EQ(ToHex(event.chain), vector["chain"].get<std::string>()) << event.seq;
    EXPECT_TRUE(Verify(event, start).ok());
  }
}

TEST(Event, StateRootVectorsOfTheDoc) {
  const Json vectors = VectorsOfTheDoc("state_root");
  ASSERT_GE(vectors.size(), 3u);
  for (const Json& vector : vectors) {
    EXPECT_EQ(ToHex(Document::FromJson(vector["state"])->Root()), vector["root"].get<std::string>()) << DumpJson(vector["state"]);
  }
}

TEST(Event, HeaderIsFixedInSize) {
  Event event = samples::SealedEvents(1)[0];
  EXPECT_EQ(ChainHeader(event).size(), 153u);
  event.type = std::string(50, 't');
  event.producer_version = std::string(20, 'p');
  EXPECT_EQ(ChainHeader(event).size(), 153u);
}

TEST(Event, RemovedContentStillVerifies) {
  auto events = samples::SealedEvents(2);
  events[1].payload.reset();
  auto verified = VerifyAndParse(events[1], events[0].chain);
  ASSERT_TRUE(verified.ok()) << verified.message();
  EXPECT_FALSE(verified->has_value());
  EXPECT_EQ(ParsePayload(events[1]).code(), Code::kCorrupt);
}

TEST(Event, KeyOrderAndNumberTextAreProtectedToo) {
  Event event = samples::SealedEvents(1)[0];
  const Hash256 start = ChainStart(event.subject);
  Event other = event;
  other.payload = " " + *event.payload;  // the same checksum, other bytes
  Status status = Verify(other, start);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_THAT(status.message(), HasSubstr("event 1 of " + event.subject.ToString() + ": the hash of the stored payload is"));
}

// What a careless writer would leave: every hash fits the bytes, but the checksum is of another value.
TEST(Event, ChecksumOfAnotherValueIsFound) {
  Event event = samples::SealedEvents(1)[0];
  const Hash256 start = ChainStart(event.subject);
  event.checksum[0] ^= 1;
  event.chain = ChainNext(start, event);
  EXPECT_THAT(Verify(event, start).message(), HasSubstr("the checksum is"));
}

TEST(Event, RefusesANewerSchemaAndNamesIt) {
  Event event = samples::SealedEvents(1)[0];
  const Hash256 start = ChainStart(event.subject);
  event.schema_version = EventSchemaVersion() + 1;
  Seal(event, start);
  Status status = Verify(event, start);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_THAT(status.message(), HasSubstr("the schema version is 2, expected 1 to 1"));
}

TEST(Event, PayloadsAsDeepAsAnEntryMayBe) {
  std::string deep = std::string(std::size_t(kMaxEntryDepth), '[') + std::string(std::size_t(kMaxEntryDepth), ']');
  Event event = samples::SealedEvents(1)[0];
  event.payload = R"({"state_delta":[{"op":"add","path":"/x","value":)" + deep + "}]}";
  Seal(event, ChainStart(event.subject));
  EXPECT_TRUE(Verify(event, ChainStart(event.subject)).ok());
}

// Every single bit of everything that is stored of an event and covered by the chain.
TEST(Event, AnyFlippedBitIsFound) {
  const Event good = samples::SealedEvents(3)[1];
  const Hash256 previous = samples::SealedEvents(1)[0].chain;
  ASSERT_TRUE(Verify(good, previous).ok());
  int flips = 0;
  auto found = [&](const Event& bad, const char* what) {
    ++flips;
    EXPECT_EQ(Verify(bad, previous).ok() ? Code::kInternal : Verify(bad, previous).code(), Code::kCorrupt) << what;
  };
  for (int bit = 0; bit < 8; ++bit) {
    const auto mask = std::uint8_t(1 << bit);
    for (std::size_t i = 0; i < good.payload->size(); ++i) {
      Event bad = good;
      (*bad.payload)[i] = char((*bad.payload)[i] ^ mask);
      found(bad, "payload");
    }
    for (std::size_t i = 0; i < 32; ++i) {
      for (Hash256 Event::*field : {&Event::checksum, &Event::content_hash, &Event::chain}) {
        Event bad = good;
        (bad.*field)[i] ^= mask;
        found(bad, "hash");
      }
    }
    for (std::size_t i = 0; i < 16; ++i) {
      Event bad = good;
      bad.subject.uuid.bytes[i] ^= mask;
      found(bad, "subject");
    }
    for (std::string Event::*field : {&Event::type, &Event::producer_version}) {
      for (std::size_t i = 0; i < (good.*field).size(); ++i) {
        Event bad = good;
        (bad.*field)[i] = char((bad.*field)[i] ^ mask);
        found(bad, "text");
      }
    }
  }
  for (int bit = 0; bit < 63; ++bit) {
    Event seq = good, token = good, time = good;
    seq.seq ^= std::int64_t(1) << bit;
    token.token.value ^= std::int64_t(1) << bit;
    time.timestamp = WallTimeFromMicros(MicrosOf(good.timestamp) ^ std::int64_t(1) << bit);
    found(seq, "seq");
    found(token, "token");
    found(time, "timestamp");
  }
  EXPECT_GT(flips, 2000);
}

}  // namespace
}  // namespace acl
