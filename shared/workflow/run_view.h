#pragma once
// A run's state in the words of the API and the CLI (document 002's tables workflows and workflow_steps). Reads the whole run: for people,
// never on the hot path.

#include <optional>
#include <string>
#include <vector>

#include "shared/base/json.h"
#include "shared/journal/document.h"
#include "shared/kernel/types.h"

namespace acl::workflow {

struct StepView {
  std::string step_id;  // the instance; equals `name` unless the name holds / [ ] # % or is longer than 100 characters
  std::string name, capability, agent_name;
  std::string type;    // of a step that calls nothing: PARALLEL, SEQUENCE, CONDITION, FOREACH, WAIT, SIGNAL ..
  std::string scope;   // the name of the step that it stands in, or the id of the item whose body it is of; empty: of the run's own
  std::string status;  // PENDING RUNNING RETRY_WAIT WAITING UNCERTAIN COMPLETED FAILED CANCELLED SKIPPED
  int attempts = 0;    // with a known outcome
  int max_attempts = 0;
  int attempts_lost = 0;  // to a worker that ended, or stopped: made again, do not count
  std::optional<WallTime> next_retry, started_at, completed_at;
  std::optional<WallTime> due_at;  // of a step that waits, if its time is limited
  std::string signal;              // of a SIGNAL step, while it waits: the name
  std::string child;               // of a CHILD step that has begun: the run that does it
  std::string approval;            // of a HUMAN_APPROVAL that has asked: PENDING APPROVED REJECTED TIMEOUT CANCELLED
  std::string branch;              // of a CONDITION that has begun: the case that was taken
  // Of a FOREACH that has begun: its items, those that have begun, ended and failed.
  int items = -1, items_begun = 0, items_ended = 0, items_failed = 0;
  std::string error;  // of the last failed attempt
  std::string queue;  // while it is dispatched: where; since when
  std::optional<WallTime> dispatched_at;
  std::optional<Json> outputs;  // completed steps
  std::size_t outputs_cut = 0;  // their bytes, if they are too large to stand here
  int execution_order = 0;      // 1-based among completed steps; 0 = not completed
  // PENDING, and nothing has to end before it runs on the run's own queue: whoever holds the run's lease runs it now, or next if all its
  // slots are taken. Attempts of pure and read steps leave no event at their start.
  bool ready = false;
  // References that nothing answered and that stayed as text; "compensation: x" of the call that would undo the step.
  std::vector<std::string> missing;
  // Outputs that have the name of a step and so stand only below this one's name.
  std::vector<std::string> hidden;
};

struct CompensationView {
  std::string step_id;     // "undo:<step>" or "undo:/global[n]"
  std::string undoes;      // the step's name; empty for a global one
  std::string capability;  // empty: the engine puts old files back
  std::string status;      // PENDING RUNNING RETRY_WAIT UNCERTAIN COMPLETED FAILED; NOT_NEEDED while nothing is rolled back
  bool ready = false;      // PENDING and the next to run
  int attempts = 0;
  int max_attempts = 0;  // 0: no call is made
  std::string error;
  std::vector<std::string> missing;
  int attempts_lost = 0;
};

struct RunView {
  std::string name, version, owner;
  std::string project_id, task_id;     // of the task that it is of; empty: of none
  std::string parent_id, parent_step;  // the run of which it does a step, or undoes one; empty: of none
  std::string undo_of;                 // the run that it takes back
  // Of one that finishes one compensation of that run: which, and what a person said.
  std::string finishes, finish_decision, finish_by, finish_reason;
  std::vector<std::string> not_undone;  // of a run that has ended: compensations that failed
  std::string continued_as;             // the run that goes on in its place; empty: none
  std::string continued_from, first;    // the run in whose place it goes on, and the first of them; empty: it is the first
  std::int64_t number = 0;              // of those behind the first
  std::string trace_id;                 // of the request that submitted it; may be empty
  std::string status;         // PENDING RUNNING PAUSED (by a person, or only approvals are waited for) COMPLETED FAILED ROLLED_BACK
  bool closed = false;        // nothing will happen any more
  bool rolling_back = false;  // FAILED, compensations still to come
  std::string reason;         // step_failed timeout cancelled rejected approval_timeout; empty while all is well
  std::string error;
  std::string failed_step;  // its name
  std::optional<WallTime> created_at, started_at, completed_at, deadline;
  int steps_total = 0, steps_completed = 0;
  std::vector<StepView> steps;  // file order; bodies of FOREACH steps stand in `items`
  // Steps of items, those first that have not completed, in the order of the list; as many as `items_shown` at most.
  std::vector<StepView> items;
  int items_left_out = 0;
  std::vector<CompensationView> compensations;  // in the order they run
  Json outputs = Json::object();                // of the run, once completed
  std::string outputs_of;                       // the step whose outputs they are, if they are one's
  Json inputs = Json::object();
  std::size_t outputs_cut = 0, inputs_cut = 0;  // their bytes, if they are too large to stand here
  // Why nothing runs: "paused", "uncertain" (a person must say what happened), "dispatch" (sent to another queue), "retry", "timer" (a WAIT
  // step's time), "approval" (a person), "signal", "child" (a run of its own); empty if it could run or is closed.
  std::string waiting;
  std::vector<std::string> uncertain;  // step ids a person must resolve
  std::vector<std::string> warnings;   // what went on all the same but was hardly meant: one line each
};

// How much of inputs and outputs a view shows: values beyond it are named with their size, and not read.
struct ViewLimits {
  int items_shown = 200;
  std::size_t each = std::size_t(-1), all = std::size_t(-1);  // bytes of stored text
};

// kCorrupt if the document is not a workflow run's state.
Result<RunView> ViewOf(const Document& state, const ViewLimits& limits = {});

// The outputs of a completed step, by its name or id; nullptr if there are none.
const Json* OutputsOf(const Document& state, std::string_view step);
// What the run was given.
const Json* InputsOf(const Document& state);

// The same as JSON, times as text, absent values left out: the body of GET /v1/workflows/{id} and of `airun workflow status -o json`. In
// the place of a value that was cut stands {"truncated": true, "bytes": n}.
Json ViewToJson(const RunView& view);

}  // namespace acl::workflow
