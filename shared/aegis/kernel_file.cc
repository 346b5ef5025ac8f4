#include "shared/aegis/kernel_file.h"

#include <algorithm>
#include <set>

#include "shared/base/canonical_json.h"
#include "shared/base/memory.h"
#include "shared/definition/reader.h"

namespace acl::aegis {

namespace {

constexpr std::array<std::string_view, 5> kDriftClasses = {"authority", "evidence", "tone", "schema", "completeness"};
constexpr std::int64_t kMostTokens = 1'000'000, kMostBytes = 4 << 20;
constexpr std::size_t kMostWorkflow = 64u << 10;

// The three of document 004, with what a model is told about them.
const std::map<std::string_view, std::string_view>& KnownConstraints() {
  static const std::map<std::string_view, std::string_view> known = {
      {"read_only_default", "You read and propose; you change nothing yourself."},
      {"evidence_first", "Every claim about the system names the id of what it rests on."},
      {"unknowns_are_risk", "What is not known is said to be unknown and is treated as a risk."}};
  return known;
}

// One kernel file as it is read.
class KernelReader {
 public:
  KernelReader(const LoadOptions& options, std::vector<acl::Finding>* findings) : reader_(options, findings) {}

  void Read(const SourceNode& root, Kernel* kernel) {
    if (!reader_.IsMap(root, "a kernel file")) return;
    Fields fields(&reader_, root, "the kernel",
                  {"kernel", "phase", "tier", "host_role", "authority", "constraints", "tools", "caps", "history", "drift",
                   "sanitise_for_model", "model", "pricing", "budgets"});
    ReadVersion(root, fields);
    if (const SourceNode* node = Need(fields, root, "phase", "phase: beta"))
      if (auto phase = reader_.Word(*node, fields.What("phase"), {"alpha", "beta", "release"})) kernel->phase = *phase;
    if (const SourceNode* node = Need(fields, root, "tier", "tier: 1"))
      if (auto tier = reader_.Integer(*node, fields.What("tier"), kLowestTier, kHighestTier)) kernel->tier = int(*tier);
    if (const SourceNode* node = Need(fields, root, "host_role", "host_role: brain"))
      ReadName(*node, fields.What("host_role"), &kernel->host_role);
    ReadAuthority(fields.Get("authority"), kernel);
    ReadConstraints(root, fields, kernel);
    ReadTools(fields.Get("tools"), kernel);
    ReadCaps(root, fields, kernel);
    ReadHistory(fields.Get("history"), kernel);
    ReadDrift(root, fields, kernel);
    fields.Boolean("sanitise_for_model", &kernel->sanitise_for_model);
    ReadModel(root, fields, kernel);
    fields.Map("pricing", &kernel->pricing);
    fields.Map("budgets", &kernel->budgets);
  }

 private:
  const SourceNode* Need(const Fields& fields, const SourceNode& owner, std::string_view key, std::string_view example) {
    const SourceNode* node = fields.Get(key);
    if (!node) {
      reader_.Error(owner.mark, "missing-" + std::string(key), fields.What(key) + " is missing; add '" + std::string(example) + "'");
    }
    return node;
  }

  void ReadVersion(const SourceNode& root, const Fields& fields) {
    const SourceNode* node = Need(fields, root, "kernel", "kernel: aegis/1");
    if (node) (void)reader_.Word(*node, fields.What("kernel"), {"aegis/1"});
  }

  // Names stand in hashes, tables and prompts: letters, digits and _ . : / - alone.
  void ReadName(const SourceNode& node, const std::string& what, std::string* out) {
    constexpr std::size_t kLongest = 100;
    auto text = reader_.String(node, what);
    if (!text) return;
    const bool plain = std::all_of(text->begin(), text->end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("_.:/-").find(c) != std::string_view::npos;
    });
    if (text->empty() || text->size() > kLongest || !plain) {
      reader_.Error(node.mark, "bad-name", what + " must be 1 to 100 letters, digits, '_', '.', ':', '/' or '-'");
      return;
    }
    *out = std::move(*text);
  }

  // One line: it stands in a list of the prompt.
  void ReadLine(const SourceNode& node, const std::string& what, std::string* out) {
    constexpr std::size_t kLongest = 500;
    auto text = reader_.String(node, what);
    if (!text) return;
    const bool line = std::none_of(text->begin(), text->end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (text->empty() || text->size() > kLongest || !line) {
      reader_.Error(node.mark, "bad-line", what + " must be one line of 1 to 500 bytes");
      return;
    }
    *out = std::move(*text);
  }

  void ReadTier(const SourceNode& node, const std::string& what, int* out) {
    if (auto tier = reader_.Integer(node, what, kLowestTier, kHighestTier)) *out = int(*tier);
  }

  void ReadVerbs(const Fields& fields, std::string_view key, std::vector<std::string>* verbs) {
    const SourceNode* list = fields.Get(key);
    if (!list || !reader_.IsList(*list, fields.What(key))) return;
    for (const SourceNode& item : list->items) ReadName(item, "a verb of " + fields.What(key), &verbs->emplace_back());
  }

  void ReadAuthority(const SourceNode* node, Kernel* kernel) {
    kernel->artifact_from_tier.fill(kLowestTier);
    if (!node || !reader_.IsMap(*node, "'authority'")) return;
    Fields fields(&reader_, *node, "'authority'", {"rules", "permits", "artifacts"});
    if (const SourceNode* rules = fields.Get("rules"); rules && reader_.IsList(*rules, fields.What("rules")))
      for (const SourceNode& item : rules->items) ReadLine(item, "a rule of 'authority'", &kernel->authority_rules.emplace_back());
    ReadVerbs(fields, "permits", &kernel->permits);
    const SourceNode* artifacts = fields.Get("artifacts");
    if (!artifacts || !reader_.IsMap(*artifacts, fields.What("artifacts"))) return;
    const auto& names = ArtifactTypeNames();
    Fields types(&reader_, *artifacts, "'artifacts'", {names.begin(), names.end()});
    for (std::size_t i = 0; i < names.size(); ++i)
      if (const SourceNode* tier = types.Get(names[i])) ReadTier(*tier, types.What(names[i]), &kernel->artifact_from_tier[i]);
  }

  void ReadConstraint(const SourceNode& item, Kernel* kernel) {
    RuleText constraint;
    if (item.is_map()) {
      Fields fields(&reader_, item, "a constraint", {"rule", "text"});
      if (const SourceNode* rule = Need(fields, item, "rule", "rule: NAME")) ReadName(*rule, fields.What("rule"), &constraint.rule);
      if (const SourceNode* text = fields.Get("text")) ReadLine(*text, fields.What("text"), &constraint.text);
    } else {
      ReadName(item, "a constraint", &constraint.rule);
    }
    if (constraint.rule.empty()) return;
    const auto& known = KnownConstraints();
    const auto found = known.find(constraint.rule);
    if (constraint.text.empty() && found != known.end()) constraint.text = found->second;
    if (constraint.text.empty())
      reader_.Error(item.mark, "constraint-without-text",
                    "the constraint '" + constraint.rule + "' has no text for the model; write {rule: " + constraint.rule + ", text: ...}");
    const bool twice = std::any_of(kernel->constraints.begin(), kernel->constraints.end(),
                                   [&](const RuleText& other) { return other.rule == constraint.rule; });
    if (twice) reader_.Error(item.mark, "constraint-twice", "the constraint '" + constraint.rule + "' stands here twice; remove one");
    kernel->constraints.push_back(std::move(constraint));
  }

  void ReadConstraints(const SourceNode& root, const Fields& fields, Kernel* kernel) {
    const SourceNode* node = Need(fields, root, "constraints", "constraints: [read_only_default, evidence_first, unknowns_are_risk]");
    if (!node || !reader_.IsList(*node, fields.What("constraints"))) return;
    for (const SourceNode& item : node->items) ReadConstraint(item, kernel);
    if (kernel->phase != "beta") return;
    for (const auto& [rule, text] : KnownConstraints()) {
      const bool there = std::any_of(kernel->constraints.begin(), kernel->constraints.end(),
                                     [rule = rule](const RuleText& constraint) { return constraint.rule == rule; });
      if (!there)
        reader_.Error(node->mark, "missing-constraint",
                      "phase beta needs the constraint '" + std::string(rule) + "'; add it to 'constraints'");
    }
  }

  // What a tool that acts has besides: how it is proposed, who is asked, what runs then.
  void ReadProposal(Fields& fields, const SourceNode& owner, ToolRule* tool) {
    if (const SourceNode* node = fields.Get("workflow"))
      if (auto text = reader_.String(*node, fields.What("workflow"))) tool->workflow = std::move(*text);
    if (tool->workflow.size() > kMostWorkflow)
      reader_.Error(owner.mark, "workflow-too-large", fields.What("workflow") + " has more than 64 KiB; call a smaller one");
    if (const SourceNode* node = fields.Get("parameters"); node && reader_.IsMap(*node, fields.What("parameters")))
      tool->parameters = ToJson(*node);
    if (const SourceNode* node = fields.Get("approvers"); node && reader_.IsList(*node, fields.What("approvers")))
      for (const SourceNode& item : node->items) ReadLine(item, "one of " + fields.What("approvers"), &tool->approvers.emplace_back());
    fields.Boolean("allow_requester", &tool->allow_requester);
  }

  void ReadToolList(const SourceNode* node, const std::string& what, bool acts, std::vector<ToolRule>* tools) {
    if (!node || !reader_.IsMap(*node, what)) return;
    for (const SourceEntry& entry : node->entries) {
      ToolRule tool;
      SourceNode name;
      name.kind = SourceNode::Kind::kString;
      name.mark = entry.key_mark;
      name.scalar = entry.key;
      ReadName(name, "the name of a tool", &tool.name);
      if (!reader_.IsMap(entry.value, "the tool '" + entry.key.substr(0, 80) + "'")) continue;
      Fields fields(&reader_, entry.value, "the tool '" + entry.key.substr(0, 80) + "'",
                    {"from_tier", "about", "verbs", "workflow", "parameters", "approvers", "allow_requester"});
      if (const SourceNode* tier = Need(fields, entry.value, "from_tier", "from_tier: 1"))
        ReadTier(*tier, fields.What("from_tier"), &tool.from_tier);
      if (const SourceNode* about = fields.Get("about")) ReadLine(*about, fields.What("about"), &tool.about);
      ReadVerbs(fields, "verbs", &tool.verbs);
      ReadProposal(fields, entry.value, &tool);
      if (!acts && (!tool.workflow.empty() || !tool.parameters.empty() || !tool.approvers.empty()))
        reader_.Error(entry.value.mark, "workflow-of-sight",
                      "the tool '" + tool.name +
                          "' only reads, and runs by itself: it has no workflow, "
                          "parameters or approvers; move it to 'actuation' if it changes something");
      tools->push_back(std::move(tool));
    }
    std::sort(tools->begin(), tools->end(), [](const ToolRule& a, const ToolRule& b) { return a.name < b.name; });
  }

  void ReadTools(const SourceNode* node, Kernel* kernel) {
    if (!node || !reader_.IsMap(*node, "'tools'")) return;
    Fields fields(&reader_, *node, "'tools'", {"observational", "actuation"});
    ReadToolList(fields.Get("observational"), fields.What("observational"), false, &kernel->observational);
    ReadToolList(fields.Get("actuation"), fields.What("actuation"), true, &kernel->actuation);
    for (const ToolRule& tool : kernel->actuation)
      if (kernel->Observational(tool.name))
        reader_.Error(
            node->mark, "tool-of-both-classes",
            "the tool '" + tool.name + "' stands under 'observational' and 'actuation'; a tool is one of them: keep the one that is true");
  }

  void ReadCaps(const SourceNode& root, const Fields& fields, Kernel* kernel) {
    const SourceNode* node = Need(fields, root, "caps", "caps: {ring0: {tokens: 400, bytes: 4096}, ring1: ..., ring2: ...}");
    if (!node || !reader_.IsMap(*node, fields.What("caps"))) return;
    Fields caps(&reader_, *node, "'caps'", {"ring0", "ring1", "ring2", "exclusions"});
    for (std::size_t i = 0; i < kernel->rings.size(); ++i) {
      const std::string ring = "ring" + std::to_string(i);
      const SourceNode* map = Need(caps, *node, ring, ring + ": {tokens: 400, bytes: 4096}");
      if (!map || !reader_.IsMap(*map, caps.What(ring))) continue;
      Fields cap(&reader_, *map, "'" + ring + "'", {"tokens", "bytes"});
      if (const SourceNode* tokens = Need(cap, *map, "tokens", "tokens: 400"))
        kernel->rings[i].tokens = reader_.Integer(*tokens, cap.What("tokens"), 0, kMostTokens).value_or(0);
      if (const SourceNode* bytes = Need(cap, *map, "bytes", "bytes: 4096"))
        kernel->rings[i].bytes = reader_.Integer(*bytes, cap.What("bytes"), 0, kMostBytes).value_or(0);
    }
    if (const SourceNode* most = caps.Get("exclusions"))
      kernel->exclusions_named = reader_.Integer(*most, caps.What("exclusions"), 0, 1'000).value_or(0);
  }

  void ReadHistory(const SourceNode* node, Kernel* kernel) {
    if (!node || !reader_.IsMap(*node, "'history'")) return;
    Fields fields(&reader_, *node, "'history'", {"recent_turns", "deep_after"});
    if (const SourceNode* turns = fields.Get("recent_turns"))
      kernel->recent_turns = reader_.Integer(*turns, fields.What("recent_turns"), 0, 64).value_or(0);
    if (const SourceNode* after = fields.Get("deep_after"))
      if (auto duration = reader_.Duration(*after, fields.What("deep_after"))) kernel->deep_after_s = duration->count() / 1'000;
  }

  void ReadDriftClass(const SourceNode& list, const std::string& name, Kernel* kernel) {
    if (!reader_.IsList(list, "'" + name + "' of 'drift'")) return;
    std::set<int> said;
    auto& by_tier = kernel->drift[name];
    for (const SourceNode& item : list.items) {
      const std::string owner = "a rule of '" + name + "'";
      if (!reader_.IsMap(item, owner)) continue;
      Fields fields(&reader_, item, owner, {"tiers", "severity", "action"});
      DriftRule rule;
      if (const SourceNode* node = Need(fields, item, "severity", "severity: high"))
        rule.severity = reader_.Word(*node, fields.What("severity"), {"low", "medium", "high", "critical"}).value_or("");
      if (const SourceNode* node = Need(fields, item, "action", "action: mark"))
        rule.fail_closed = reader_.Word(*node, fields.What("action"), {"fail_closed", "mark"}) == "fail_closed";
      const SourceNode* tiers = Need(fields, item, "tiers", "tiers: [1, 2, 3]");
      if (!tiers || !reader_.IsList(*tiers, fields.What("tiers"))) continue;
      for (const SourceNode& node : tiers->items) {
        const auto tier = reader_.Integer(node, "a tier of " + owner, kLowestTier, kHighestTier);
        if (!tier) continue;
        if (!said.insert(int(*tier)).second)
          reader_.Error(node.mark, "drift-said-twice",
                        "tier " + std::to_string(*tier) + " of drift class '" + name + "' stands here twice; keep one");
        by_tier[std::size_t(*tier) - 1] = rule;
      }
    }
    if (!said.contains(kernel->tier))
      reader_.Error(list.mark, "drift-unsaid",
                    "drift class '" + name + "' has no rule for this kernel's tier " + std::to_string(kernel->tier) + "; add {tiers: [" +
                        std::to_string(kernel->tier) + "], severity: high, action: fail_closed}");
  }

  void ReadDrift(const SourceNode& root, const Fields& fields, Kernel* kernel) {
    const SourceNode* node =
        Need(fields, root, "drift", "drift: {authority: [{tiers: [1, 2, 3], severity: high, action: fail_closed}], ...}");
    if (!node || !reader_.IsMap(*node, fields.What("drift"))) return;
    Fields classes(&reader_, *node, "'drift'", {kDriftClasses.begin(), kDriftClasses.end()});
    for (std::string_view name : kDriftClasses)
      if (const SourceNode* list = Need(classes, *node, name, std::string(name) + ": [{tiers: [1, 2, 3], severity: high, action: mark}]"))
        ReadDriftClass(*list, std::string(name), kernel);
  }

  void ReadModel(const SourceNode& root, const Fields& fields, Kernel* kernel) {
    const SourceNode* node =
        Need(fields, root, "model", "model: {provider: ollama, api: openai_compatible, model: 'llama3.1:8b', max_tokens: 1024}");
    if (!node || !reader_.IsMap(*node, fields.What("model"))) return;
    ModelRule& model = kernel->model;
    Fields own(&reader_, *node, "'model'", {"provider", "api", "model", "url", "key", "max_tokens", "temperature", "seed"});
    if (const SourceNode* value = Need(own, *node, "provider", "provider: ollama")) ReadName(*value, own.What("provider"), &model.provider);
    if (const SourceNode* value = Need(own, *node, "model", "model: 'llama3.1:8b'")) ReadName(*value, own.What("model"), &model.model);
    if (const SourceNode* value = Need(own, *node, "api", "api: openai_compatible"))
      model.api = reader_.Word(*value, own.What("api"), {"openai_compatible", "anthropic_messages"}).value_or("");
    if (const SourceNode* value = own.Get("url")) ReadLine(*value, own.What("url"), &model.url);
    if (const SourceNode* value = own.Get("key")) ReadKeyName(*value, own.What("key"), &model.key);
    if (const SourceNode* value = Need(own, *node, "max_tokens", "max_tokens: 1024"))
      model.max_tokens = reader_.Integer(*value, own.What("max_tokens"), 1, kMostTokens).value_or(1);
    if (const SourceNode* value = own.Get("temperature"))
      model.temperature = reader_.Number(*value, own.What("temperature"), 0, 2).value_or(0);
    if (const SourceNode* value = own.Get("seed")) model.seed = reader_.Integer(*value, own.What("seed"), 0, std::int64_t(1) << 53);
  }

  void ReadKeyName(const SourceNode& node, const std::string& what, std::string* out) {
    auto text = reader_.String(node, what);
    if (!text) return;
    constexpr std::string_view kScheme = "secret:";
    if (!text->starts_with(kScheme)) {  // whatever it is, it is not quoted: it may be the key itself
      reader_.Error(node.mark, "key-not-a-reference",
                    what + " must name a secret, as in 'secret:ollama-key'; a key itself never stands in a kernel file");
      return;
    }
    ReadName(node, what, out);
  }

  Reader reader_;
};

const ToolRule* FindTool(const std::vector<ToolRule>& tools, std::string_view name) {
  const auto found = std::find_if(tools.begin(), tools.end(), [&](const ToolRule& tool) { return tool.name == name; });
  return found == tools.end() ? nullptr : &*found;
}

LoadedKernel ReadKernel(const std::string& text) {
  LoadOptions options;
  options.strict = true;  // a key that nobody reads is a rule that nobody holds
  LoadedKernel out;
  Kernel kernel;
  if (auto root = ReadSource(text, options, &out.findings)) {
    KernelReader(options, &out.findings).Read(*root, &kernel);
    kernel.value = ToJson(*root);
  }
  for (acl::Finding& finding : out.findings) {  // the reader below speaks of workflows
    if (finding.code == "empty-file") finding.message = "the file says nothing; begin with 'kernel: aegis/1' or copy one of examples/aegis";
    if (finding.code == "multiple-documents") finding.message = "the file holds more than one YAML document; one kernel a file";
  }
  std::stable_sort(out.findings.begin(), out.findings.end(), [](const acl::Finding& a, const acl::Finding& b) {
    return std::tuple(a.mark.line, a.mark.column) < std::tuple(b.mark.line, b.mark.column);
  });
  const bool failed = std::any_of(out.findings.begin(), out.findings.end(),
                                  [](const acl::Finding& finding) { return finding.severity == acl::Finding::Severity::kError; });
  if (failed) return out;
  kernel.hash = "sha256:" + ToHex(CanonicalHash(kernel.value));
  out.kernel = std::move(kernel);
  return out;
}

}  // namespace

const ToolRule* Kernel::Observational(std::string_view name) const { return FindTool(observational, name); }
const ToolRule* Kernel::Actuation(std::string_view name) const { return FindTool(actuation, name); }

const DriftRule& Kernel::Drift(std::string_view drift_class) const {
  const auto found = drift.find(drift_class);
  ACL_CHECK(found != drift.end(), "a drift class that no kernel has");
  return found->second[std::size_t(tier) - 1];
}

LoadedKernel LoadKernel(const std::string& text) {
  LoadedKernel out;
  if (!WithinMemory([&] { out = ReadKernel(text); }))
    AddError(&out.findings, {1, 1}, "out-of-memory", "there is not enough memory to read this file now; try again");
  return out;
}

Result<Kernel> KernelFromValue(const Json& value) {
  LoadedKernel loaded = LoadKernel(DumpJson(value));
  if (loaded.kernel) return std::move(*loaded.kernel);
  std::string all;
  for (const acl::Finding& finding : loaded.findings) all += (all.empty() ? "" : "\n") + FormatFinding("kernel", finding);
  return Error{Code::kInvalid, all};
}

}  // namespace acl::aegis
