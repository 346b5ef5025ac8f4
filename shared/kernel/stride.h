#pragma once
// The usual turn of a subject, said at once: an attempt ended as hoped, and of all there is to do one step is next. Decide, Evolve, Joins
// and WhatNext say the same one after the other, for several times the work; wherever a kind answers with a stride, what it says must be
// theirs to the byte, and every build with assertions asks them too and compares (worker/subject_run.cc).

#include "shared/kernel/kind.h"

namespace acl {

struct Stride {
  Event event;               // the completion, joined by the beginning of the next step: type, payload and the payload's hashes
  CompletionRow completion;  // without its event's number
  StartStep start;           // an effect whose row comes first; its first attempt
  Document next_state;
};

// What a kind knows of the state that a stride led to, for the next one of the same subject.
struct Footing {
  virtual ~Footing() = default;
};

}  // namespace acl
