#pragma once
// From what a kind decides to what the journal keeps: evolve, apply, word. Used by whoever writes events (worker, create, direct command).

#include <string>
#include <vector>

#include "shared/journal/document.h"
#include "shared/journal/event.h"
#include "shared/kernel/kind.h"

namespace acl {

// An event being made: what happened, and what it does to the state.
struct Folded {
  struct Also {
    std::string type;
    Json facts;
  };

  std::string type;
  Json facts = Json::object();
  Delta delta;
  std::vector<Also> also;  // what joined it

  // Takes in what happened next, whose delta applied after this one's and led to `state`. An entry that both write whole, or of which the
  // next one writes a member, is written once.
  void Join(Folded next, const Document& state);
  void DestroyIteratively();  // json_object.h: it is about to go
};
// Asks the kind for the delta and applies it to `state`. kInternal if it does not apply: a bug of the kind; `state` is unchanged then.
Result<Folded> Fold(const SubjectKind& kind, Document& state, EventDraft draft);
// Gives the event its payload and the payload's hashes: the facts, "also" if something joined it, state_delta and state_root if the state
// changed; `state` is that after it. Keys are in canonical order, so that the text and its canonical form are mostly the same.
void WordPayload(const Folded& folded, const Document& state, Event& event);

// Both. Asks the kind for the delta, applies it to `state` and returns an event with type and payload. Sequence, token, timestamp and chain
// are the caller's. kInternal if the delta does not apply: a bug of the kind; `state` is unchanged then.
Result<Event> FoldDraft(const SubjectKind& kind, Document& state, EventDraft draft);

}  // namespace acl
