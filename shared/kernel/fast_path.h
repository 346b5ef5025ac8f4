#pragma once
// The usual turn of a subject, said at once: it begins, or an attempt ended as hoped, and of all there is to do one step is next, or
// nothing. Decide, Evolve, Joins and WhatNext say the same one after the other, for several times the work; wherever a kind answers with a
// fast path, what it says must be theirs to the byte, and every build with assertions asks them too and compares
// (worker/leased_subject.cc).

#include "shared/kernel/kind.h"

namespace acl {

struct FastPathResult {
  std::vector<Event> events;                // type, payload and the payload's hashes
  std::optional<CompletionRow> completion;  // by the first event; without its number
  std::optional<StartStep> start;           // an effect whose row comes first; its first attempt
  std::optional<TimerRow> timer_set;
  std::optional<std::string> timer_cleared;
  std::optional<ListingChange> listing;
  bool closed = false;
  Document next_state;
};

// What a kind knows of the state that a fast path led to, for the next one of the same subject.
struct FastPathCursor {
  virtual ~FastPathCursor() = default;
};

}  // namespace acl
