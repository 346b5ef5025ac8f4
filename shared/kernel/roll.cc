#include "shared/kernel/roll.h"

#include <algorithm>

#include "shared/journal/segment.h"

namespace acl {

std::optional<std::string> WrongRoll(const CommitItem& item) {
  if (!item.begins_journal) return std::nullopt;
  const auto rolls = [](const Event& event) { return event.type == kJournalRolled; };
  if (item.events.empty() || !rolls(item.events.front()) || std::any_of(item.events.begin() + 1, item.events.end(), rolls))
    return "a journal begins with the first event of its item, and with no other";
  const bool moved = std::all_of(item.events.begin(), item.events.end(), [&](const Event& e) { return e.journal == *item.begins_journal; });
  if (!moved) return "an event of the item does not stand in the journal that begins with it";
  if (!item.snapshot || item.snapshot->last_event_seq != item.base_seq)
    return "a journal begins behind a snapshot of event " + std::to_string(item.base_seq) + ", which goes with it";
  return std::nullopt;
}

Error TooYoungToDrop(milliseconds keep) {
  return {Code::kInvalid, "journals are to be kept for " + std::to_string(kLeastJournalRetention.count()) +
                              " ms at least after they ended, not " + std::to_string(keep.count())};
}

}  // namespace acl
