// The steps of a file, in either dialect of document 002 (compat.md 1.3).
#include "shared/kernel/command.h"
#include "shared/spec/draft.h"
#include "shared/spec/suggest.h"

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

void ReadCompensation(Reader* reader, const SourceNode& node, StepSpec* step) {
  if (node.is_null()) return;  // the one null that real files write
  const std::string owner = "'compensation' of step '" + step->name + "'";
  if (!reader->IsMap(node, owner)) return;
  Fields fields(
      reader, node, owner,
      {"step_name", "capability_name", "capability", "inputs", "description", "max_retries", "timeout_seconds", "on_unknown_outcome"});
  CompensationSpec out;
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
  static const std::vector<std::string_view> kWords = {"ACTION",       "HUMAN_APPROVAL", "PARALLEL", "CONDITION",
                                                       "COMPENSATION", "FOREACH",        "CHILD",    "WAIT"};
  static constexpr StepType kTypes[] = {StepType::kAction,       StepType::kHumanApproval, StepType::kParallel, StepType::kCondition,
                                        StepType::kCompensation, StepType::kForeach,       StepType::kChild,    StepType::kWait};
  if (const SourceNode* node = fields.Get("step_type")) {
    if (auto word = reader->Word(*node, fields.What("step_type"), kWords))
      return kTypes[std::find(kWords.begin(), kWords.end(), *word) - kWords.begin()];
    return StepType::kAction;
  }
  if (fields.Get("foreach")) return StepType::kForeach;
  if (fields.Get("child")) return StepType::kChild;
  if (fields.Get("wait")) return StepType::kWait;
  if (fields.Get("steps")) return StepType::kParallel;
  if (fields.Get("condition") || fields.Get("when")) return StepType::kCondition;
  return StepType::kAction;
}

void Later(Reader* reader, SourceMark mark, const std::string& what) {
  reader->Strictly(reader->options().for_submit, mark, "not-supported-yet",
                   what + " is not supported yet: it is checked, but a run with it is refused");
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
                                                     "when",
                                                     "foreach",
                                                     "child",
                                                     "wait"};
  return keys;
}

class StepReader {
 public:
  StepReader(Reader* reader, const CapabilityRegistry& capabilities, Draft* draft)
      : reader_(reader), capabilities_(capabilities), draft_(draft) {}

  void ReadList(const SourceNode& list, int top) {
    int index = 0;
    for (const SourceNode& node : list.items) {
      bool nested = top >= 0;
      StepSpec step = Read(node, ++index, nested ? top : static_cast<int>(draft_->spec.steps.size()));
      if (!nested) draft_->spec.steps.push_back(std::move(step));
    }
  }

 private:
  StepSpec Read(const SourceNode& node, int index, int top) {
    StepSpec step;
    step.mark = node.mark;
    const std::string position = "step " + std::to_string(index);
    if (!reader_->IsMap(node, position)) return step;
    const SourceEntry* name = node.Find("name");
    std::string owner = name && name->value.is_string() ? "step '" + name->value.scalar.get<std::string>().substr(0, 80) + "'" : position;
    Fields fields(reader_, node, owner, StepKeys());
    ReadName(fields, owner, top, &step);
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
    CheckKind(fields, owner, top, &step);
    return step;
  }

  void ReadName(const Fields& fields, const std::string& owner, int top, StepSpec* step) {
    const SourceNode* node = fields.Get("name");
    int index = static_cast<int>(draft_->names.size());
    draft_->names.push_back({"", fields.map().mark, top});
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

  void ReadQueue(const Fields& fields, StepSpec* step) {
    auto queue = ReadQueueName(reader_, fields);
    if (!queue || *queue == draft_->spec.queue) return;
    step->queue = std::move(*queue);
  }

  void ReadPriority(const Fields& fields, StepSpec* step) {
    const SourceNode* node = fields.Get("priority");
    if (!node) return;
    auto band = ReadBand(reader_, fields);
    if (!band || *band == draft_->spec.band) return;
    step->band = band;
  }

  void ReadDependencies(Fields& fields, StepSpec* step) {
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

  void CheckKind(Fields& fields, const std::string& owner, int top, StepSpec* step) {
    const SourceNode* children = fields.Get("steps");
    for (std::string_view key : {"approval_config", "steps", "condition", "when", "foreach", "child"})
      if (const SourceNode* node = fields.Get(key)) step->extra[std::string(key)] = ToJson(*node);
    const bool waits = step->type == StepType::kWait;
    if (waits) ReadWait(reader_, fields, owner, step);
    if (const SourceNode* wait = fields.Get("wait"); wait && !waits)
      reader_->Error(wait->mark, "misplaced-wait",
                     "only a WAIT step has 'wait'; " + owner + " is " + std::string(StepTypeName(step->type)) +
                         ": let a step of its own wait, before or behind it");
    if (children && step->type != StepType::kParallel)
      reader_->Error(children->mark, "misplaced-steps",
                     "only a PARALLEL step has 'steps' of its own; " + owner + " is " + std::string(StepTypeName(step->type)));
    bool action = step->type == StepType::kAction || step->type == StepType::kCompensation;
    if (!action && !waits) {
      const SourceNode* type = fields.Get("step_type");
      Later(reader_, type ? type->mark : fields.map().mark, "the kind " + std::string(StepTypeName(step->type)) + " of " + owner);
    } else if (action) {
      for (std::string_view key : {"condition", "when", "foreach", "child"})
        if (const SourceNode* node = fields.Get(key)) Later(reader_, node->mark, fields.What(key));
    }
    bool needs_capability = action || step->type == StepType::kForeach || (step->type == StepType::kParallel && !children);
    if (needs_capability && step->capability.empty() && !NamesCapability(fields))
      reader_->Error(fields.map().mark, "missing-capability",
                     owner + " names no capability; add 'capability: ...' (airun capability list shows them)");
    else if (!waits && step->capability.empty() && NamesCapability(fields))
      ReportEmptyCapability(reader_, fields, owner);
    if (children && reader_->IsList(*children, fields.What("steps")) && step->type == StepType::kParallel) {
      if (children->items.empty())
        reader_->Error(children->mark, "no-steps", fields.What("steps") + " is empty; a PARALLEL step needs at least one");
      ReadList(*children, top);
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
  StepReader(reader, capabilities, draft).ReadList(list, -1);
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
    CompensationSpec out;
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
    draft->spec.global_compensation_steps.push_back(std::move(out));
    draft->spec.global_compensation_names.push_back(std::move(name));
  }
}

}  // namespace acl
