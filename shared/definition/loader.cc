#include "shared/definition/loader.h"

#include "shared/base/memory.h"
#include "shared/definition/draft.h"
#include "shared/definition/template.h"

namespace acl {

namespace {

constexpr std::size_t kMostFindings = 500;

void ReadMetadata(Reader* reader, const SourceNode& node, WorkflowDefinition* definition) {
  if (!reader->IsMap(node, "'metadata'")) return;
  definition->metadata = ToJson(node);
  static const std::vector<std::string_view> kRuntimeOwned = {"workflow_id", "transaction_id", "status",       "created_at",
                                                              "updated_at",  "started_at",     "completed_at", "triggered_by"};
  std::vector<std::string_view> known = {"owner",          "business_unit", "cost_center", "compliance_tags", "environment", "audit_level",
                                         "retention_days", "pack_id",       "pack_name",   "pack_version",    "tags"};
  known.insert(known.end(), kRuntimeOwned.begin(), kRuntimeOwned.end());
  Fields fields(reader, node, "'metadata'", known);
  for (std::string_view key : {"business_unit", "cost_center", "environment", "pack_id", "pack_name", "pack_version"}) {
    const SourceNode* value = fields.Get(key);
    if (value && !value->is_null()) (void)reader->String(*value, fields.What(key));
  }
  fields.String("owner", &definition->owner);
  for (std::string_view key : {"compliance_tags", "tags"})
    if (const SourceNode* value = fields.Get(key)) (void)reader->Strings(*value, fields.What(key));
  if (const SourceNode* value = fields.Get("audit_level"))
    (void)reader->Word(*value, fields.What("audit_level"), {"MINIMAL", "STANDARD", "FULL", "FORENSIC", "BASIC", "DETAILED"});
  if (const SourceNode* value = fields.Get("retention_days")) (void)reader->Integer(*value, fields.What("retention_days"), 0, 36'600);
  for (std::string_view key : kRuntimeOwned) {
    const SourceEntry* entry = node.Find(key);
    if (!entry) continue;
    reader->Warning(entry->key_mark, "runtime-owned",
                    "'" + std::string(key) + "' of 'metadata' is set by the runtime; the file's value is ignored");
    definition->metadata.erase(std::string(key));
  }
}

void ReadPolicy(Reader* reader, const SourceNode& node, WorkflowDefinition* definition) {
  if (!reader->IsList(node, "'policy'")) return;
  definition->policy = ToJson(node);
  int index = 0;
  for (const SourceNode& rule : node.items) {
    const std::string owner = "policy rule " + std::to_string(++index);
    if (!reader->IsMap(rule, owner)) continue;
    Fields fields(reader, rule, owner,
                  {"rule_id", "agent_name", "allowed_capabilities", "denied_capabilities", "requires_approval_for", "allowed_environments",
                   "max_retries", "timeout_seconds", "description"});
    std::string agent;
    fields.String("agent_name", &agent);
    if (!fields.Get("agent_name")) reader->Error(rule.mark, "missing-agent", owner + " has no 'agent_name'; a rule is about one agent");
    for (std::string_view key : {"allowed_capabilities", "denied_capabilities", "requires_approval_for", "allowed_environments"})
      if (const SourceNode* list = fields.Get(key)) (void)reader->Strings(*list, fields.What(key));
    for (std::string_view key : {"max_retries", "timeout_seconds"})
      if (const SourceNode* value = fields.Get(key)) (void)reader->Integer(*value, fields.What(key), 0, kLongestSeconds);
  }
  if (!node.items.empty())
    reader->Warning(node.mark, "policy-not-enforced", "'policy' of a file is checked and kept, but not enforced yet");
}

void ReadNames(Reader* reader, Fields* fields, WorkflowDefinition* definition) {
  constexpr std::size_t kLongest = 200;
  fields->String("name", &definition->name);
  fields->String("workflow_id", &definition->workflow_id);
  for (auto [key, value] : {std::pair("name", &definition->name), std::pair("workflow_id", &definition->workflow_id)}) {
    const SourceNode* node = fields->Get(key);
    if (!node || !node->is_string()) continue;
    if (auto wrong = BadName(*value, kLongest))
      reader->Error(node->mark, "bad-name", "the workflow's '" + std::string(key) + "' " + *wrong);
  }
  if (definition->name.empty() && !fields->Get("name")) {
    if (definition->workflow_id.empty()) reader->Error(fields->map().mark, "missing-name", "the workflow has no 'name'; add 'name: ...'");
    definition->name = definition->workflow_id;
  }
  fields->String("version", &definition->version);
  fields->String("description", &definition->description);
}

// Whether a call may have an effect and holds a template. (Of a capability that is not known here: it may be known to a worker.)
bool NeedsValues(const CapabilityRegistry& capabilities, const std::string& id, const Json& inputs) {
  const CapabilityDefinition* capability = capabilities.Find(id);
  return (!capability || NeedsRowFirst(capability->effect)) && HasTemplate(inputs);
}

// Whether what it gives to a child run or to the outside holds a template.
bool SendsTemplates(const StepDefinition& step) {
  if (step.child) return HasTemplate(step.child->inputs);
  if (!step.publish) return false;
  const PublishDefinition& sent = *step.publish;
  return HasTemplate(Json::array({sent.event, sent.endpoint, sent.topic, sent.subject, sent.data}));
}

bool EffectsNeedValues(const CapabilityRegistry& capabilities, const WorkflowDefinition& definition) {
  const auto needs = [&](const auto& call) { return NeedsValues(capabilities, call.capability, call.inputs); };
  return std::any_of(definition.steps.begin(), definition.steps.end(),
                     [&](const StepDefinition& step) {
                       return needs(step) || (step.compensation && needs(*step.compensation)) || SendsTemplates(step);
                     }) ||
         std::any_of(definition.global_compensation_steps.begin(), definition.global_compensation_steps.end(), needs);
}

void ReadWorkflow(Reader* reader, const SourceNode& root, const CapabilityRegistry& capabilities, Draft* draft) {
  WorkflowDefinition& definition = draft->definition;
  Fields fields(reader, root, "the workflow",
                {"name", "version", "description", "workflow_id", "metadata", "initial_state", "inputs", "steps", "policy",
                 "global_compensation_steps", "max_execution_time_seconds", "enable_auto_rollback", "queue", "priority",
                 "lenient_templates", "workflows", "$schema"});
  ReadNames(reader, &fields, &definition);
  if (const SourceNode* node = fields.Get("metadata")) ReadMetadata(reader, *node, &definition);
  fields.Map("initial_state", &definition.initial_state);
  if (const SourceNode* node = fields.Get("inputs")) ReadInputs(reader, *node, &definition);
  if (const SourceNode* node = fields.Get("policy")) ReadPolicy(reader, *node, &definition);
  fields.Seconds("max_execution_time_seconds", &definition.max_execution_time);
  definition.time_limit_stated = fields.Get("max_execution_time_seconds") != nullptr;
  fields.Boolean("enable_auto_rollback", &definition.enable_auto_rollback);
  bool lenient = false;
  fields.Boolean("lenient_templates", &lenient);
  definition.lenient_templates |= lenient;
  if (auto queue = ReadQueueName(reader, fields)) definition.queue = std::move(*queue);
  if (auto priority = ReadStepPriority(reader, fields)) definition.priority = *priority;
  const SourceNode* steps = fields.Get("steps");
  if (steps)
    ReadSteps(reader, *steps, capabilities, draft);
  else
    reader->Error(root.mark, "no-steps", "the workflow has no 'steps'; add at least one");
  if (const SourceNode* node = fields.Get("global_compensation_steps")) ReadGlobalCompensations(reader, *node, draft);
  for (StepDefinition& step : definition.steps)
    if (step.agent_name.empty()) step.agent_name = definition.owner;
}

}  // namespace

std::string FormatFinding(const std::string& file, const Finding& finding) {
  std::string place = finding.mark.line > 0 ? ":" + std::to_string(finding.mark.line) + ":" + std::to_string(finding.mark.column) : "";
  return file + place + (finding.severity == Finding::Severity::kError ? ": error: " : ": warning: ") + finding.code + ": " +
         finding.message;
}

namespace {

// All that is looked at once a workflow was read.
void CheckWorkflow(Reader* reader, const SourceNode& root, const std::string& text, const CapabilityRegistry& capabilities, Draft* draft) {
  CheckGraph(reader, draft);
  CheckCapabilities(reader, root, capabilities, *draft);
  SettleTimeouts(capabilities, &draft->definition);
  CheckReferences(reader, capabilities, *draft);
  CheckTemplates(reader, root, text, draft->definition);
}

// `workflows`: what CHILD steps of the file start. Each is a workflow like the file itself, but for workflows of its own.
void ReadWorkflows(Reader* reader, const SourceNode& root, const std::string& text, const CapabilityRegistry& capabilities,
                   WorkflowDefinition* definition) {
  const SourceEntry* map = root.Find("workflows");
  if (!map || !reader->IsMap(map->value, "'workflows'")) return;
  std::vector<Draft> children;
  for (const SourceEntry& entry : map->value.entries) {
    if (auto wrong = BadName(entry.key, 200)) reader->Error(entry.key_mark, "bad-name", "the name of a workflow " + *wrong);
    if (!reader->IsMap(entry.value, "'" + entry.key + "' of 'workflows'")) continue;
    Draft& child = children.emplace_back();
    child.definition.name = entry.key;
    child.definition.lenient_templates = definition->lenient_templates;
    ReadWorkflow(reader, entry.value, capabilities, &child);
    if (const SourceEntry* nested = entry.value.Find("workflows"))
      reader->Error(nested->key_mark, "misplaced-workflows",
                    "only the file itself has 'workflows': write them all there; they may start each other");
    CheckWorkflow(reader, entry.value, text, capabilities, &child);
    const WorkflowDefinition& read = child.definition;
    child.definition.strict_templates = reader->options().strict_templates;
    child.definition.effects_need_values = !read.strict_templates && !read.lenient_templates && EffectsNeedValues(capabilities, read);
    definition->workflows[entry.key] = DefinitionToJson(read);
  }
  for (const Draft& child : children) {
    CheckChildren(reader, child.definition, definition->workflows);
    CheckContinues(reader, child.definition);
  }
}

Loaded Load(const std::string& text, const CapabilityRegistry& capabilities, const LoadOptions& options) {
  Loaded out;
  Reader reader(options, &out.findings);
  Draft draft;
  draft.definition.lenient_templates = options.lenient_templates;
  if (auto root = ReadSource(text, options, &out.findings)) {
    if (reader.IsMap(*root, "a workflow file")) {
      ReadWorkflow(&reader, *root, capabilities, &draft);
      ReadWorkflows(&reader, *root, text, capabilities, &draft.definition);
      CheckWorkflow(&reader, *root, text, capabilities, &draft);
      CheckChildren(&reader, draft.definition, draft.definition.workflows);
      CheckContinues(&reader, draft.definition);
    }
  }
  auto place = [](const Finding& finding) { return std::tuple(finding.mark.line, finding.mark.column, finding.severity); };
  std::stable_sort(out.findings.begin(), out.findings.end(), [&](const Finding& a, const Finding& b) { return place(a) < place(b); });
  bool failed = std::any_of(out.findings.begin(), out.findings.end(),
                            [](const Finding& finding) { return finding.severity == Finding::Severity::kError; });
  if (out.findings.size() > kMostFindings) {
    const std::size_t more = out.findings.size() - kMostFindings;
    // Errors are shown first of all, each where it stands: they are why a file is refused.
    std::stable_partition(out.findings.begin(), out.findings.end(),
                          [](const Finding& finding) { return finding.severity == Finding::Severity::kError; });
    out.findings.resize(kMostFindings);
    std::stable_sort(out.findings.begin(), out.findings.end(), [&](const Finding& a, const Finding& b) { return place(a) < place(b); });
    out.findings.push_back({failed ? Finding::Severity::kError : Finding::Severity::kWarning, "more-findings",
                            "and " + std::to_string(more) + (more + kMostFindings >= limits::kFindingsKept ? " or more" : " more"),
                            out.findings.back().mark});
  }
  draft.definition.strict_templates = options.strict_templates;
  draft.definition.effects_need_values =
      !failed && !options.strict_templates && !draft.definition.lenient_templates && EffectsNeedValues(capabilities, draft.definition);
  if (!failed) out.definition = std::move(draft.definition);
  return out;
}

}  // namespace

Loaded LoadWorkflow(const std::string& text, const CapabilityRegistry& capabilities, const LoadOptions& options) {
  Loaded out;
  if (!WithinMemory([&] { out = Load(text, capabilities, options); }))
    AddError(&out.findings, {1, 1}, "out-of-memory", "there is not enough memory to read this file now; try again");
  return out;
}

}  // namespace acl
