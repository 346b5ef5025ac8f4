#pragma once
// Payloads of events in fewer bytes (migrations/functions/unpack_payload.sql): a phrase that occurs in every step's payload becomes one
// byte, and what the row's columns say is not repeated. JSON text has no byte below 0x20, so each of those bytes can stand for a text: the
// root of the state, the event's time, the step that the event completes, the step that it begins, or a phrase. Only the stored form
// changes: hashes, readers and the view `event_rows` have the payload as it was written. A packed step of ten in a row takes 210 bytes
// instead of 730.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/base/ids.h"

namespace acl::pg {

// The byte that stands in a packed payload for a text of the row's own columns.
inline constexpr char kRootByte = 0x01, kAtByte = 0x02, kCompletedByte = 0x03, kBegunByte = 0x04, kFirstPhraseByte = 0x05;

// The byte kFirstPhraseByte + n stands for phrase n. Stored rows hold these bytes for ever, so a phrase is never changed or removed; a new
// one may be added, and one byte value is left for a second list. unpack_payload() of the database has the same phrases.
inline constexpr std::array<std::string_view, 26> kPhrases = {
    R"({"also":[{"attempt":1,"step_id":")",
    R"(","type":"step.started"}],)",
    R"("attempt":1,"state_delta":[{"op":"add","path":"/step:)",
    R"(","value":{"attempts":1,"completed_at":)",
    R"(,"order":)",
    R"(,"started_at":)",
    R"(,"status":"COMPLETED"}},{"op":"add","path":"/progress","value":{"done":)",
    R"(,"open":[")",
    R"("]}},{"op":"add","path":"/ready~10~10","value":)",
    R"(},{"op":"add","path":"/var:)",
    R"(","value":)",
    R"(},{"op":"add","path":"/step:)",
    R"(","value":{"attempt":1,"started_at":)",
    R"(,"status":"RUNNING"}}],"state_root":")",
    R"(","step_id":")",
    R"(},{"op":"add","path":"/)",
    R"("state_delta":[{"op":"add","path":"/)",
    R"(],"state_root":")",
    R"(,"status":")",
    R"(},{"op":"remove","path":"/)",
    R"("type":"step.)",
    R"("}},{"op":"add","path":"/ready~10~10","value":)",
    R"(run/completed_at)",
    R"("outputs)",
    R"("error":")",
    R"("attempt":)",
};

// The columns of an event's row that its payload may repeat. Steps: empty if the column is null.
struct BesidePayload {
  WallTime at;
  std::string_view completed, begun;
};

struct PackedPayload {
  std::string text;
  Hash256 root{};  // of the state, as the payload names it: a column of its own
};

// nullopt: it is stored as it is, because it names no root, is long (PostgreSQL compresses rows of 2 kB and more) or does not become
// shorter.
std::optional<PackedPayload> Pack(std::string_view payload, const BesidePayload& beside);
std::string Unpack(const PackedPayload& packed, const BesidePayload& beside);

}  // namespace acl::pg
