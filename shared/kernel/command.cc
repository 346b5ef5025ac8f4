#include "shared/kernel/command.h"

namespace acl {

std::vector<ShownRow> RowsOf(const CommandKind& kind, const Event& event) {
  if (!kind.ShowsEvents() || !event.payload) return {};
  const auto facts = ParseJson(*event.payload, kStoredJson);
  return facts ? kind.ShowEvent(event.type, *facts, event.timestamp) : std::vector<ShownRow>();
}

}  // namespace acl
