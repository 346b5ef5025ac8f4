#pragma once
// Where a workflow run's state stands in its Document, and typed reading of it. Full description: docs/reference/events.md, "State".
//
//   run                 who and what this run is, its status             step:<step id>      one step's or compensation's record
//   definition, inputs        as created; never change                         var:<name>          a variable; `state` of document 002
//   progress            counters and the few steps in between            ready/<l>/<n> ...   frontier.h
//   items:<step id>     the list of a FOREACH                            out:<step id>       outputs of a step in an item
//   approvals, approval:<step id>  approvals.h
//   item:<item id>      an item whose body has several steps             signals, signal:<n> decide_signal.cc
//   file:<path>         capability/manifest.h                            not_undone:<n>      compensations that failed, by number
//
// Every entry is small: what a step changes does not grow with the number of steps. Only Evolve (evolve.cc) writes,
// and fast paths (fast_path.cc) what it would.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/trace_context.h"
#include "shared/journal/document.h"
#include "shared/workflow/status_machine.h"

namespace acl::workflow {

inline constexpr std::string_view kRunKey = "run";
inline constexpr std::string_view kDefinitionKey = "spec";
inline constexpr std::string_view kInputsKey = "inputs";
inline constexpr std::string_view kProgressKey = "progress";
inline std::string StepKey(std::string_view step_id) { return std::string("step:").append(step_id); }
inline std::string VarKey(std::string_view name) { return std::string("var:").append(name); }
std::string NotUndoneKey(int number);
inline std::string ItemsKey(std::string_view step_id) { return std::string("items:").append(step_id); }
inline std::string ItemOutputsKey(std::string_view step_id) { return std::string("out:").append(step_id); }
inline std::string ItemKey(std::string_view item_id) { return std::string("item:").append(item_id); }
inline constexpr std::string_view kSignalsKey = "signals";
inline std::string SignalKey(std::int64_t number) { return "signal:" + std::to_string(number); }

// Dispatches of one run that are out at once; what else could be dispatched waits (the list stands in one entry of the state).
inline constexpr std::size_t kMaxDispatchesOut = 64;

inline constexpr int kStateVersion = 1;  // of these keys and records

// All reading of the state by the engine goes through here. Tests count the look-ups: work per step must not grow with the run.
const Json* Lookup(const Document& state, std::string_view key);
std::uint64_t LookupsOfThisThread();

// Whether the outputs of a step would make the state larger than a run's may be (limits.h). Small ones never do, and cost nothing here.
bool OutgrowsRun(const Document& state, const Json& outputs);

// Members of an object; the default if absent or of another type.
std::string TextOf(const Json* object, std::string_view key);
std::int64_t NumberOf(const Json* object, std::string_view key, std::int64_t otherwise = 0);
bool FlagOf(const Json* object, std::string_view key);
std::optional<WallTime> TimeOf(const Json* object, std::string_view key);
std::vector<std::string> ListOf(const Json* object, std::string_view key);
const Json* MemberOf(const Json* object, std::string_view key);

enum class Phase {
  kForward,   // steps run
  kStopping,  // FAILED: running attempts end, compensations run
  kClosed,    // nothing will happen any more
};

struct RunRecord {
  const Json* json = nullptr;                // the entry itself
  std::string_view run_id, definition_hash;  // live as long as the entry
  RunStatus status = RunStatus::kPending;
  Phase phase = Phase::kForward;
  std::string reason;     // step_failed, timeout, cancelled
  bool rollback = false;  // while stopping: undo what completed
  std::optional<WallTime> deadline;
  std::optional<std::int64_t> deadline_left_ms;  // while a person or a WAIT step's time is waited for
  const Json* finishes = nullptr;                // the one compensation that it is made for (undo_run.h)
};
// Under whose id what a rollback calls is known to receivers: the first attempts were made by that run.
std::string_view RollbackOf(const RunRecord& run);
// How many of the global compensations, of which there are `all`, are this run's to do.
int GlobalsOf(const RunRecord& run, std::size_t all);
// The trace it belongs to, and the span of whoever submitted it.
TraceContext TraceOfRun(const Document& state);
std::optional<RunRecord> ReadRun(const Document& state);

struct Progress {
  const Json* json = nullptr;           // the entry itself
  int done = 0;                         // completed forward steps; the last execution_order
  int items = 0;                        // those of them that were an item's
  int skipped = 0;                      // steps of the run that were skipped, or that a failed branch left out
  int children = 0;                     // CHILD steps, and their compensations, whose run has not ended
  int signals = 0;                      // of `waiting`: those that wait for a signal
  int approvals = 0;                    // of `waiting`: those that wait for a person (approvals.h)
  std::vector<std::string> due;         // scopes in which all has ended, or too much failed: to be ended
  std::vector<std::string> open;        // journaled attempts that run here, forward and compensation
  std::vector<std::string> dispatches;  // dispatched attempts whose result has not come, forward and compensation
  std::vector<std::string> uncertain;   // wait for a person
  std::vector<std::string> settle;      // while stopping: to be run once more to learn what they did
  int retrying = 0;                     // steps in RETRY_WAIT
  std::optional<WallTime> next_retry;   // a hint: the earliest known
  int waiting = 0;                      // steps in WAITING
  std::optional<WallTime> next_due;     // the same hint of them
  std::string undo;                     // head of the chain of undo records: the last completed step that has one
  int global = 0;                       // global compensation steps done with
  int not_undone = 0;                   // entries not_undone:<n>
  std::string failed;                   // step id of the step whose failure ends the run
};
Progress ReadProgress(const Document& state);
Json ToJson(const Progress& progress);  // the entry; what is empty is left out

struct StepRecord {
  const Json* json = nullptr;  // nullptr: never touched, PENDING
  StepStatus status = StepStatus::kPending;
  int attempts = 0;  // with a known outcome
  int attempt = 0;   // id of the last one
  int waits = -1;    // dependencies not done; -1: none was done yet
  int order = 0;
  std::string error;
  int losses = 0;  // dispatches of it in a row that alone are to blame for the end of their workers
  int lost = 0;    // attempts whose outcome nobody knows and that were made again
  // As the last of them was lost with its worker: `died_alone` workers in a row had died for which the run alone is to blame, with as many
  // steps completed as `died_done`; the step was in flight at `died_with` of those deaths.
  int died_alone = 0, died_with = 0, died_done = 0;
  std::optional<WallTime> started_at, retry_at, due_at;
  const Json* dispatch = nullptr;  // {"queue", "priority", "since"} while a dispatch of it is out
  const Json* call = nullptr;      // {"inputs": ..} of a journaled attempt: what every later attempt sends again
  const Json* undo = nullptr;      // {"capability", "inputs" | "error"} or {"files"}, and "prev"
};

// What a scope knows beside: members of its step's record.
struct ScopeRecord {
  int left = 0;                        // steps in it that have not ended
  int active = 0;                      // of a PARALLEL with a limit: steps in it that have begun
  int branch = -1;                     // of a CONDITION: the case that was taken; -1: none
  std::string failed;                  // the first step in it that failed; of a FOREACH that will fail: too many items did
  int items = 0, next = 0, ended = 0;  // of a FOREACH: all, those that have begun are the first `next`, those that have ended
  std::vector<int> failures;           // items that failed
};
ScopeRecord ReadScope(const Json* record);
StepRecord ReadStep(const Document& state, std::string_view step_id);
StepRecord ReadStepFrom(const Json* record);

}  // namespace acl::workflow
