#pragma once
// A workflow as loaded: the union of both dialects of document 002 (docs/reference/other-runtimes.md#workflow-files), normalised. The
// engine reads only this. ToJson/FromJson are the form that is snapshotted into a run's state; it carries a schema version.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/json.h"
#include "shared/capability/capability.h"

namespace acl {

// Of the stored form; 1, where every step said everything, is read too. A workflow without steps inside steps, conditions or signals is
// stored as 2, as ever.
inline constexpr int kDefinitionSchemaVersion = 3;

enum class StepType {
  kAction,
  kHumanApproval,
  kParallel,
  kCondition,
  kCompensation,
  kForeach,
  kChild,
  kWait,
  kSequence,
  kSignal,
  kPublish,
  kContinue,
};
inline constexpr StepType kStepTypes[] = {StepType::kAction,       StepType::kHumanApproval, StepType::kParallel, StepType::kCondition,
                                          StepType::kCompensation, StepType::kForeach,       StepType::kChild,    StepType::kWait,
                                          StepType::kSequence,     StepType::kSignal,        StepType::kPublish,  StepType::kContinue};
std::string_view StepTypeName(StepType type);  // "ACTION", "HUMAN_APPROVAL" ...

// 1-based place in the file; 0 = none.
struct SourceMark {
  int line = 0, column = 0;
};

struct RetryPolicy {
  enum class Backoff { kFixed, kLinear, kExponential };
  int max_attempts = 3;  // `max_retries`: attempts with a known outcome, the first included
  Backoff backoff = Backoff::kExponential;
  std::chrono::milliseconds initial_delay{0};  // 0 = at once, as real files expect
  std::chrono::milliseconds max_delay{60'000};
  double multiplier = 2.0;
  double jitter = 0.0;  // 0..1: the delay is drawn from [d*(1-jitter), d]

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

enum class UnknownOutcome { kAsk, kRetry, kFail };  // `on_unknown_outcome`

struct CompensationDefinition {
  std::string capability;
  Json inputs = Json::object();
  std::string description;
  std::optional<int> max_attempts;              // `max_retries`; 3 if not given
  std::optional<std::chrono::seconds> timeout;  // `timeout_seconds`, of one attempt; the capability's if not given
  UnknownOutcome on_unknown_outcome = UnknownOutcome::kAsk;
  SourceMark mark;
};

// What a WAIT step waits for: a length of time from when the step's turn comes, or a point in time. May hold templates.
struct WaitDefinition {
  bool until = false;
  Json time;  // duration.h; until: RFC 3339 with an offset
};
inline constexpr std::string_view kWaitOutput = "due_at";  // the one output of a WAIT step: when its time had come

// What a SIGNAL step waits for: the next signal of that name which no other step has taken, those sent before included.
struct SignalDefinition {
  std::string name;                     // may hold templates
  std::optional<Json> timeout;          // a length of time, may hold templates; none: it waits for ever
  std::optional<Json> default_payload;  // what it goes on with when the time has passed; none: it fails then
};

// What a PUBLISH step says to the outside: by a webhook to an endpoint that the fleet's operator named, or as a CloudEvent into a topic.
struct PublishDefinition {      // all of it may hold templates
  std::string event;            // its type
  std::string endpoint, topic;  // one of them
  std::string subject;          // of a CloudEvent; empty: none
  Json data = Json::object();
};
inline constexpr std::string_view kPublishOutput = "message_id";
inline constexpr std::string_view kEventTypeForms = "must be 1 to 200 letters, digits, '.', '_', '-', '/' and ':'";
inline constexpr std::string_view kEndpointForms = "must be 1 to 100 letters, digits, '.', '_' and '-'";
bool IsEventType(std::string_view text);
bool IsEndpointOrTopic(std::string_view text);

// What a FOREACH step does once for each item. Its body is the steps whose `parent` it is.
struct ForeachDefinition {
  Json list;                // a list, a template, or an expression that gives one (expression.h)
  std::string as = "item";  // what templates of the body call the item; its number, from 0, is `<as>_index`
  int max_failures = 0;     // items that may fail: more, and the step fails
  bool in_percent = false;  // of all items, 0 to 100, instead
  bool plain = false;       // the body is the step's own call, which has no name of its own
};
inline constexpr int kForeachItems = 10'000;  // in a list
inline constexpr int kForeachAtOnce = 64;     // unless the step says `max_concurrent`
inline constexpr int kMostAtOnce = 1'000;     // that a step may say

// What a CHILD step starts: a run of its own, of a workflow that stands in the same file under `workflows`.
struct ChildDefinition {
  std::string workflow;
  Json inputs = Json::object();  // of that run; may hold templates
};
inline constexpr int kDeepestChild = 8;  // children of children

// Whom a HUMAN_APPROVAL step asks, and how. What is asked stands in the step's `inputs` (message, approver_role, approval_timeout).
struct ApprovalDefinition {
  std::string role;                               // that who decides needs; may hold templates; empty: none
  std::vector<std::string> approvers;             // names, or "role:NAME"; may hold templates; empty: anybody
  int min_approvals = 1;                          // different persons
  bool allow_requester = true;                    // who asked may approve
  std::optional<Json> timeout;                    // a length of time, may hold templates; none: it waits for ever
  std::vector<std::chrono::milliseconds> remind;  // behind the asking, ascending
  std::optional<std::chrono::milliseconds> escalate_after;
  std::string escalate_to;  // a role that may decide too from then on
  std::string notify;       // a webhook's endpoint by name (docs/guides/webhooks.md); empty: nobody is told
};

struct StepDefinition {
  std::string name;
  StepType type = StepType::kAction;
  std::string capability;
  std::string agent_name;
  std::string description;
  Json inputs = Json::object();
  std::vector<std::string> depends_on;                 // as written; empty = follows the step before it in plan order
  std::optional<CompensationDefinition> compensation;  // explicit; wins over the capability's undo
  RiskLevel risk = RiskLevel::kMedium;
  RetryPolicy retry;
  std::chrono::seconds attempt_timeout{300};         // `timeout_seconds`
  std::optional<std::chrono::seconds> step_timeout;  // `step_timeout_seconds`: all attempts together
  UnknownOutcome on_unknown_outcome = UnknownOutcome::kAsk;
  std::optional<std::string> queue;    // if it is another than the run's: the step is dispatched, any worker of that queue may take it
  std::optional<int> priority;         // `priority`, if it is another than the run's: the same
  std::optional<WaitDefinition> wait;  // of a WAIT step, always
  // -- steps in steps. A scope (PARALLEL with steps of its own, SEQUENCE, CONDITION, FOREACH) stands before them in
  // WorkflowDefinition::steps.
  int parent = -1;                             // index of the scope it stands in
  int branch = 0;                              // of a CONDITION's: the case it belongs to
  std::string when;                            // an expression (expression.h): not true, and the step is skipped; empty: none
  std::vector<std::string> cases;              // of a CONDITION: expressions, the first that is true is taken; an empty one is `else`
  std::optional<ForeachDefinition> foreach;    // of a FOREACH step, always
  std::optional<SignalDefinition> signal;      // of a SIGNAL step, always
  std::optional<PublishDefinition> publish;    // of a PUBLISH step, always
  std::optional<ChildDefinition> child;        // of a CHILD step, always
  std::optional<ApprovalDefinition> approval;  // of a HUMAN_APPROVAL step, always
  std::optional<Json> next_inputs;             // of a CONTINUE_AS_NEW step, always: inputs of the next run; may hold templates
  int max_concurrent = 0;                      // of a PARALLEL or FOREACH: steps or items of it at once; 0: as many as there are
  bool fail_wait = false;                      // of the same: what else runs in it ends first when one of them fails
  Json extra = Json::object();                 // kinds that come later: their keys as written
  SourceMark mark;
};

struct InputDefinition {                // our addition: typed inputs of a run
  std::string name, type, description;  // string integer float boolean array object any
  bool required = false;
  std::optional<Json> default_value;
};

struct WorkflowDefinition {
  std::string name, version = "1.0.0", description, workflow_id, owner;
  Json metadata = Json::object();  // as written
  Json initial_state = Json::object();
  std::vector<InputDefinition> inputs;
  std::vector<StepDefinition> steps;  // file order
  std::vector<CompensationDefinition> global_compensation_steps;
  std::vector<std::string> global_compensation_names;  // beside them, "global:<n>" if the file names none
  std::chrono::seconds max_execution_time{3600};
  bool enable_auto_rollback = true;
  Json policy = Json::array();
  Json workflows = Json::object();  // that CHILD steps start, by name: each as DefinitionToJson gives it
  std::string queue = "default";
  int priority = 1;
  bool time_limit_stated = false;  // the file states max_execution_time: then it counts from the run's creation while nobody begins it
  bool strict_templates = false;   // asked for at submit: a reference that nothing answers fails its step when it runs
  // The same of calls with effects only. False in definitions stored by programs that sent the literal braces, and in lenient files.
  bool effects_need_values = false;
  bool lenient_templates = false;  // of the file or asked for at submit; not stored: what follows for a run is effects_need_values

  const StepDefinition* FindStep(std::string_view step_name) const;
};

// The body of a FOREACH that names its call itself: a step that the file does not name.
bool IsPlainBody(const StepDefinition& step);
// A scope is completed by the steps that it holds, and calls nothing itself.
bool IsScope(const StepDefinition& step);

// A case of a CONDITION in the words of the file: "then", "else_if[0]", "else"; "none" if it has no such case.
std::string CaseNameOf(const StepDefinition& step, int branch);

// The queue of its runs, then those that steps are sent to; each once.
std::vector<std::string> QueuesOf(const WorkflowDefinition& definition);

// Plan order: of the steps whose dependencies are done the one written first (docs/architecture.md#workflows), a scope before the
// steps that it holds. Indexes into `steps`. Cycles and unknown names are the loader's errors; here they end the order early.
std::vector<int> PlanOrder(const WorkflowDefinition& definition);
// For each step, the steps whose end it waits for: depends_on, or the step before it in plan order if it has none. A step in a scope also
// waits for the scope's beginning: that is not said here. Steps of a PARALLEL, and PARALLEL steps beside each other, do not wait for one
// another. Indexes.
std::vector<std::vector<int>> EffectiveDependencies(const WorkflowDefinition& definition);

// What a CHILD step of a run starts: `spec` as the run stores it. It may start the others in its turn. kCorrupt: it has no such workflow.
Result<WorkflowDefinition> ChildDefinitionOf(const Json& definition, const std::string& workflow);

Json DefinitionToJson(const WorkflowDefinition& definition);
Result<WorkflowDefinition> DefinitionFromJson(const Json& json);

}  // namespace acl
