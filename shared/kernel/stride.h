#pragma once
// The usual turn of a subject, said at once: an attempt ended as hoped, and of all there is to do one step is next. Decide, Evolve, Joins
// and WhatNext say the same one after the other, for several times the work; wherever a kind answers with a stride, what it says must be
// theirs to the byte, and every build with assertions asks them too and compares (worker/subject_run.cc).

#include "shared/kernel/fold.h"
#include "shared/kernel/kind.h"

namespace acl {

struct Stride {
  Folded folded;             // the completion, joined by the beginning of the next step; whole entries are leaves already
  CompletionRow completion;  // without its event's number
  StartStep start;           // an effect whose row comes first; its first attempt
  Document next_state;
};

}  // namespace acl
