#pragma once
// A workflow as loaded: the union of both dialects of document 002 (notes/compat.md section 1), normalised. The engine reads only this.
// ToJson/FromJson are the form that is snapshotted into a run's state; it carries a schema version.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/json.h"
#include "shared/capability/capability.h"

namespace acl {

inline constexpr int kSpecSchemaVersion = 2;  // of the stored form; 1, where every step said everything, is read too

enum class StepType { kAction, kHumanApproval, kParallel, kCondition, kCompensation, kForeach, kChild, kWait };
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

struct CompensationSpec {
  std::string capability;
  Json inputs = Json::object();
  std::string description;
  std::optional<int> max_attempts;              // `max_retries`; 3 if not given
  std::optional<std::chrono::seconds> timeout;  // `timeout_seconds`, of one attempt; the capability's if not given
  UnknownOutcome on_unknown_outcome = UnknownOutcome::kAsk;
  SourceMark mark;
};

// What a WAIT step waits for: a length of time from when the step's turn comes, or a point in time. May hold templates.
struct WaitSpec {
  bool until = false;
  Json time;  // duration.h; until: RFC 3339 with an offset
};
inline constexpr std::string_view kWaitOutput = "due_at";  // the one output of a WAIT step: when its time had come

struct StepSpec {
  std::string name;
  StepType type = StepType::kAction;
  std::string capability;
  std::string agent_name;
  std::string description;
  Json inputs = Json::object();
  std::vector<std::string> depends_on;           // as written; empty = follows the step before it in plan order
  std::optional<CompensationSpec> compensation;  // explicit; wins over the capability's undo
  RiskLevel risk = RiskLevel::kMedium;
  RetryPolicy retry;
  std::chrono::seconds attempt_timeout{300};         // `timeout_seconds`
  std::optional<std::chrono::seconds> step_timeout;  // `step_timeout_seconds`: all attempts together
  UnknownOutcome on_unknown_outcome = UnknownOutcome::kAsk;
  std::optional<std::string> queue;  // if it is another than the run's: the step is dispatched, any worker of that queue may take it
  std::optional<int> band;           // `priority`, if it is another than the run's: the same
  std::optional<WaitSpec> wait;      // of a WAIT step, always
  Json extra = Json::object();       // kinds that come later: their keys as written
  SourceMark mark;
};

struct InputSpec {                      // our addition: typed inputs of a run
  std::string name, type, description;  // string integer float boolean array object any
  bool required = false;
  std::optional<Json> default_value;
};

struct WorkflowSpec {
  std::string name, version = "1.0.0", description, workflow_id, owner;
  Json metadata = Json::object();  // as written
  Json initial_state = Json::object();
  std::vector<InputSpec> inputs;
  std::vector<StepSpec> steps;  // file order
  std::vector<CompensationSpec> global_compensation_steps;
  std::vector<std::string> global_compensation_names;  // beside them, "global:<n>" if the file names none
  std::chrono::seconds max_execution_time{3600};
  bool enable_auto_rollback = true;
  Json policy = Json::array();
  std::string queue = "default";
  int band = 1;
  bool time_limit_stated = false;  // the file states max_execution_time: then it counts from the run's creation while nobody begins it
  bool strict_templates = false;   // asked for at submit: a reference that nothing answers fails its step when it runs
  // The same of calls with effects only. False in specs stored by programs that sent the literal braces, and in lenient files.
  bool effects_need_values = false;
  bool lenient_templates = false;  // of the file or asked for at submit; not stored: what follows for a run is effects_need_values

  const StepSpec* FindStep(std::string_view step_name) const;
};

// The queue of its runs, then those that steps are sent to; each once.
std::vector<std::string> QueuesOf(const WorkflowSpec& spec);

// Plan order: again and again the first step in file order whose dependencies are done (DESIGN.md section 3). Indexes into `steps`.
// Cycles and unknown names are the loader's errors; here they end the order early.
std::vector<int> PlanOrder(const WorkflowSpec& spec);
// For each step, the steps it waits for: depends_on, or the step before it in plan order if it has none. Indexes.
std::vector<std::vector<int>> EffectiveDependencies(const WorkflowSpec& spec);

Json SpecToJson(const WorkflowSpec& spec);
Result<WorkflowSpec> SpecFromJson(const Json& json);

}  // namespace acl
