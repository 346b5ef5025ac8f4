#pragma once
// Payloads of events in fewer bytes (migrations/0148): what every step says stands as one byte, what the row's columns say is not said
// again. JSON text has no byte below 0x20, so each of those stands for a text: the root of the state, the event's time, the step that it
// completes, the step that it begins, and phrases. Only the stored form changes: hashes, readers and the view `event_rows` have the payload
// as it was written. A step of ten in a row takes 730 bytes, packed 210.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/clock.h"
#include "shared/base/ids.h"

namespace acl::pg {

// What stands for a text of the row, in the packed form.
inline constexpr char kRootByte = 0x01, kAtByte = 0x02, kCompletedByte = 0x03, kBegunByte = 0x04, kFirstPhraseByte = 0x05;

// Phrase n is said by kFirstPhraseByte + n, in rows that are there for ever: none is changed, new ones are added (one byte is left, for a
// second list). unpack_payload() of the database has the same.
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
