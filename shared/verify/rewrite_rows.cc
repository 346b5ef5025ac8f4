#include "shared/verify/rewrite_rows.h"

#include <set>

#include "shared/kernel/item_builder.h"
#include "shared/kernel/stored_chunks.h"
#include "shared/postgres/store_calls.h"
#include "shared/verify/shown_rows.h"

namespace acl::verify {

namespace {

using Place = std::pair<std::string, std::string>;  // table and id

Result<std::set<Place>> RowsThere(PgStore& store, const SubjectId& subject) {
  pg::Params params;
  auto rows = pg::RunOne(store.pool(), kShownRows, params.Id("first", subject).Id("last", subject));
  if (!rows) return rows.error();
  return pg::Decoded<std::set<Place>>("verify.shown", [&] {
    std::set<Place> there;
    for (int i = 0; i < rows->size(); ++i) there.emplace(rows->Text(i, 1), rows->Text(i, 2));
    return there;
  });
}

}  // namespace

// Rows that come in after they were looked at here belong to what the command reads: only what it does not know goes.
Result<Rewritten> RewriteRows(PgStore& store, const CommandKind& kind, const SubjectId& subject) {
  auto there = RowsThere(store, subject);
  if (!there) return there.error();
  CommandRequest request;
  request.subject = subject;
  request.takes_inbox = false;
  Rewritten rewritten;
  auto outcome = store.Command(request, [&](const CommandView& view) -> Result<std::optional<CommandItem>> {
    const Claimed& claimed = view.claimed;
    if (claimed.kind != kind.Name()) return Error{Code::kNotFound, "there is no " + std::string(kind.Name()) + " " + subject.ToString()};
    auto restored = Restore(subject, claimed.snapshot, claimed.events, ReaderOf(store, claimed.snapshot, claimed.events));
    if (!restored) return restored.error();
    if (Status whole = MatchesHead(*restored, claimed.head.seq, claimed.head.chain, claimed.head.state_root); !whole) return whole.error();
    CommandItem item;
    item.item = BeginItem(BaseOf(claimed, WorkerSessionId{}), claimed.head.state_root);
    std::set<Place> surplus = *there;
    restored->state.ForEach([&](const std::string& key, const Json& value) {
      if (auto row = kind.Show(key, &value)) {
        surplus.erase(Place(row->table, row->id));
        item.rows.push_back(std::move(*row));
      }
      return true;
    });
    rewritten = {int(item.rows.size()), int(surplus.size())};
    for (const Place& place : surplus) item.rows.push_back({place.first, place.second, std::nullopt});
    return std::optional(std::move(item));
  });
  if (!outcome) return outcome.error();
  if (outcome->kind != CommitOutcome::Kind::kCommitted)
    return Error{Code::kUnavailable, subject.ToString() + ": somebody else wrote to it, ask again: " + outcome->error};
  return rewritten;
}

}  // namespace acl::verify
