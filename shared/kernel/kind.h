#pragma once
// What a kind of subject (workflow run, project, agent session) brings to the kernel: a pure state machine over a Document.
//
//   input  --Decide-->  event drafts + row effects        (what happened, what is promised)
//   draft  --Evolve-->  delta of the state (JSON Patch)   (what the journal keeps)
//   state  --Next---->  what to start, or what to wait for
//
// All three are pure: same arguments, same answer; no clock, no randomness, no I/O. The kernel applies deltas, seals events, keeps
// the root, commits, and runs what Next names. On replay only deltas are applied: Evolve is never called for an old event.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "shared/base/trace_context.h"
#include "shared/journal/document.h"
#include "shared/journal/event.h"
#include "shared/kernel/types.h"

namespace acl {

// ---- inputs

// First input after every claim. `open_attempts`: attempts whose outcome nobody recorded; the previous holder may have run them.
struct ResumedInput {
  std::vector<AttemptRow> open_attempts;
  int died_alone = 0;  // workers in a row for whose death this subject alone is to blame, with no step completed between (suspicion.h)
};

// A file that a step changed in the run's workspace (docs/architecture.md#workspaces): contents are in the content store already.
struct FileChange {
  std::string path;             // relative, "/"-separated, normalised
  std::optional<Hash256> hash;  // nullopt: deleted
  std::int64_t size = 0;
  int mode = 0644;  // permission bits; directories are entries too, with is_dir
  bool is_dir = false;
  // What the attempt found at the path: the checksum of the manifest's entry, zeros if there was none. Unset: nobody looked.
  // A change that leaves the path as it was found says that the attempt relied on it (the folder that it wrote into).
  std::optional<Hash256> found;
  // Of a directory: the attempt made or replaced the whole tree, so nothing that it did not see may lie below the path.
  bool whole = false;
};

struct StepResult {
  enum class Outcome {
    kSucceeded,
    kFailed,      // a known failure: counts as an attempt, may be retried
    kTimedOut,    // ended at its deadline, a known failure: nothing reached the outside, or it may safely be done again (else kUnknown)
    kCancelled,   // stopped because it was asked to
    kNotStarted,  // the effect was never begun (drain, margin): does not count
    kUnknown,     // it may have happened (connection lost after sending, program killed at its timeout)
  } outcome = Outcome::kSucceeded;
  Json outputs = Json::object();
  std::string error;
  bool retryable = true;
  milliseconds retry_after{0};  // of a failure: the next attempt is not made sooner (Retry-After of HTTP)
  std::vector<FileChange> files;
  milliseconds duration{0};
  // A stored content is gone or changed: the subject is quarantined with this reason, whatever the outcome says.
  std::string damaged;
  // The worker is short of disk, descriptors, processes or memory, and nothing was begun (kNotStarted): it pauses, and others are asked.
  std::string short_of;
};

struct StepFinishedInput {
  std::string step_id;
  int attempt_id = 0;
  StepResult result;
  Json note;  // of its StartStep
};

struct InboxInput {
  InboxId id;
  std::string kind;  // "cancel", "pause", "resume", "signal", "timer", "resolve" ...
  Json payload;
};

// Where a step is sent that any worker of another queue or priority shall run (docs/architecture.md#dispatch).
struct DispatchTarget {
  std::string queue;
  int priority = 1;
  friend bool operator==(const DispatchTarget&, const DispatchTarget&) = default;
};

// One attempt to start. Its row is committed before it runs unless the effect is pure or read (then with its completion).
struct StartStep {
  std::string step_id;
  EffectClass effect = EffectClass::kPure;
  Json call;                    // opaque to the kernel: what the StepRunner needs (capability, inputs ...)
  std::string idempotency_key;  // stable across attempts and takeovers
  milliseconds timeout{0};      // of this attempt; 0 = none
  Json note;                    // opaque too: what the kind wants to know of this start when its result comes; only in memory
  // Set: a dispatch for other workers instead, whatever the effect; its row and its dispatch go with the commit, its result comes as an
  // input.
  std::optional<DispatchTarget> target;
  friend bool operator==(const StartStep&, const StartStep&) = default;
};

// An attempt that WhatNext named is about to start: its row goes with this commit (dispatches; of what runs here, idempotent and
// non-idempotent effects only, for which the call's inputs are journaled before anything reaches the outside, so that every later attempt
// sends the same). A decision without events refuses: the state has moved on, the attempt must not start.
struct StartingInput {
  StartStep step;
  int attempt_id = 0;
};

using Input = std::variant<ResumedInput, StartingInput, StepFinishedInput, InboxInput>;

// ---- decisions

struct Decision {
  std::vector<EventDraft> events;
  std::vector<AttemptRow> attempts;        // that nobody ran and that completed now: of a step that only waits
  std::vector<CompletionRow> completions;  // event_seq = 1-based index into `events`; the kernel adds the base
  std::vector<TimerRow> timers_set;
  std::vector<std::string> timers_cleared;
  std::vector<CompensationRow> compensations;
  std::vector<DispatchRow> dispatches;            // of a StartingInput with a target: that one
  std::vector<DispatchKey> dispatches_cancelled;  // wanted back: those nobody took end at once, those that run are asked to stop
  std::vector<OutboxRow> outbox;
  std::vector<Hash256> contents;  // that the events name (files of the run): kept from now on
  std::optional<ListingChange> listing;
  std::vector<std::string> cancel_steps;  // running attempts to stop (step ids)
  bool cancel_all = false;                // stop every running attempt (a kind does not know those of pure and read steps)
};

struct NextContext {
  WallTime now;
  std::set<std::string> running;  // step ids with an attempt in flight in this process
  int free_slots = 1;
  bool may_dispatch = true;  // false: nothing new begins, dispatches neither
};

struct Next {
  std::vector<StartStep> start;  // in order; at most free_slots, dispatches not counted
  bool closed = false;           // terminal: close the subject
  // Nothing to start and nothing running: what would wake it. Empty reason with nothing to start and nothing running is a bug.
  std::optional<Waiting> waiting;
};

// ---- traces (worker/trace_observer.h); nothing is decided by them

struct SubjectTrace {
  TraceContext parent;  // the trace, and the span of whoever made the subject; no ids if the kind keeps none
  std::string name;     // of the workflow, for people
};

struct StepTrace {
  bool over = true;      // no further attempt will be made
  int open_attempt = 0;  // started, and its outcome is not recorded; 0: none
};

struct FastPathCursor;  // fast_path.h
struct FastPathResult;

class SubjectKind {
 public:
  virtual ~SubjectKind() = default;
  virtual std::string_view Name() const = 0;
  // `now` is the event time (database time + own steady clock): every fire_at and deadline is computed from it.
  virtual Decision Decide(const Document& state, const Input& input, WallTime now) const = 0;
  virtual Delta Evolve(const Document& state, const EventDraft& draft) const = 0;
  // Whether what is decided next in the same commit may stand in the event before it instead of in one of its own (fold.h, `also`).
  virtual bool Joins(std::string_view /*event*/, std::string_view /*next*/) const { return false; }
  virtual Next WhatNext(const Document& state, const NextContext& context) const = 0;
  // The fast path: Decide, Evolve, Joins and WhatNext in one call, for the usual input (the first after a claim, or an attempt that ended
  // as hoped) of a subject that runs nothing else and has no unread input. Returns false and changes nothing if the case is not the usual
  // one; the caller then takes the long way. `at` is the time of the events. `goes_on` says whether the next step may begin in this worker;
  // else the lease is released. `cursor` is what the kind left there at the fast path that led to this state, or null. If a step begins,
  // the call may move the outputs out of `input`.
  virtual bool TryFastPath(const Document& /*state*/, Input& /*input*/, WallTime /*at*/, bool /*goes_on*/,
                           std::shared_ptr<FastPathCursor>& /*cursor*/, FastPathResult& /*fast path*/) const {
    return false;
  }
  // Of the request that made the subject, for log lines and spans of everything that is done for it.
  virtual SubjectTrace Trace(const Document& /*state*/) const { return {}; }
  virtual StepTrace TraceOf(const Document& /*state*/, const std::string& /*step_id*/) const { return {}; }
};

class KindRegistry {
 public:
  void Add(std::shared_ptr<const SubjectKind> kind) { kinds_[std::string(kind->Name())] = std::move(kind); }
  const SubjectKind* Find(const std::string& name) const {
    auto it = kinds_.find(name);
    return it == kinds_.end() ? nullptr : it->second.get();
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, kind] : kinds_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, std::shared_ptr<const SubjectKind>> kinds_;
};

}  // namespace acl
