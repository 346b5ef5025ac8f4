// The stored form of a definition. A field added later gets its default when an older snapshot is read; a newer schema version is refused.
//
// It stands in the first event of every run, so it is short: what is empty is left out, and what the first step says of itself besides its
// name and its call stands once, in "step_defaults"; other steps say what is different. All of it is said: what a run does never hangs on a
// default of the program that reads it.
#include "shared/definition/workflow_definition.h"

namespace acl {

namespace {

constexpr std::string_view kBackoffs[] = {"fixed", "linear", "exponential"};
constexpr std::string_view kUnknowns[] = {"ask", "retry", "fail"};

// Thrown below, caught in DefinitionFromJson.
struct Malformed {
  std::string what;
};

template <class T>
T Take(const Json& object, const char* key, T otherwise) {
  auto it = object.find(key);
  return it == object.end() ? otherwise : it->get<T>();
}

Json TakeJson(const Json& object, const char* key, Json otherwise) {
  auto it = object.find(key);
  if (it == object.end()) return otherwise;
  if (it->type() != otherwise.type()) throw Malformed{std::string("'") + key + "' has another type"};
  return *it;
}

int WordIndex(std::span<const std::string_view> words, const std::string& word) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == word) return static_cast<int>(i);
  throw Malformed{"unknown word '" + word + "'"};
}

Json ToJson(const CompensationDefinition& compensation) {
  Json out = {{"capability", compensation.capability}, {"inputs", compensation.inputs}, {"description", compensation.description}};
  if (compensation.max_attempts) out["max_attempts"] = *compensation.max_attempts;
  if (compensation.timeout) out["timeout_s"] = compensation.timeout->count();
  if (compensation.on_unknown_outcome != UnknownOutcome::kAsk)
    out["on_unknown_outcome"] = std::string(kUnknowns[static_cast<int>(compensation.on_unknown_outcome)]);
  return out;
}

CompensationDefinition CompensationFrom(const Json& json) {
  CompensationDefinition out;
  out.capability = json.at("capability").get<std::string>();
  out.inputs = TakeJson(json, "inputs", Json::object());
  out.description = Take<std::string>(json, "description", "");
  if (auto it = json.find("max_attempts"); it != json.end()) out.max_attempts = it->get<int>();
  if (auto it = json.find("timeout_s"); it != json.end()) out.timeout = std::chrono::seconds(it->get<std::int64_t>());
  if (auto it = json.find("on_unknown_outcome"); it != json.end())
    out.on_unknown_outcome = static_cast<UnknownOutcome>(WordIndex(kUnknowns, it->get<std::string>()));
  return out;
}

Json ToJson(const RetryPolicy& retry) {
  return {{"max_attempts", retry.max_attempts},
          {"backoff", std::string(kBackoffs[static_cast<int>(retry.backoff)])},
          {"initial_delay_ms", retry.initial_delay.count()},
          {"max_delay_ms", retry.max_delay.count()},
          {"multiplier", retry.multiplier},
          {"jitter", retry.jitter}};
}

RetryPolicy RetryFrom(const Json& json) {
  RetryPolicy out;
  out.max_attempts = json.at("max_attempts").get<int>();
  out.backoff = static_cast<RetryPolicy::Backoff>(WordIndex(kBackoffs, json.at("backoff").get<std::string>()));
  out.initial_delay = std::chrono::milliseconds(json.at("initial_delay_ms").get<std::int64_t>());
  out.max_delay = std::chrono::milliseconds(json.at("max_delay_ms").get<std::int64_t>());
  out.multiplier = json.at("multiplier").get<double>();
  out.jitter = json.at("jitter").get<double>();
  return out;
}

// What most steps of a workflow have in common.
Json CommonOf(const StepDefinition& step) {
  return {{"type", std::string(StepTypeName(step.type))},
          {"agent_name", step.agent_name},
          {"risk", std::string(RiskName(step.risk))},
          {"retry", ToJson(step.retry)},
          {"attempt_timeout_s", step.attempt_timeout.count()},
          {"on_unknown_outcome", std::string(kUnknowns[static_cast<int>(step.on_unknown_outcome)])}};
}

bool SameCommon(const StepDefinition& a, const StepDefinition& b) {
  return a.type == b.type && a.agent_name == b.agent_name && a.risk == b.risk && a.retry == b.retry &&
         a.attempt_timeout == b.attempt_timeout && a.on_unknown_outcome == b.on_unknown_outcome;
}

Json ToJson(const ApprovalDefinition& approval) {
  Json out = {{"needed", approval.min_approvals}};
  if (!approval.role.empty()) out["role"] = approval.role;
  if (!approval.approvers.empty()) out["approvers"] = approval.approvers;
  if (!approval.allow_requester) out["allow_requester"] = false;
  if (approval.timeout) out["timeout"] = *approval.timeout;
  for (const auto after : approval.remind) out["remind_ms"].push_back(after.count());
  if (approval.escalate_after) out["escalate"] = {{"after_ms", approval.escalate_after->count()}, {"to", approval.escalate_to}};
  if (!approval.notify.empty()) out["notify"] = approval.notify;
  return out;
}

// What only steps of version 3 say.
void AddScopes(const StepDefinition& step, Json& out) {
  if (step.parent >= 0) out["parent"] = step.parent;
  if (step.branch > 0) out["branch"] = step.branch;
  if (!step.when.empty()) out["when"] = step.when;
  if (!step.cases.empty()) out["cases"] = step.cases;
  if (step.foreach) {
    Json each = {{"list", step.foreach->list}, {"as", step.foreach->as}, {"max_failures", step.foreach->max_failures}};
    if (step.foreach->in_percent) each["in_percent"] = true;
    if (step.foreach->plain) each["plain"] = true;
    out["foreach"] = std::move(each);
  }
  if (step.signal) {
    Json signal = {{"name", step.signal->name}};
    if (step.signal->timeout) signal["timeout"] = *step.signal->timeout;
    if (step.signal->default_payload) signal["default"] = *step.signal->default_payload;
    out["signal"] = std::move(signal);
  }
  if (step.publish) {
    Json said = {{"event", step.publish->event}, {"data", step.publish->data}};
    if (!step.publish->endpoint.empty()) said["to"] = step.publish->endpoint;
    if (!step.publish->topic.empty()) said["kafka"] = step.publish->topic;
    if (!step.publish->subject.empty()) said["subject"] = step.publish->subject;
    out["publish"] = std::move(said);
  }
  if (step.approval) out["approval"] = ToJson(*step.approval);
  if (step.child) out["child"] = {{"workflow", step.child->workflow}, {"inputs", step.child->inputs}};
  if (step.next_inputs) out["continue_as_new"] = *step.next_inputs;
  if (step.max_concurrent > 0) out["max_concurrent"] = step.max_concurrent;
  if (step.fail_wait) out["fail_wait"] = true;
}

// `first`: whose common part stands before all steps, as `defaults`.
Json ToJson(const StepDefinition& step, const StepDefinition& first, const Json& defaults) {
  Json out = {{"name", step.name}};
  if (!step.capability.empty()) out["capability"] = step.capability;
  if (!step.description.empty()) out["description"] = step.description;
  if (!step.inputs.empty()) out["inputs"] = step.inputs;
  if (!step.depends_on.empty()) out["depends_on"] = step.depends_on;
  if (!SameCommon(step, first)) {
    const Json common = CommonOf(step);
    for (auto it = common.begin(); it != common.end(); ++it) {
      if (defaults.at(it.key()) != it.value()) out[it.key()] = it.value();
    }
  }
  if (step.compensation) out["compensation"] = ToJson(*step.compensation);
  if (step.step_timeout) out["step_timeout_s"] = step.step_timeout->count();
  if (step.queue) out["queue"] = *step.queue;
  if (step.priority) out["band"] = *step.priority;
  if (step.wait) out["wait"] = {{step.wait->until ? "until" : "for", step.wait->time}};
  AddScopes(step, out);
  if (!step.extra.empty()) out["extra"] = step.extra;
  return out;
}

WaitDefinition WaitFrom(const Json& json) {
  const bool until = json.contains("until");
  return {until, json.at(until ? "until" : "for")};
}

ForeachDefinition ForeachFrom(const Json& json) {
  ForeachDefinition out;
  out.list = json.at("list");
  out.as = json.at("as").get<std::string>();
  out.max_failures = json.at("max_failures").get<int>();
  out.in_percent = Take(json, "in_percent", false);
  out.plain = Take(json, "plain", false);
  return out;
}

SignalDefinition SignalFrom(const Json& json) {
  SignalDefinition out;
  out.name = json.at("name").get<std::string>();
  if (auto it = json.find("timeout"); it != json.end()) out.timeout = *it;
  if (auto it = json.find("default"); it != json.end()) out.default_payload = *it;
  return out;
}

PublishDefinition PublishFrom(const Json& json) {
  PublishDefinition out;
  out.event = json.at("event").get<std::string>();
  out.endpoint = Take<std::string>(json, "to", "");
  out.topic = Take<std::string>(json, "kafka", "");
  out.subject = Take<std::string>(json, "subject", "");
  out.data = json.at("data");
  return out;
}

ApprovalDefinition ApprovalFrom(const Json& json) {
  ApprovalDefinition out;
  out.min_approvals = json.at("needed").get<int>();
  out.role = Take<std::string>(json, "role", "");
  out.approvers = Take<std::vector<std::string>>(json, "approvers", {});
  out.allow_requester = Take(json, "allow_requester", true);
  if (auto it = json.find("timeout"); it != json.end()) out.timeout = *it;
  for (const Json& after : TakeJson(json, "remind_ms", Json::array())) out.remind.emplace_back(after.get<std::int64_t>());
  if (auto it = json.find("escalate"); it != json.end()) {
    out.escalate_after = std::chrono::milliseconds(it->at("after_ms").get<std::int64_t>());
    out.escalate_to = it->at("to").get<std::string>();
  }
  out.notify = Take<std::string>(json, "notify", "");
  return out;
}

void ScopesFrom(const Json& json, StepDefinition* out) {
  out->parent = Take(json, "parent", -1);
  out->branch = Take(json, "branch", 0);
  out->when = Take<std::string>(json, "when", "");
  out->cases = Take<std::vector<std::string>>(json, "cases", {});
  if (out->type == StepType::kForeach) out->foreach = ForeachFrom(json.at("foreach"));
  if (out->type == StepType::kSignal) out->signal = SignalFrom(json.at("signal"));
  if (out->type == StepType::kContinue) out->next_inputs = json.at("continue_as_new");
  if (out->type == StepType::kPublish) out->publish = PublishFrom(json.at("publish"));
  if (out->type == StepType::kHumanApproval) out->approval = ApprovalFrom(json.at("approval"));
  if (out->type == StepType::kChild)
    out->child = ChildDefinition{json.at("child").at("workflow").get<std::string>(), TakeJson(json.at("child"), "inputs", Json::object())};
  out->max_concurrent = Take(json, "max_concurrent", 0);
  out->fail_wait = Take(json, "fail_wait", false);
}

StepDefinition StepFrom(const Json& json, const Json& defaults) {
  const auto common = [&](const char* key) -> const Json& {
    auto own = json.find(key);
    return own == json.end() ? defaults.at(key) : *own;
  };
  StepDefinition out;
  out.name = json.at("name").get<std::string>();
  const auto type = common("type").get<std::string>();
  auto found = std::find_if(std::begin(kStepTypes), std::end(kStepTypes), [&](StepType one) { return StepTypeName(one) == type; });
  if (found == std::end(kStepTypes)) throw Malformed{"unknown step type '" + type + "'"};
  out.type = *found;
  out.capability = Take<std::string>(json, "capability", "");
  out.agent_name = common("agent_name").get<std::string>();
  out.description = Take<std::string>(json, "description", "");
  out.inputs = TakeJson(json, "inputs", Json::object());
  out.depends_on = Take<std::vector<std::string>>(json, "depends_on", {});
  auto risk = ParseRisk(common("risk").get<std::string>());
  if (!risk) throw Malformed{"unknown risk"};
  out.risk = *risk;
  out.retry = RetryFrom(common("retry"));
  out.attempt_timeout = std::chrono::seconds(common("attempt_timeout_s").get<std::int64_t>());
  out.on_unknown_outcome = static_cast<UnknownOutcome>(WordIndex(kUnknowns, common("on_unknown_outcome").get<std::string>()));
  if (auto it = json.find("compensation"); it != json.end()) out.compensation = CompensationFrom(*it);
  if (auto it = json.find("step_timeout_s"); it != json.end()) out.step_timeout = std::chrono::seconds(it->get<std::int64_t>());
  if (auto it = json.find("queue"); it != json.end()) out.queue = it->get<std::string>();
  if (auto it = json.find("band"); it != json.end()) out.priority = it->get<int>();
  if (out.type == StepType::kWait) out.wait = WaitFrom(json.at("wait"));
  ScopesFrom(json, &out);
  out.extra = TakeJson(json, "extra", Json::object());
  return out;
}

Json ToJson(const InputDefinition& input) {
  Json out = {{"name", input.name}, {"type", input.type}, {"description", input.description}, {"required", input.required}};
  if (input.default_value) out["default"] = *input.default_value;
  return out;
}

InputDefinition InputFrom(const Json& json) {
  InputDefinition out;
  out.name = json.at("name").get<std::string>();
  out.type = json.at("type").get<std::string>();
  out.description = Take<std::string>(json, "description", "");
  out.required = Take(json, "required", false);
  if (auto it = json.find("default"); it != json.end()) out.default_value = *it;
  return out;
}

WorkflowDefinition DefinitionFrom(const Json& json) {
  WorkflowDefinition out;
  out.name = json.at("name").get<std::string>();
  out.version = json.at("version").get<std::string>();
  out.description = Take<std::string>(json, "description", "");
  out.workflow_id = Take<std::string>(json, "workflow_id", "");
  out.owner = Take<std::string>(json, "owner", "");
  out.metadata = TakeJson(json, "metadata", Json::object());
  out.initial_state = TakeJson(json, "initial_state", Json::object());
  for (const Json& input : TakeJson(json, "inputs", Json::array())) out.inputs.push_back(InputFrom(input));
  const Json defaults = TakeJson(json, "step_defaults", Json::object());
  for (const Json& step : json.at("steps")) {
    out.steps.push_back(StepFrom(step, defaults));
    if (out.steps.back().parent >= static_cast<int>(out.steps.size()) - 1) throw Malformed{"a step stands before its scope"};
  }
  for (const Json& global : TakeJson(json, "global_compensation_steps", Json::array())) {
    out.global_compensation_names.push_back(global.at("name").get<std::string>());
    out.global_compensation_steps.push_back(CompensationFrom(global));
  }
  out.max_execution_time = std::chrono::seconds(json.at("max_execution_time_s").get<std::int64_t>());
  out.enable_auto_rollback = Take(json, "enable_auto_rollback", true);
  out.policy = TakeJson(json, "policy", Json::array());
  out.workflows = TakeJson(json, "workflows", Json::object());
  out.queue = Take<std::string>(json, "queue", "default");
  out.priority = Take(json, "band", 1);
  out.strict_templates = Take(json, "strict_templates", false);
  out.effects_need_values = Take(json, "effects_need_values", false);
  return out;
}

}  // namespace

namespace {

// The oldest version that can say it: programs that know no newer one read it too.
int VersionOf(const WorkflowDefinition& definition) {
  const bool flat = std::all_of(definition.steps.begin(), definition.steps.end(), [](const StepDefinition& step) {
    return step.parent < 0 && step.when.empty() && !IsScope(step) && !step.signal && !step.publish && !step.child && !step.approval &&
           step.type != StepType::kParallel;
  });
  return flat ? 2 : kDefinitionSchemaVersion;
}

}  // namespace

Json DefinitionToJson(const WorkflowDefinition& definition) {
  Json out = {{"schema_version", VersionOf(definition)}, {"name", definition.name}, {"version", definition.version}};
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  const auto value = [&](const char* key, Json of) {
    if (!of.empty()) out[key] = std::move(of);
  };
  text("description", definition.description);
  text("workflow_id", definition.workflow_id);
  text("owner", definition.owner);
  value("metadata", definition.metadata);
  value("initial_state", definition.initial_state);
  Json inputs = Json::array(), steps = Json::array(), globals = Json::array();
  for (const InputDefinition& input : definition.inputs) inputs.push_back(ToJson(input));
  value("inputs", std::move(inputs));
  if (!definition.steps.empty()) {
    Json defaults = CommonOf(definition.steps.front());
    for (const StepDefinition& step : definition.steps) steps.push_back(ToJson(step, definition.steps.front(), defaults));
    out["step_defaults"] = std::move(defaults);
  }
  out["steps"] = std::move(steps);
  for (std::size_t i = 0; i < definition.global_compensation_steps.size(); ++i) {
    Json global = {{"name", definition.global_compensation_names.at(i)}};
    global.update(ToJson(definition.global_compensation_steps[i]));
    globals.push_back(std::move(global));
  }
  value("global_compensation_steps", std::move(globals));
  out["max_execution_time_s"] = definition.max_execution_time.count();
  out["enable_auto_rollback"] = definition.enable_auto_rollback;
  value("policy", definition.policy);
  value("workflows", definition.workflows);
  out["queue"] = definition.queue;
  out["band"] = definition.priority;
  if (definition.strict_templates) out["strict_templates"] = true;
  if (definition.effects_need_values) out["effects_need_values"] = true;
  return out;
}

Result<WorkflowDefinition> ChildDefinitionOf(const Json& definition, const std::string& workflow) {
  const auto workflows = definition.find("workflows");
  const bool there = workflows != definition.end() && workflows->is_object() && workflows->contains(workflow);
  if (!there) return Error{Code::kCorrupt, "spec: it has no workflow '" + workflow + "'"};
  auto child = DefinitionFromJson(workflows->at(workflow));
  if (child) child->workflows = *workflows;
  return child;
}

Result<WorkflowDefinition> DefinitionFromJson(const Json& json) {
  try {
    if (!json.is_object()) throw Malformed{"not a map"};
    if (int version = json.at("schema_version").get<int>(); version < 1 || version > kDefinitionSchemaVersion)
      return Error{Code::kCorrupt, "spec: schema version " + std::to_string(version) + " is unknown to this program (it knows " +
                                       std::to_string(kDefinitionSchemaVersion) + ")"};
    return DefinitionFrom(json);
  } catch (const Malformed& malformed) {
    return Error{Code::kCorrupt, "spec: " + malformed.what};
  } catch (const nlohmann::json::exception& error) {
    return Error{Code::kCorrupt, std::string("spec: ") + error.what()};
  }
}

}  // namespace acl
