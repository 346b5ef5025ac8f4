#pragma once
// From what a kind decides to what the journal keeps: evolve, apply, word. Used by whoever writes events (worker, create, direct command).

#include <string>

#include "shared/journal/document.h"
#include "shared/journal/event.h"
#include "shared/kernel/kind.h"

namespace acl {

// Asks the kind for the delta, applies it to `state` and returns an event with type and payload: the facts, then state_delta and
// state_root if the state changed. Sequence, token, timestamp and hashes are the caller's (Seal). kInternal if the delta does not
// apply: a bug of the kind; `state` is unchanged then.
Result<Event> FoldDraft(const SubjectKind& kind, Document& state, const EventDraft& draft);

}  // namespace acl
