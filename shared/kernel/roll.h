#pragma once
// When a journal ends and the next one of its subject begins (shared/journal/segment.h). Pure; used by whoever builds items.
//
// A journal that is due ends at the first commit that carries a snapshot of the head that it was decided on: that snapshot closes it, and
// the first event of the commit begins the next (ItemBuilder::Roll).

#include <cstdint>
#include <optional>
#include <string>

#include "shared/kernel/types.h"

namespace acl {

// Four of the longest distances between two snapshots (SnapshotDue): a closing snapshot is kept as long as the journal behind it, and takes
// about a hundredth of what it closes; a claim reads the attempts of one journal. Tests roll sooner.
inline constexpr std::int64_t kSegmentEvents = 2'048;
// A journal has its first event, which says what it stands on, and more than that: else one would follow the other for ever.
inline constexpr std::int64_t kLeastSegmentEvents = 2;

constexpr bool RollDue(std::int64_t head_seq, std::int64_t journal_first, std::int64_t segment_events = kSegmentEvents) {
  return head_seq - journal_first + 1 >= segment_events;
}

// No journal is dropped that ended more lately: whoever reads or restores a subject goes on undisturbed.
inline constexpr milliseconds kLeastJournalRetention{3'600'000};
Error TooYoungToDrop(milliseconds keep);

// What stores refuse: nullopt if the item begins no journal, or begins one as it must.
std::optional<std::string> WrongRoll(const CommitItem& item);

}  // namespace acl
