#pragma once
// The core of an agent (document 003, section 2): prepare, loop, decide, rest, plan, request, process. There is no "done": at any moment it
// moves or rests. Decide and Plan are pure functions of the state, ask no model, and give the same on every machine and in every replay.
//
//   prepare --> loop:  decide --"rest"--> rest ..... a stimulus ..... loop
//                         |
//                       "move" --> plan --> request --> process --> loop
//
// Each meaningful step is one move, committed before the next begins. Who calls what a turn needs (a model, a capability, an extension) is
// the worker, by the steps that NextStep names; what came of it is an input.

#include <optional>
#include <string>

#include "shared/kernel/kind.h"
#include "shared/kinds/agent/agent_file.h"
#include "shared/kinds/agent/extensions.h"
#include "shared/kinds/agent/guard.h"
#include "shared/kinds/agent/model.h"

namespace acl::agent {

// What every session has to hand.
struct Kit {
  const CapabilityRegistry& capabilities;
  const BuiltInExtensions& extensions;
};

// Capabilities that the core itself calls, by planner and for tasks.
inline constexpr std::string_view kAskModel = "llm.ask", kRunCommand = "sys.exec.run", kPostHttp = "net.http.post",
                                  kTakeNext = "project.take", kSaveCheckpoint = "project.checkpoint", kCompleteTask = "project.complete",
                                  kBlockTask = "project.block";

// ---- 2.3 decide: the only function that chooses action or stillness
struct Choice {
  bool move = false;
  std::string reason;               // of a rest: stable words first ("nothing to do", "loop: ...")
  std::optional<WallTime> wake_at;  // of a rest that ends by itself
};
Choice Decide(const AgentDefinition& definition, const Standing& standing, const Guard& guard, WallTime now);

// What it has spent, of the time that its limits are of: nothing yet, if a new day has begun since.
struct Spent {
  std::int64_t tokens = 0, micros = 0;
  std::optional<WallTime> until;  // when the day ends
};
Spent SpentNow(const Limits& limits, const Standing& standing, WallTime now);

// Why it rests when there is nothing to do: the one reason that forgets what the loop guard has counted.
inline constexpr std::string_view kNothingToDo = "nothing to do", kNoPlan = "no plan";

// ---- 2.5 plan: what a turn is for, from what is known; nullopt: no sensible step, and so no plan
// The context: {"session", "intention", "stimuli", "last", "past", "files", "project"?, "capabilities"}.
Json ContextOf(const Kit& kit, const AgentDefinition& definition, const Document& state, const Course& course);
// {"intention", "expected_outcome", "rule"?, "does"?}; `does` is the answer of a planner that needs no request. kInvalid: a rule that
// cannot be read with this context.
Result<std::optional<Json>> MakePlan(const AgentDefinition& definition, const Json& context);

// ---- 2.6 request: what is sent, and to whom
Json MakeRequest(const AgentDefinition& definition, const Json& plan, const Json& context);
// The response in what was answered: {"say", "actions", "checkpoint"?, "complete"?, "block"?}. kInvalid: it is none, and what it should be.
Result<Json> ResponseFrom(const Json& outputs, const std::string& planner);

// ---- 2.7 process: what is executed
// What is asked for, in order: its actions, and behind them what is to be said of the task that the turn was for.
Json ActionsOf(const Json& response, const Json* looked);
// What an action is not though it must be, or why it is not allowed; empty: it may go on.
struct Refusal {
  std::string code, message;  // "unknown-capability", "not-allowed", "bad-inputs", "too-many"
};
std::optional<Refusal> RefusalOf(const Kit& kit, const AgentDefinition& definition, const Json& action, int index);

// ---- what is to be called now; nullopt: nothing (it rests, a person is asked, it is paused)
std::optional<StartStep> NextStep(const Kit& kit, const AgentDefinition& definition, const Document& state);
// The same, also of a session that is paused or stops.
std::optional<StartStep> StepAt(const Kit& kit, const AgentDefinition& definition, const Document& state);

// The extensions that listen to a phase, in the file's order; nullptr: there are no more.
const Extension* ListenerAt(const AgentDefinition& definition, Phase phase, int index);
// What an extension sees and cannot change: {"session", "standing", "turn", "plan"?, "action"?, "outcomes"}.
Json SnapshotOf(const Document& state);

// 32 hex digits, the same for every attempt of a step.
std::string KeyOf(std::string_view session_id, std::string_view step_id);

}  // namespace acl::agent
