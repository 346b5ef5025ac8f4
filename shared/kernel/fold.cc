#include "shared/kernel/fold.h"

#include <fmt/format.h>

namespace acl {

Result<Event> FoldDraft(const SubjectKind& kind, Document& state, const EventDraft& draft) {
  Json delta = kind.Evolve(state, draft);
  Event event;
  event.type = draft.type;
  Json payload = draft.facts.is_object() ? draft.facts : Json::object();
  if (delta.is_array() && !delta.empty()) {
    Status applied = state.Apply(delta);
    if (!applied) {
      return Error{Code::kInternal,
                   fmt::format("kind '{}': the delta of event '{}' does not apply: {}", kind.Name(), draft.type, applied.message())};
    }
    payload[std::string(kDeltaKey)] = std::move(delta);
    payload[std::string(kRootKey)] = ToHex(state.Root());
  }
  event.payload = DumpJson(payload);
  return event;
}

}  // namespace acl
