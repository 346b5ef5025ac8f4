#pragma once
// A second, tiny kind of subject: proof that the kernel knows subjects, not workflows. A counter runs `steps` steps one after another,
// counts signals, can be stopped, and takes synchronous commands (increment) through KernelStore::Direct.
//
// State: "counter" = {steps, done, signals, value, stopped, closed}; per open step "step:<id>" = {tries, retry_at?, uncertain?}.

#include "shared/kernel/kind.h"
#include "shared/kernel/store.h"

namespace acl::test {

struct CounterOptions {
  int steps = 5;
  std::string effects = "prin";  // the effect class of step i is effects[i % size]: p(ure) r(ead) i(dempotent) n(on-idempotent)
  bool wait_for_stop = false;    // all steps done, it goes on waiting for signals until a "stop" comes
};

class CounterKind final : public SubjectKind {
 public:
  std::string_view Name() const override { return "counter"; }
  Decision Decide(const Document& state, const Input& input, WallTime now) const override;
  Delta Evolve(const Document& state, const EventDraft& draft) const override;
  Next WhatNext(const Document& state, const NextContext& context) const override;
  SubjectTrace Trace(const Document&) const override { return trace; }
  StepTrace TraceOf(const Document& state, const std::string& step_id) const override;

  // The promise of the next step stands with the result of the one before, if `joins`.
  bool Joins(std::string_view event, std::string_view next) const override {
    return joins && event == "step.completed" && next == "step.started";
  }

  SubjectTrace trace;  // of every counter
  bool joins = false;

  // The first event and everything a new counter needs.
  CreateItem MakeCreateItem(const SubjectId& subject, const CounterOptions& options) const;
  // A synchronous command: adds to the value, refused (as an event) once closed.
  DirectDecider Increment(int by) const;
};

}  // namespace acl::test
