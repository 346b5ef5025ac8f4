#pragma once
// From what a kind decides to what the journal keeps: evolve, apply, word. Used by whoever writes events (worker, create, direct command).

#include <string>

#include "shared/journal/document.h"
#include "shared/journal/event.h"
#include "shared/kernel/kind.h"

namespace acl {

// An event being made: what happened, and what it does to the state.
struct Folded {
  std::string type;
  Json facts = Json::object();
  Json delta = Json::array();
  Json also = Json::array();  // facts of what joined it, each with its "type"

  // Takes in what happened next, whose delta applies after this one's. An entry that both write whole, or of which the next one writes a
  // member, is written once.
  void Join(Folded next);
};
// Asks the kind for the delta and applies it to `state`. kInternal if it does not apply: a bug of the kind; `state` is unchanged then.
Result<Folded> Fold(const SubjectKind& kind, Document& state, EventDraft draft);
// The payload: the facts, "also" if something joined it, then state_delta and state_root if the state changed; `root` is that after it.
Json PayloadOf(Folded folded, const Hash256& root);

// Both, with the payload's hashes. Asks the kind for the delta, applies it to `state` and returns an event with type and payload: the
// facts, then state_delta and state_root if the state changed. Sequence, token, timestamp and hashes are the caller's (Seal). kInternal if
// the delta does not apply: a bug of the kind; `state` is unchanged then.
Result<Event> FoldDraft(const SubjectKind& kind, Document& state, EventDraft draft);

}  // namespace acl
