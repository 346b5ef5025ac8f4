#pragma once
// Subjects made in one statement (docs/architecture.md#create): what most runs are. A timer, something in the content store or a request
// key that was used before needs the function create_and_grant, whose ten statements are each set up by themselves: that costs PostgreSQL
// twice as much.

#include <span>
#include <vector>

#include "shared/kernel/types.h"
#include "shared/postgres/connection.h"

namespace acl::pg {

// An item with its first events sealed under the token and time that its row will bear.
struct SealedItem {
  const CreateItem* item;
  JournalId journal;
  std::vector<Event> events;
  Hash256 chain;
};
std::vector<SealedItem> SealItems(std::span<const CreateItem> items, Token token, WallTime now);

// Answers a row an item: its number from 1, whether it went to its session, the database's time. No row: nothing was written, for the
// token is not that of the epoch any more, or a request key is taken.
struct BoundCreate {
  const Statement* statement;  // create.keyed if some item has a request key, else create.plain
  Params params;
};
// What the head row says: counted from `now`, when the item is made.
std::optional<WallTime> DeadlineOf(const CreateItem& item, WallTime now);
bool FitsOneStatement(std::span<const CreateItem> items);
BoundCreate BindCreate(std::span<const SealedItem> items, Token token, WallTime now, const RowTypes& types);

}  // namespace acl::pg
