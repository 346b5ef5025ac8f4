#pragma once
// The result of a subject's fast path: what one usual input comes to, without a Decision, a Delta and a fold between. Usual means that the
// subject begins, or that an attempt ended as hoped, and that at most one step follows. A kind that offers a fast path must give the same
// bytes as Decide, Evolve, Joins and WhatNext one after the other; every build with assertions runs both and compares them
// (worker/leased_subject.cc). Rule: a new feature is written for the long way first, and the fast path declines it.

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

// What a kind remembers about the state that its fast path produced, so that the next fast path of this subject need not read the state.
struct FastPathCursor {
  virtual ~FastPathCursor() = default;
};

}  // namespace acl
