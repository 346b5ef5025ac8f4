#include "shared/kernel/fold.h"

#include <fmt/format.h>

namespace acl {

Result<Folded> Fold(const SubjectKind& kind, Document& state, const EventDraft& draft) {
  Folded folded;
  Json delta = kind.Evolve(state, draft);
  folded.type = draft.type;
  if (draft.facts.is_object()) folded.facts = draft.facts;
  if (delta.is_array() && !delta.empty()) {
    Status applied = state.Apply(delta);
    if (!applied) {
      return Error{Code::kInternal,
                   fmt::format("kind '{}': the delta of event '{}' does not apply: {}", kind.Name(), draft.type, applied.message())};
    }
    folded.delta = std::move(delta);
  }
  return folded;
}

void Folded::Join(Folded next) {
  Json one = {{"type", std::move(next.type)}};
  for (auto it = next.facts.begin(); it != next.facts.end(); ++it) {
    if (it.key() == "at" && facts.value("at", Json()) == it.value()) continue;  // the same moment
    one[it.key()] = std::move(it.value());
  }
  also.push_back(std::move(one));
  for (Json& operation : next.delta) delta.push_back(std::move(operation));
}

Json PayloadOf(Folded folded, const Hash256& root) {
  Json payload = std::move(folded.facts);
  if (!folded.also.empty()) payload[std::string(kAlsoKey)] = std::move(folded.also);
  if (!folded.delta.empty()) {
    payload[std::string(kDeltaKey)] = std::move(folded.delta);
    payload[std::string(kRootKey)] = ToHex(root);
  }
  return payload;
}

Result<Event> FoldDraft(const SubjectKind& kind, Document& state, const EventDraft& draft) {
  auto folded = Fold(kind, state, draft);
  if (!folded) return folded.error();
  Event event;
  event.type = folded->type;
  const Json payload = PayloadOf(std::move(*folded), state.Root());
  event.payload = DumpJson(payload);
  HashPayload(event, payload);
  return event;
}

}  // namespace acl
