#pragma once
// The group commit: one statement, many subjects, one outcome per subject (docs/architecture.md#commit). Used by Commit and, inside
// a transaction, by direct commands.

#include <span>

#include "shared/kernel/types.h"
#include "shared/postgres/connection.h"

namespace acl::pg {

// What a batch needs decides the statement: plan nodes that find nothing to do are set up for every batch all the same.
enum class CommitForm {
  kOne,     // one item that keeps its lease and writes one event, with the completion and the attempt that stand in its row
  kFirst,   // ... and sets timers or changes the listing: as a run starts
  kLast,    // one item that closes, with any number of such events: as a run ends
  kKeep,    // any number of items that keep theirs, of any number of such events
  kRun,     // leases released or closed, timers and listings besides: how most runs start and end
  kReady,   // ready rows besides: released to whoever claims next
  kRows,    // attempts and completions besides that have rows of their own
  kFull,    // everything but
  kRolled,  // journals that begin
};
const Statement& CommitStatement(CommitForm form);
CommitForm FormOf(std::span<const CommitItem> items);

// `direct`: the items belong to a direct command, whose lease is free and locked by the same transaction.
Params BindCommit(std::span<const CommitItem> items, CommitForm form, bool direct, const RowTypes& types);

// What of an item stands in the rows of its events (migrations/0004_journal.sql), by event: an attempt, and a completion that names the
// event and is of its time; by place in the item, -1: none.
struct EventRoom {
  int completion = -1, attempt = -1;
};
std::vector<EventRoom> RoomInEvents(const CommitItem& item);
// Whether nothing of it needs a row of its own.
bool AllInEvents(const CommitItem& item);

// A row of the type commit_event, of the item of that number.
void AddEvent(RowArray& events, int item, const Event& event);

// One outcome per item, in order. Throws std::exception if a row does not decode.
std::vector<CommitOutcome> DecodeCommit(const Rows& rows, std::span<const CommitItem> items);

// What no database is needed to see: nullopt if the item is well formed.
std::optional<std::string> Validate(const CommitItem& item);

}  // namespace acl::pg
