#pragma once
// What a coordinator does with a commanded subject (shared/kernel/command.h), without a clock and without I/O but for the contents that a
// restore reads: bring what is remembered up to date, decide what was asked.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shared/journal/snapshot.h"
#include "shared/kernel/command.h"

namespace acl::coordinator {

// A subject as it is remembered.
struct Known {
  Restored restored;               // state, sequence and chain; `replayed`: events since the newest snapshot
  WallTime head_at;                // of the last event
  std::optional<Snapshot> newest;  // snapshot that is stored, without its text
  std::int64_t journal_first = 1;  // the event that its journal begins with
};

// Brings it to the view's head. kConflict: what was remembered is not what this journal says (a failover lost the end of it): forget it and
// ask with known_seq 0. kCorrupt: the journal does not verify.
Status CatchUp(const CommandView& view, const ChunkReader& read_chunk, Known& known);
// The same of events that were read without a lease.
Status GoOn(const SubjectId& subject, const std::vector<Event>& events, const ChunkReader& read_chunk, Known& known);

struct CommandAsked {
  Json command;
  std::optional<std::string> key;  // request key
  Hash256 hash{};                  // of the canonical command
};
struct Reply {
  std::int64_t head_seq = 0;  // after it
  Json answer;
  bool replayed = false;      // the key is known: what was answered then
  bool key_conflict = false;  // the key is known, of another command: nothing is answered
};
struct Round {
  std::optional<CommandItem> item;  // nullopt: nothing is to be written
  std::vector<Reply> replies;       // one for each that was asked
  Known after;                      // if the item lands
};

// First what is unread, then each command in turn on what the one before left. `inbox`: the view's, read. `closing`: a snapshot of the
// view's head, which ends the journal: what is written begins the next (shared/kernel/roll.h). kInternal: a bug of the kind.
Result<Round> DecideRound(const CommandKind& kind, const CommandView& view, std::vector<InboxInput> inbox, const Known& known,
                          std::span<const CommandAsked> asked, Aid* aid = nullptr, const std::optional<Snapshot>& closing = std::nullopt);

}  // namespace acl::coordinator
