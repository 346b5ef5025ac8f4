#include "shared/capability/inbox_inputs.h"

#include <algorithm>

#include "shared/capability/dispatch_format.h"

namespace acl {

namespace {

constexpr std::string_view kReleased = "quarantine_released";
constexpr std::string_view kDecision = "decide";  // on an approval: it counts from when the database took it, however late a worker is

}  // namespace

InboxRead ReadInbox(std::span<const InboxRow> rows, const std::function<bool(const InboxRow&)>& wanted) {
  InboxRead read;
  const auto last_release = std::find_if(rows.rbegin(), rows.rend(), [](const InboxRow& row) { return row.kind == kReleased; });
  auto settled = rows.rend() - last_release;  // what stands before a release was seen by whoever released it
  auto releases_end = std::ptrdiff_t(0);
  for (const InboxRow& row : rows) {
    const bool seen_by_a_person = settled-- > 0;
    if (wanted && !wanted(row)) continue;
    auto parsed = ParseJson(row.payload, kStoredJson);
    InboxInput input{row.id, row.kind, parsed ? std::move(*parsed) : Json::object()};
    if (row.kind == kDecision && input.payload.is_object()) input.payload["received_at"] = FormatWallTime(row.created_at);
    if (row.kind == kDispatchResultKind) {
      if (seen_by_a_person) AcknowledgeDamage(input.payload);
      if (read.damage.empty()) read.damage = DamageIn(input.payload);
    }
    if (row.kind == kReleased) {
      read.inputs.insert(read.inputs.begin() + releases_end++, std::move(input));
    } else {
      read.inputs.push_back(std::move(input));
    }
  }
  return read;
}

}  // namespace acl
