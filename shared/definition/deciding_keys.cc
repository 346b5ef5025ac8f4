#include "shared/definition/deciding_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "shared/capability/spelling.h"

namespace acl {

namespace {

constexpr std::string_view kCondition =
    "a step that is to run only sometimes says 'when: EXPRESSION'; a choice between steps is a CONDITION step with 'if', 'then' and 'else'";
constexpr std::string_view kOrder = "the steps to wait for stand in 'depends_on'";
constexpr std::string_view kUndo = "how a step is undone stands in 'compensation'";
constexpr std::string_view kFailure =
    "a step that fails for good ends the run, and completed steps are undone by their 'compensation'; 'enable_auto_rollback: false' undoes "
    "nothing";
constexpr std::string_view kAttempts = "the number of attempts stands in 'max_retries', the delays between them in 'retry'";
constexpr std::string_view kTimeout = "the time of one attempt stands in 'timeout_seconds'";
constexpr std::string_view kWait = "a step of its own waits: 'wait: 90s'";
constexpr std::string_view kLoop = "a step that runs once for each item of a list says 'foreach: LIST'";
constexpr std::string_view kOverlap =
    "steps overlap as far as their 'depends_on' lets them; the steps of a PARALLEL step go together, as many as its 'max_concurrent'";
constexpr std::string_view kSchedule = "a workflow is started at times by 'airun schedule create'";
constexpr std::string_view kApproval = "a step of its own asks a person: 'step_type: HUMAN_APPROVAL'";

const std::map<std::string_view, std::string_view>& Table() {
  static const std::map<std::string_view, std::string_view> table = [] {
    std::map<std::string_view, std::string_view> out;
    const auto add = [&](std::string_view instead, std::initializer_list<std::string_view> keys) {
      for (std::string_view key : keys) out.emplace(key, instead);
    };
    add(kCondition,
        {"if",          "unless",  "conditions", "run_if", "only_if", "not_if", "only_when", "skip", "elif",      "skip_if", "skip_when",
         "skip_unless", "enabled", "disabled",   "switch", "choice",  "assert", "guard",     "when", "condition", "else"});
    add(kOrder, {"needs", "requires", "depends", "dependencies", "dependency", "after", "before", "upstream", "downstream", "wait_for"});
    add(kUndo, {"rollback", "undo", "compensate", "on_rollback", "revert"});
    add(kFailure,
        {"on_error",         "on_failure",    "on_fail",        "on_success",    "on_complete", "on_exit",           "on_timeout",
         "on_cancel",        "catch",         "finally",        "always",        "always_run",  "continue_on_error", "continue_on_failure",
         "continue_on_fail", "ignore_errors", "ignore_failure", "allow_failure", "fail_fast",   "trigger_rule",      "error_handler",
         "error_handling",   "optional"});
    add(kAttempts, {"retries", "max_attempts", "attempts", "retry_count", "max_retry", "retry_delay", "retry_policy"});
    add(kTimeout, {"timeout", "timeout_ms", "timeout_minutes", "deadline"});
    add(kWait, {"delay", "sleep", "delay_seconds", "start_after", "start_at", "not_before"});
    add(kLoop, {"loop", "for_each", "for", "with_items", "matrix", "repeat", "until", "while", "do_while", "each", "map"});
    add(kOverlap, {"parallel", "concurrency", "max_parallel", "max_concurrency", "strategy"});
    add(kSchedule, {"schedule", "schedules", "cron", "trigger", "triggers"});
    add(kApproval, {"approval", "approve", "requires_approval", "manual", "require_approval"});
    return out;
  }();
  return table;
}

// Known keys that decide the same things: what is nearly one of them is meant as it.
constexpr std::string_view kDecides[] = {"depends_on",
                                         "compensation",
                                         "wait",
                                         "condition",
                                         "when",
                                         "foreach",
                                         "wait_for_signal",
                                         "publish",
                                         "max_concurrent",
                                         "on_unknown_outcome",
                                         "steps",
                                         "max_retries",
                                         "retry",
                                         "timeout_seconds",
                                         "max_delay",
                                         "step_timeout_seconds",
                                         "initial_delay",
                                         "enable_auto_rollback",
                                         "backoff",
                                         "max_execution_time_seconds",
                                         "approval_config",
                                         "multiplier",
                                         "global_compensation_steps"};

// The word of the table that is one slip away.
std::string_view NearWord(std::string_view key) {
  if (key.size() < 5 || key.size() > 100) return "";
  for (const auto& [word, instead] : Table()) {
    if (word.size() >= 5 && EditDistance(key, word) == 1) return word;
  }
  return "";
}

bool Has(const std::vector<std::string_view>& list, std::string_view key) { return std::find(list.begin(), list.end(), key) != list.end(); }

}  // namespace

std::optional<std::string> InsteadOfDecidingKey(std::string_view key, const std::vector<std::string_view>& known) {
  if (Has(known, "min_approvals")) {  // whoever writes there says who may decide, and when
    const std::string near = NearestSpelling(InSnakeCase(key), known);
    return near.empty() ? "its keys are " + fmt::format("{}", fmt::join(known, ", ")) : "did you mean '" + near + "'?";
  }
  // Of a workflow, a step or compensation, a retry: other maps say what, not whether.
  if (!Has(known, "capability") && !Has(known, "steps") && !Has(known, "backoff")) return std::nullopt;
  if (Has(known, "backoff") && (key.find("delay") != key.npos || key.find("interval") != key.npos) && key != "retry_delay")
    return "the delays stand in 'initial_delay', 'max_delay', 'multiplier' and 'jitter'";
  const std::string said = InSnakeCase(key);
  if (auto found = Table().find(said); found != Table().end()) return std::string(found->second);
  if (said.size() < 4) return std::nullopt;
  const std::string near = NearestSpelling(said, known);
  if (std::find(std::begin(kDecides), std::end(kDecides), near) != std::end(kDecides)) return "did you mean '" + near + "'?";
  if (!near.empty()) return std::nullopt;
  const auto word = Table().find(NearWord(said));
  return word == Table().end() ? std::nullopt : std::optional(std::string(word->second));
}

}  // namespace acl
