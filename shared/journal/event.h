#pragma once
// An event of a subject's journal, its checksum and its place in the hash chain (docs/architecture.md#invariant-1,
// docs/architecture.md#invariant-2; document 000, 11.7.1). Byte layout and test vectors: docs/reference/journal-format.md.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/json.h"

namespace acl {

// Version of the stored event format, of payloads and of snapshots. A reader refuses a newer one (kCorrupt names the version).
// A function, and weak: the tests link programs of the version to come (tests/versions).
int EventSchemaVersion();
inline constexpr int kSnapshotSchemaVersion = 1;
inline constexpr std::string_view kProducerVersion = "0.1.0";

struct Event {
  SubjectId subject;
  std::int64_t seq = 0;  // gapless from 1
  JournalId journal;     // the segment it stands in
  std::string type;      // at most 50 characters, e.g. "step.completed"
  int schema_version = EventSchemaVersion();
  std::string producer_version{kProducerVersion};  // at most 20 characters
  Token token;                                     // the writer's
  WallTime timestamp;                              // the database's time, never below the subject's last
  Hash256 checksum{};                              // SHA-256 over RFC 8785 of the payload
  Hash256 content_hash{};                          // SHA-256 of the stored payload bytes
  Hash256 chain{};                                 // SHA-256(previous chain, header, content_hash)
  std::optional<std::string> payload;              // JSON text; gone if retention removed the content
  bool offloaded = false;                          // its row has no payload: the content store has it, under content_hash

  friend bool operator==(const Event&, const Event&) = default;
};

inline constexpr std::size_t kEventTypeBytes = 50, kProducerBytes = 20;

// The fixed binary header that the chain covers. ACL_CHECK: type and producer version are not longer than their fields.
std::string ChainHeader(const Event& event);
Hash256 ChainNext(const Hash256& previous, const Event& event);
// Fills checksum, content_hash and chain from payload and the rest. ACL_CHECK: the payload is JSON text (DumpJson of something storable).
void Seal(Event& event, const Hash256& previous_chain);
// The same for whoever has the value that the payload is the text of.
void Seal(Event& event, const Hash256& previous_chain, const Json& payload);
// The part of it that only the payload decides: checksum and content hash.
void HashPayload(Event& event, const Json& payload);
// kCorrupt with what was expected, if checksum, content hash or chain do not hold, or the schema version is newer than ours.
// A removed payload verifies by its hashes.
Status Verify(const Event& event, const Hash256& previous_chain);
// The same, and the payload as read on the way; nullopt if the content was removed.
Result<std::optional<Json>> VerifyAndParse(const Event& event, const Hash256& previous_chain);
// Its two halves: all but the checksum; the payload, and the checksum of it.
Status VerifySeal(const Event& event, const Hash256& previous_chain);
Result<std::optional<Json>> ParseAndCheck(const Event& event);
// The payload of an event whose content is there: stored text may nest deeper than ParseJson's own limit. kCorrupt if it is not JSON.
Result<Json> ParsePayload(const Event& event);

// The chain before the first event of a subject: SHA-256("acl-journal-v1", subject id bytes).
Hash256 ChainStart(const SubjectId& subject);

// What happened in the same moment and needs no row of its own: facts, each with its "type" (docs/reference/events.md). Its delta stands
// with the others.
inline constexpr std::string_view kAlsoKey = "also";
// Payload of an event that changes state: the kind's facts, "state_delta" (RFC 6902) and "state_root" (hex).
inline constexpr std::string_view kDeltaKey = "state_delta";
inline constexpr std::string_view kRootKey = "state_root";

// An event as a kind decides it. `facts` is stored; `carried` is what only `Evolve` needs to make the delta (a step's outputs
// stand in the delta, not twice).
struct EventDraft {
  std::string type;
  Json facts = Json::object();
  Json carried = Json::object();
  WallTime at{};  // of the event, for `Evolve`; not stored twice
};

}  // namespace acl
