#pragma once
// Where one journal of a subject ends and the next begins (docs/architecture.md#invariant-1; docs/reference/journal-format.md, "Journals of
// a subject"). The first event of each journal but the first says what it stands on: the old journal's last chain and the root of the
// snapshot that closes it. Its type is the kernel's own: no kind decides one.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shared/journal/event.h"

namespace acl {

inline constexpr std::string_view kJournalRolled = "journal.rolled";

struct SegmentStart {
  JournalId closed;           // the journal that ends before it
  Hash256 chain{};            // of its last event
  std::int64_t last_seq = 0;  // of that event; the closing snapshot's too
  Hash256 state_root{};       // after it
  friend bool operator==(const SegmentStart&, const SegmentStart&) = default;
};

// The id of the journal of the subject that begins with that event: the same for whoever decides it again.
JournalId JournalIdAt(const SubjectId& subject, std::int64_t first_seq);

// Type, payload and the payload's hashes; the rest is the caller's.
Event MakeSegmentEvent(const SegmentStart& start);
// kCorrupt: not what MakeSegmentEvent writes.
Result<SegmentStart> ParseSegmentStart(const Json& payload);
// kCorrupt, if the first event of a journal names another chain or place than that of the event before it. Its root is every event's check.
Status CheckSegmentStart(const Json& payload, std::int64_t seq, const Hash256& chain_before);

// Of events of which the oldest journals were dropped by retention: a reader asked for those behind `after`, and the first that is there is
// `first_kept`. Empty if nothing is missing between the two.
std::string DroppedText(const SubjectId& subject, std::int64_t after, std::int64_t first_kept);

}  // namespace acl
