// The steps of a file, in either dialect of document 002 (docs/reference/other-runtimes.md#steps).
#include "shared/definition/draft.h"
#include "shared/definition/suggest.h"
#include "shared/kernel/command.h"

namespace acl {

namespace {

constexpr std::size_t kLongestStepName = 200;
constexpr std::size_t kLongestCapability = 200;

// `capability` and `capability_name` are one key under two names (K1).
std::string ReadCapability(Reader* reader, Fields* fields, const std::string& owner) {
  std::string doc_form, file_form;
  fields->String("capability", &doc_form);
  fields->String("capability_name", &file_form);
  if (!doc_form.empty() && !file_form.empty() && doc_form != file_form)
    reader->Error(fields->Get("capability_name")->mark, "capability-conflict",
                  owner + " has 'capability' and 'capability_name' with different values; keep one");
  std::string id = doc_form.empty() ? file_form : doc_form;
  if (auto wrong = id.empty() ? std::nullopt : BadName(id, kLongestCapability)) {
    const SourceNode* node = doc_form.empty() ? fields->Get("capability_name") : fields->Get("capability");
    reader->Error(node->mark, "bad-name", "the capability of " + owner + " " + *wrong);
  }
  return id;
}

bool NamesCapability(const Fields& fields) { return fields.Get("capability") || fields.Get("capability_name"); }

// It is named, and its name is "". (Another type was reported when it was read.)
void ReportEmptyCapability(Reader* reader, const Fields& fields, const std::string& owner) {
  for (std::string_view key : {"capability", "capability_name"}) {
    const SourceNode* node = fields.Get(key);
    if (node && node->is_string())
      return reader->Error(node->mark, "missing-capability",
                           "'" + std::string(key) + "' of " + owner + " is empty; name a capability (airun capability list shows them)");
  }
}

void ReadCompensation(Reader* reader, const SourceNode& node, StepDefinition* step) {
  if (node.is_null()) return;  // the one null that real files write
  const std::string owner = "'compensation' of step '" + step->name + "'";
  if (!reader->IsMap(node, owner)) return;
  Fields fields(
      reader, node, owner,
      {"step_name", "capability_name", "capability", "inputs", "description", "max_retries", "timeout_seconds", "on_unknown_outcome"});
  CompensationDefinition out;
  out.mark = node.mark;
  std::string step_name = step->name;
  fields.String("step_name", &step_name);
  if (step_name != step->name)
    reader->Error(fields.Get("step_name")->mark, "compensation-step",
                  "'step_name' of a compensation must be its own step '" + step->name + "'; remove it");
  out.capability = ReadCapability(reader, &fields, owner);
  if (out.capability.empty() && !NamesCapability(fields))
    reader->Error(node.mark, "missing-capability", owner + " names no capability; add 'capability: ...'");
  if (out.capability.empty() && NamesCapability(fields)) return ReportEmptyCapability(reader, fields, owner);
  fields.Map("inputs", &out.inputs);
  fields.String("description", &out.description);
  ReadCompensationLimits(reader, &fields, &out);
  step->compensation = std::move(out);
}

StepType ReadType(Reader* reader, const Fields& fields) {
  static const std::vector<std::string_view> kWords = [] {
    std::vector<std::string_view> words;
    for (StepType type : kStepTypes) words.push_back(StepTypeName(type));
    return words;
  }();
  if (const SourceNode* node = fields.Get("step_type")) {
    if (auto word = reader->Word(*node, fields.What("step_type"), kWords))
      return kStepTypes[std::find(kWords.begin(), kWords.end(), *word) - kWords.begin()];
    return StepType::kAction;
  }
  if (fields.Get("foreach")) return StepType::kForeach;
  if (fields.Get("child")) return StepType::kChild;
  if (fields.Get("wait")) return StepType::kWait;
  if (fields.Get("wait_for_signal")) return StepType::kSignal;
  if (fields.Get("publish")) return StepType::kPublish;
  if (fields.Get("continue_as_new")) return StepType::kContinue;
  if (fields.Get("steps")) return StepType::kParallel;
  for (std::string_view key : {"if", "condition", "then"})
    if (fields.Get(key)) return StepType::kCondition;
  return StepType::kAction;
}

const std::vector<std::string_view>& StepKeys() {
  static const std::vector<std::string_view> keys = {"name",
                                                     "step_type",
                                                     "capability_name",
                                                     "capability",
                                                     "agent_name",
                                                     "inputs",
                                                     "depends_on",
                                                     "compensation",
                                                     "risk_level",
                                                     "max_retries",
                                                     "timeout_seconds",
                                                     "description",
                                                     "approval_config",
                                                     "steps",
                                                     "retry",
                                                     "step_timeout_seconds",
                                                     "on_unknown_outcome",
                                                     "queue",
                                                     "priority",
                                                     "condition",
                                                     "if",
                                                     "then",
                                                     "else_if",
                                                     "else",
                                                     "when",
                                                     "foreach",
                                                     "max_concurrent",
                                                     "fail",
                                                     "child",
                                                     "wait",
                                                     "wait_for_signal",
                                                     "publish",
                                                     "continue_as_new"};
  return keys;
}

class StepReader {
 public:
  StepReader(Reader* reader, const CapabilityRegistry& capabilities, Draft* draft)
      : reader_(reader), capabilities_(capabilities), draft_(draft) {}

  // Of the file (`parent` -1) or of a scope.
  void ReadList(const SourceNode& list, int parent, int branch) {
    int index = 0;
    for (const SourceNode& node : list.items) Read(node, ++index, parent, branch);
  }

 private:
  void Read(const SourceNode& node, int index, int parent, int branch) {
    const int place = static_cast<int>(draft_->definition.steps.size());
    StepDefinition& blank = draft_->definition.steps.emplace_back();
    blank.mark = node.mark;
    blank.parent = parent;
    blank.branch = branch;
    const std::string position = "step " + std::to_string(index);
    if (!reader_->IsMap(node, position)) return;
    const SourceEntry* name = node.Find("name");
    std::string owner = name && name->value.is_string() ? "step '" + name->value.scalar.get<std::string>().substr(0, 80) + "'" : position;
    Fields fields(reader_, node, owner, StepKeys());
    StepDefinition step = ReadStep(fields, owner, place, blank);
    const bool scope = IsScope(step);
    draft_->definition.steps[static_cast<std::size_t>(place)] = std::move(step);
    if (scope) ReadChildren(node, owner, place);
  }

  StepDefinition ReadStep(Fields& fields, const std::string& owner, int place, StepDefinition step) {
    ReadName(fields, owner, place, &step);
    step.type = ReadType(reader_, fields);
    step.capability = ReadCapability(reader_, &fields, owner);
    fields.String("agent_name", &step.agent_name);
    fields.String("description", &step.description);
    fields.Map("inputs", &step.inputs);
    if (const SourceNode* risk = fields.Get("risk_level"))
      if (auto word = reader_->Word(*risk, fields.What("risk_level"), {"LOW", "MEDIUM", "HIGH", "CRITICAL"}))
        step.risk = ParseRisk(*word).value_or(RiskLevel::kMedium);
    ReadRetry(reader_, &fields, capabilities_.Find(step.capability), &step);
    if (const SourceNode* compensation = fields.Get("compensation")) ReadCompensation(reader_, *compensation, &step);
    ReadQueue(fields, &step);
    ReadPriority(fields, &step);
    ReadDependencies(fields, &step);
    ReadWhen(fields, &step);
    CheckKind(fields, owner, &step);
    return step;
  }

  // The steps that a scope holds. A FOREACH with a call of its own holds one that has no name in the file.
  void ReadChildren(const SourceNode& node, const std::string& owner, int place) {
    for (const ChildList& child : ChildListsOf(node)) {
      const std::string what = child.list->is_list() && child.list->items.empty() ? "has a list without steps" : "";
      if (!reader_->IsList(*child.list, "the steps of " + owner)) continue;
      if (!what.empty()) reader_->Error(child.list->mark, "no-steps", owner + " " + what + "; add at least one, or remove the list");
      ReadList(*child.list, place, child.branch);
    }
    const StepDefinition& scope = draft_->definition.steps[static_cast<std::size_t>(place)];
    if (!scope.foreach || !scope.foreach->plain) return;
    StepDefinition body = scope;
    body.type = scope.child ? StepType::kChild : StepType::kAction;
    body.name += "[]";
    body.parent = place;
    body.branch = 0;
    body.depends_on.clear();
    body.when.clear();
    body.foreach.reset();
    body.max_concurrent = 0;
    body.fail_wait = false;
    StepDefinition& outer = draft_->definition.steps[static_cast<std::size_t>(place)];
    outer.capability.clear();
    outer.inputs = Json::object();
    outer.compensation.reset();
    outer.child.reset();
    outer.queue.reset();
    outer.priority.reset();
    outer.step_timeout.reset();
    draft_->definition.steps.push_back(std::move(body));
  }

  void ReadWhen(const Fields& fields, StepDefinition* step) {
    const SourceNode* node = fields.Get("when");
    if (!node) return;
    if (auto text = ReadExpression(reader_, *node, fields.What("when"))) step->when = std::move(*text);
  }

  void ReadName(const Fields& fields, const std::string& owner, int place, StepDefinition* step) {
    const SourceNode* node = fields.Get("name");
    int index = static_cast<int>(draft_->names.size());
    draft_->names.push_back({"", fields.map().mark, place});
    if (!node) return reader_->Error(fields.map().mark, "missing-name", owner + " has no 'name'; every step needs one of its own");
    auto name = reader_->String(*node, fields.What("name"));
    if (!name) return;
    draft_->names[index].mark = node->mark;
    if (auto wrong = BadName(*name, kLongestStepName)) return reader_->Error(node->mark, "bad-name", "the name of a step " + *wrong);
    if (name->find_first_of("/[]#") != std::string::npos || name->starts_with("undo:") || name->starts_with("global:"))
      return reader_->Error(
          node->mark, "bad-name",
          "the name of a step may not hold / [ ] # nor begin with undo: or global: (they are part of step ids); rename '" +
              name->substr(0, 80) + "'");
    step->name = *name;
    draft_->names[index].name = std::move(*name);
  }

  void ReadQueue(const Fields& fields, StepDefinition* step) {
    auto queue = ReadQueueName(reader_, fields);
    if (!queue || *queue == draft_->definition.queue) return;
    step->queue = std::move(*queue);
  }

  void ReadPriority(const Fields& fields, StepDefinition* step) {
    const SourceNode* node = fields.Get("priority");
    if (!node) return;
    auto priority = ReadStepPriority(reader_, fields);
    if (!priority || *priority == draft_->definition.priority) return;
    step->priority = priority;
  }

  void ReadDependencies(Fields& fields, StepDefinition* step) {
    const SourceNode* node = fields.Get("depends_on");
    if (!node) return;
    const int from = static_cast<int>(draft_->names.size()) - 1;
    std::set<std::string> seen;
    for (Reader::Placed& on : reader_->Strings(*node, fields.What("depends_on"))) {
      if (!seen.insert(on.text).second) {
        reader_->Warning(on.mark, "repeated-dependency", fields.What("depends_on") + " names '" + on.text.substr(0, 80) + "' twice");
        continue;
      }
      draft_->dependencies.push_back({from, on.text, on.mark});
      step->depends_on.push_back(std::move(on.text));
    }
  }

  void CheckKind(Fields& fields, const std::string& owner, StepDefinition* step) {
    const SourceNode* children = fields.Get("steps");
    Misplaced(fields, owner, *step);
    if (step->type == StepType::kWait) return ReadWait(reader_, fields, owner, step);
    if (step->type == StepType::kContinue) return ReadContinue(reader_, fields, owner, step);
    if (step->type == StepType::kPublish) return ReadPublish(reader_, fields, owner, step);
    if (step->type == StepType::kSignal) return ReadSignal(reader_, fields, owner, step);
    if (step->type == StepType::kChild) return ReadChild(reader_, fields, owner, step);
    if (step->type == StepType::kHumanApproval) return ReadApproval(reader_, fields, owner, step);
    ReadScope(reader_, fields, owner, children != nullptr, step);
    const bool beside = step->type == StepType::kParallel && !children;
    const SourceNode* child = step->foreach ? fields.Get("child") : nullptr;
    if (child && !step->foreach->plain)
      reader_->Error(child->mark, "misplaced-child", owner + " has 'steps' and 'child'; let one of its steps start the child");
    else if (child)
      return ReadChild(reader_, fields, owner, step);
    const bool calls = !IsScope(*step) || beside || (step->foreach && step->foreach->plain);
    if (calls && step->capability.empty() && !NamesCapability(fields))
      reader_->Error(fields.map().mark, "missing-capability",
                     owner + " names no capability; add 'capability: ...' (airun capability list shows them)");
    else if (calls && step->capability.empty() && NamesCapability(fields))
      ReportEmptyCapability(reader_, fields, owner);
  }

  // Keys that only one kind of step has.
  void Misplaced(const Fields& fields, const std::string& owner, const StepDefinition& step) {
    struct Rule {
      std::string_view key, code, whose;
      std::initializer_list<StepType> types;
      std::string_view instead;
    };
    static const Rule kRules[] = {
        {"wait", "misplaced-wait", "a WAIT step", {StepType::kWait}, "let a step of its own wait, before or behind it"},
        {"wait_for_signal", "misplaced-signal", "a SIGNAL step", {StepType::kSignal}, "let a step of its own wait, before or behind it"},
        {"publish", "misplaced-publish", "a PUBLISH step", {StepType::kPublish}, "let a step of its own say it, before or behind it"},
        {"continue_as_new",
         "misplaced-continue",
         "a CONTINUE_AS_NEW step",
         {StepType::kContinue},
         "let a step of its own do it, behind it"},
        {"steps",
         "misplaced-steps",
         "a PARALLEL, SEQUENCE or FOREACH step",
         {StepType::kParallel, StepType::kSequence, StepType::kForeach},
         "give it one of these kinds, or take the steps out"},
        {"child", "misplaced-child", "a CHILD step", {StepType::kChild, StepType::kForeach}, "let a step of its own start it"},
        {"approval_config",
         "misplaced-approval",
         "a HUMAN_APPROVAL step",
         {StepType::kHumanApproval},
         "let a step of its own ask, before it"},
        {"foreach", "misplaced-foreach", "a FOREACH step", {StepType::kForeach}, "remove its 'step_type', or the list"},
        {"if", "misplaced-if", "a CONDITION step", {StepType::kCondition}, "a step of another kind says 'when'"},
        {"condition", "misplaced-if", "a CONDITION step", {StepType::kCondition}, "a step of another kind says 'when'"},
        {"then", "misplaced-if", "a CONDITION step", {StepType::kCondition}, "a step of another kind says 'when'"},
        {"else_if", "misplaced-if", "a CONDITION step", {StepType::kCondition}, "a step of another kind says 'when'"},
        {"else", "misplaced-if", "a CONDITION step", {StepType::kCondition}, "a step of another kind says 'when'"},
        {"max_concurrent",
         "misplaced-limit",
         "a PARALLEL or FOREACH step",
         {StepType::kParallel, StepType::kForeach},
         "say it of the scope that the step stands in"},
        {"fail",
         "misplaced-limit",
         "a PARALLEL or FOREACH step",
         {StepType::kParallel, StepType::kForeach},
         "say it of the scope that the step stands in"}};
    for (const Rule& rule : kRules) {
      const SourceNode* node = fields.Get(rule.key);
      if (!node || (node->is_null() && rule.key == "approval_config") ||
          std::find(rule.types.begin(), rule.types.end(), step.type) != rule.types.end())
        continue;
      reader_->Error(node->mark, std::string(rule.code),
                     "only " + std::string(rule.whose) + " has '" + std::string(rule.key) + "'; " + owner + " is " +
                         std::string(StepTypeName(step.type)) + ": " + std::string(rule.instead));
    }
  }

  Reader* reader_;
  const CapabilityRegistry& capabilities_;
  Draft* draft_;
};

// `step_type: COMPENSATION` says what it is anyway.
bool IsCompensationType(std::string_view key, const SourceNode& value) {
  return key == "step_type" && value.is_string() && value.scalar == "COMPENSATION";
}

}  // namespace

bool IsStepKey(std::string_view key) {
  return key == "step_name" || std::find(StepKeys().begin(), StepKeys().end(), key) != StepKeys().end();
}

std::optional<std::string> ReadQueueName(Reader* reader, const Fields& fields) {
  const SourceNode* node = fields.Get("queue");
  if (!node) return std::nullopt;
  auto queue = reader->String(*node, fields.What("queue"));
  if (!queue) return std::nullopt;
  const bool braces = queue->find("{{") != std::string::npos;
  if (braces)  // no worker serves a queue of that name: it would wait for ever
    reader->Strictly(!reader->options().accepted_before, node->mark, "template-not-expanded",
                     fields.What("queue") + " holds {{: templates are expanded in 'inputs' only; write the queue's name");
  if (IsCommanded(*queue)) {
    reader->Strictly(!reader->options().accepted_before, node->mark, "bad-name",
                     "a queue whose name begins with \"" + std::string(kCommandedQueues) + "\" is the system's own: no worker serves it");
  }
  if (auto wrong = BadName(*queue, 64)) {
    reader->Error(node->mark, "bad-name", "a queue " + *wrong);
    return std::nullopt;
  }
  return queue;
}

void ReadSteps(Reader* reader, const SourceNode& list, const CapabilityRegistry& capabilities, Draft* draft) {
  if (!reader->IsList(list, "'steps'")) return;
  if (list.items.empty()) reader->Error(list.mark, "no-steps", "'steps' is empty; a workflow needs at least one step");
  StepReader(reader, capabilities, draft).ReadList(list, -1, 0);
}

void ReadGlobalCompensations(Reader* reader, const SourceNode& list, Draft* draft) {
  if (!reader->IsList(list, "'global_compensation_steps'")) return;
  std::set<std::string> seen;
  int index = 0;
  for (const SourceNode& node : list.items) {
    std::string owner = "global compensation " + std::to_string(++index);
    if (!reader->IsMap(node, owner)) continue;
    Fields fields(reader, node, owner,
                  {"name", "step_name", "step_type", "capability_name", "capability", "agent_name", "inputs", "description", "risk_level",
                   "max_retries", "timeout_seconds", "on_unknown_outcome"});
    CompensationDefinition out;
    out.mark = node.mark;
    std::string name;
    fields.String("step_name", &name);
    fields.String("name", &name);
    const SourceNode* named = fields.Get("name") ? fields.Get("name") : fields.Get("step_name");
    if (named && named->is_string()) {
      if (auto wrong = BadName(name, kLongestStepName)) reader->Error(named->mark, "bad-name", "the name of " + owner + " " + *wrong);
    }
    if (name.empty()) name = "global:" + std::to_string(index);
    if (!seen.insert(name).second)
      reader->Error(node.mark, "duplicate-name", "two global compensations are named '" + name.substr(0, 80) + "'");
    out.capability = ReadCapability(reader, &fields, owner);
    if (out.capability.empty()) reader->Error(node.mark, "missing-capability", owner + " names no capability; add 'capability: ...'");
    fields.Map("inputs", &out.inputs);
    fields.String("description", &out.description);
    ReadCompensationLimits(reader, &fields, &out);
    // Real files write these as they do for steps; nothing looks at them here.
    for (std::string_view key : {"agent_name", "risk_level", "step_type"})
      if (const SourceNode* ignored = fields.Get(key); ignored && !IsCompensationType(key, *ignored))
        reader->Warning(ignored->mark, "ignored-key", fields.What(key) + " has no effect on a compensation; remove it");
    draft->definition.global_compensation_steps.push_back(std::move(out));
    draft->definition.global_compensation_names.push_back(std::move(name));
  }
}

}  // namespace acl
