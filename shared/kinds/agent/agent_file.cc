#include "shared/kinds/agent/agent_file.h"

#include <algorithm>
#include <cmath>

#include "shared/base/canonical_json.h"
#include "shared/base/memory.h"
#include "shared/definition/reader.h"
#include "shared/kinds/agent/extensions.h"

namespace acl::agent {

namespace {

constexpr std::size_t kMostRules = 100, kMostExtensions = 20, kMostText = 8'000, kMostName = 100;
constexpr std::int64_t kMostNumber = 1'000'000'000;
constexpr double kMostDollars = 1e9, kMicros = 1e6;

bool IsPlainName(std::string_view text) {
  return !text.empty() && text.size() <= kMostName && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.-").find(c) != std::string_view::npos;
  });
}

// One agent file as it is read.
class AgentReader {
 public:
  AgentReader(const LoadOptions& options, std::vector<Finding>* findings, const CapabilityRegistry* capabilities)
      : reader_(options, findings), capabilities_(capabilities) {}

  void Read(const SourceNode& root, AgentDefinition* definition) {
    if (!reader_.IsMap(root, "an agent file")) return;
    Fields fields(&reader_, root, "the agent",
                  {"agent", "version", "note", "intention", "owner", "queue", "planner", "capabilities", "pollers", "ask_before",
                   "approval", "every", "tasks", "on_unknown_outcome", "extensions", "limits"});
    if (const SourceNode* node = Need(fields, root, "agent", "agent: tidy-notes")) ReadName(*node, fields.What("agent"), &definition->name);
    for (const auto& [key, out] : {std::pair("version", &definition->version), std::pair("note", &definition->note),
                                   std::pair("intention", &definition->intention), std::pair("owner", &definition->owner)})
      ReadText(fields, key, out);
    if (const SourceNode* node = fields.Get("queue")) ReadName(*node, fields.What("queue"), &definition->queue);
    if (const SourceNode* node = Need(fields, root, "planner", "planner: {rules: [...]}, {command: plan.py} or {model: {}}"))
      ReadPlanner(*node, &definition->planner);
    definition->capabilities = ReadPatterns(fields, "capabilities", false);
    definition->pollers = ReadPatterns(fields, "pollers", false);
    definition->ask_before = ReadPatterns(fields, "ask_before", true);
    ReadApproval(fields.Get("approval"), definition);
    definition->every = ReadTime(fields, "every", std::chrono::seconds(1));
    if (const SourceNode* node = fields.Get("tasks"))
      definition->tasks = reader_.Word(*node, fields.What("tasks"), {"next", "none"}) == "next";
    if (const SourceNode* node = fields.Get("on_unknown_outcome"))
      definition->go_on_uncertain = reader_.Word(*node, fields.What("on_unknown_outcome"), {"ask", "go_on"}) == "go_on";
    ReadExtensions(fields, definition);
    ReadLimits(fields.Get("limits"), &definition->limits);
  }

 private:
  const SourceNode* Need(const Fields& fields, const SourceNode& owner, std::string_view key, std::string_view example) {
    const SourceNode* node = fields.Get(key);
    if (!node)
      reader_.Error(owner.mark, "missing-" + std::string(key), fields.What(key) + " is missing; add '" + std::string(example) + "'");
    return node;
  }

  void ReadName(const SourceNode& node, const std::string& what, std::string* out) {
    auto text = reader_.String(node, what);
    if (!text) return;
    if (!IsPlainName(*text)) return reader_.Error(node.mark, "bad-name", what + " must be 1 to 100 letters, digits, '_', '.' or '-'");
    *out = std::move(*text);
  }

  void ReadText(const Fields& fields, std::string_view key, std::string* out) {
    const SourceNode* node = fields.Get(key);
    auto text = node ? reader_.String(*node, fields.What(key)) : std::nullopt;
    if (!text) return;
    if (text->size() > kMostText) return reader_.Error(node->mark, "too-long", fields.What(key) + " is longer than 8000 bytes");
    *out = std::move(*text);
  }

  std::optional<std::chrono::milliseconds> ReadTime(const Fields& fields, std::string_view key, std::chrono::milliseconds least) {
    const SourceNode* node = fields.Get(key);
    auto time = node ? reader_.Duration(*node, fields.What(key)) : std::nullopt;
    if (time && *time < least) {
      reader_.Error(node->mark, "too-short", fields.What(key) + " must be at least " + std::to_string(least.count()) + " ms");
      return std::nullopt;
    }
    return time;
  }

  std::vector<std::string> ReadPatterns(const Fields& fields, std::string_view key, bool with_classes) {
    std::vector<std::string> patterns;
    const SourceNode* node = fields.Get(key);
    if (!node) return patterns;
    for (auto& [text, mark] : reader_.Strings(*node, fields.What(key))) {
      const auto star = text.find('*');
      if (text.empty() || text.size() > kMostName || (star != std::string::npos && star + 1 != text.size())) {
        reader_.Error(mark, "bad-pattern",
                      "'" + text.substr(0, kMostName) + "' is no capability and no pattern; write 'io.fs.read_file', 'io.fs.*' or '*'");
        continue;
      }
      if (with_classes && text.starts_with("risk:")) {
        if (!ParseRisk(std::string_view(text).substr(5)))
          reader_.Error(mark, "bad-pattern", "'" + text + "': a risk is LOW, MEDIUM, HIGH or CRITICAL");
      } else if (with_classes && text.starts_with("effect:")) {
        if (!ParseEffect(std::string_view(text).substr(7)))
          reader_.Error(mark, "bad-pattern", "'" + text + "': an effect is pure, read, idempotent or non_idempotent");
      } else {
        CheckMeansSome(text, mark);
      }
      patterns.push_back(std::move(text));
    }
    return patterns;
  }

  void CheckMeansSome(const std::string& pattern, SourceMark mark) {
    if (capabilities_ == nullptr) return;
    const auto all = capabilities_->All();
    if (std::any_of(all.begin(), all.end(), [&](const CapabilityDefinition* one) { return Matches(pattern, one->id); })) return;
    const std::string nearest = capabilities_->Nearest(pattern);
    reader_.Warning(mark, "unknown-capability",
                    "'" + pattern + "' means no capability" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }

  void ReadRule(const SourceNode& item, std::vector<Rule>* rules) {
    if (!reader_.IsMap(item, "a rule")) return;
    Fields fields(&reader_, item, "a rule", {"when", "intention", "expected", "say", "actions"});
    Rule& rule = rules->emplace_back();
    if (const SourceNode* node = fields.Get("when")) {
      if (auto text = reader_.String(*node, fields.What("when"))) {
        ExpressionMistake mistake;
        rule.when = ParseExpression(*text, &mistake);
        if (!rule.when)
          reader_.Error(node->mark, "bad-expression",
                        fields.What("when") + ", character " + std::to_string(mistake.offset + 1) + ": " + mistake.what);
        if (rule.when) CheckReferences(*rule.when, node->mark);
      }
    }
    ReadText(fields, "intention", &rule.intention);
    ReadText(fields, "expected", &rule.expected);
    ReadText(fields, "say", &rule.say);
    const SourceNode* actions = fields.Get("actions");
    if (!actions || !reader_.IsList(*actions, fields.What("actions"))) return;
    for (const SourceNode& action : actions->items) ReadAction(action, &rule.actions);
  }

  // A name that no context has would be a rule that never holds.
  void CheckReferences(const Expression& when, SourceMark mark) {
    static const std::vector<std::string_view> names = {"session", "at",         "intention", "stimuli", "stimulus",
                                                        "last",    "look_again", "past",      "files",   "project"};
    static const std::vector<std::string_view> of_stimulus = {"number", "mode", "kind", "at", "text", "payload", "by"};
    for (const ExpressionReference& reference : when.References()) {
      const auto dot = reference.path.find('.');
      const std::string head = reference.path.substr(0, dot);
      if (std::find(names.begin(), names.end(), head) == names.end()) {
        reader_.Error(mark, "unknown-reference",
                      "'when' speaks of '" + head.substr(0, kMostName) + "', which no context has" + reader_.DidYouMean(head, names));
      } else if (head == "stimulus" && dot != std::string::npos) {
        const std::string member = reference.path.substr(dot + 1, reference.path.find('.', dot + 1) - dot - 1);
        if (std::find(of_stimulus.begin(), of_stimulus.end(), member) == of_stimulus.end())
          reader_.Error(mark, "unknown-reference",
                        "a stimulus has no '" + member.substr(0, kMostName) + "'" + reader_.DidYouMean(member, of_stimulus));
      }
    }
  }

  void ReadAction(const SourceNode& item, Json* actions) {
    if (!reader_.IsMap(item, "an action")) return;
    Fields fields(&reader_, item, "an action", {"capability", "inputs"});
    const SourceNode* capability = Need(fields, item, "capability", "capability: io.fs.read_file");
    if (!capability) return;
    auto id = reader_.String(*capability, fields.What("capability"));
    if (!id) return;
    Json inputs = Json::object();
    if (const SourceNode* node = fields.Get("inputs"); node && reader_.IsMap(*node, fields.What("inputs"))) inputs = ToJson(*node);
    if (id->find("{{") == std::string::npos) CheckMeansSome(*id, capability->mark);
    actions->push_back({{"capability", *id}, {"inputs", std::move(inputs)}});
  }

  void ReadPlanner(const SourceNode& node, Planner* planner) {
    if (!reader_.IsMap(node, "'planner'")) return;
    Fields fields(&reader_, node, "'planner'", {"rules", "command", "args", "model", "timeout", "attempts"});
    const int kinds = int(fields.Get("rules") != nullptr) + int(fields.Get("command") != nullptr) + int(fields.Get("model") != nullptr);
    if (kinds != 1) reader_.Error(node.mark, "bad-planner", "'planner' has one of rules, command and model");
    if (const SourceNode* rules = fields.Get("rules"); rules && reader_.IsList(*rules, fields.What("rules"))) {
      if (rules->items.size() > kMostRules) reader_.Error(rules->mark, "too-many", fields.What("rules") + " has more than 100");
      for (const SourceNode& item : rules->items) ReadRule(item, &planner->rules);
    }
    if (fields.Get("command") != nullptr) {
      planner->kind = "command";
      ReadText(fields, "command", &planner->command);
    }
    ReadArguments(fields, &planner->args);
    if (const SourceNode* model = fields.Get("model")) {
      planner->kind = "model";
      if (!model->is_null() && reader_.IsMap(*model, fields.What("model"))) {
        Fields own(&reader_, *model, "'model'", {"instructions"});
        ReadText(own, "instructions", &planner->instructions);
      }
    }
    if (auto timeout = ReadTime(fields, "timeout", std::chrono::milliseconds(100))) planner->timeout = *timeout;
    if (const SourceNode* attempts = fields.Get("attempts"))
      planner->attempts = int(reader_.Integer(*attempts, fields.What("attempts"), 1, 20).value_or(3));
  }

  void ReadArguments(const Fields& fields, Json* out) {
    const SourceNode* args = fields.Get("args");
    if (!args) return;
    for (auto& [text, mark] : reader_.Strings(*args, fields.What("args"))) out->push_back(std::move(text));
  }

  void ReadApproval(const SourceNode* node, AgentDefinition* definition) {
    if (!node || !reader_.IsMap(*node, "'approval'")) return;
    Fields fields(&reader_, *node, "'approval'", {"role", "timeout", "allow_requester"});
    ReadText(fields, "role", &definition->approver_role);
    definition->approval_timeout = ReadTime(fields, "timeout", std::chrono::seconds(1));
    fields.Boolean("allow_requester", &definition->allow_requester);
  }

  void ReadExtensions(const Fields& fields, AgentDefinition* definition) {
    const SourceNode* list = fields.Get("extensions");
    if (!list || !reader_.IsList(*list, fields.What("extensions"))) return;
    if (list->items.size() > kMostExtensions) reader_.Error(list->mark, "too-many", fields.What("extensions") + " has more than 20");
    for (const SourceNode& item : list->items) ReadExtension(item, definition);
  }

  void ReadExtension(const SourceNode& item, AgentDefinition* definition) {
    if (!reader_.IsMap(item, "an extension")) return;
    Fields fields(&reader_, item, "an extension",
                  {"name", "phases", "command", "args", "url", "builtin", "config", "timeout", "on_failure"});
    Extension extension;
    if (const SourceNode* node = Need(fields, item, "name", "name: redact")) ReadName(*node, fields.What("name"), &extension.name);
    const SourceNode* phases = Need(fields, item, "phases", "phases: [before_action]");
    if (phases) {
      for (const auto& [text, mark] : reader_.Strings(*phases, fields.What("phases"))) {
        const auto phase = ParsePhase(text);
        if (!phase) {
          std::string names;
          for (const PhaseRule& rule : kPhaseRules) names.append(names.empty() ? "" : ", ").append(rule.name);
          reader_.Error(mark, "unknown-phase", "'" + text.substr(0, kMostName) + "' is no phase; there are " + names);
          continue;
        }
        extension.phases.push_back(*phase);
      }
    }
    ReadText(fields, "command", &extension.command);
    ReadText(fields, "url", &extension.url);
    ReadText(fields, "builtin", &extension.builtin);
    ReadArguments(fields, &extension.args);
    fields.Map("config", &extension.config);
    if (int(!extension.command.empty()) + int(!extension.url.empty()) + int(!extension.builtin.empty()) != 1)
      reader_.Error(item.mark, "bad-extension", "an extension has one of command, url and builtin");
    if (!extension.url.empty() && !extension.url.starts_with("http://") && !extension.url.starts_with("https://"))
      reader_.Error(fields.Get("url")->mark, "bad-url", fields.What("url") + " must begin with http:// or https://");
    if (std::string wrong = WrongConfig(extension.builtin, extension.config); !wrong.empty()) reader_.Error(item.mark, "bad-config", wrong);
    const auto known = StandardExtensions();
    if (!extension.builtin.empty() && !known.contains(extension.builtin))
      reader_.Warning(fields.Get("builtin")->mark, "unknown-builtin",
                      "'" + extension.builtin.substr(0, kMostName) +
                          "' is none of ask_first, budget, prune and redact: a worker that does not bring it stops there");
    if (auto timeout = ReadTime(fields, "timeout", std::chrono::milliseconds(10))) extension.timeout = *timeout;
    const bool looks_on =
        std::all_of(extension.phases.begin(), extension.phases.end(), [](Phase phase) { return RuleOf(phase).stop == "rest"; });
    if (const SourceNode* node = fields.Get("on_failure")) {
      extension.closed = reader_.Word(*node, fields.What("on_failure"), {"closed", "open"}) != "open";
      if (!extension.closed && !looks_on && extension.ListensTo(Phase::kBeforeAction))
        reader_.Warning(node->mark, "fails-open",
                        "the extension '" + extension.name + "' is passed over when it fails, and actions go on without it");
    } else {
      extension.closed = !looks_on;
    }
    const bool twice = std::any_of(definition->extensions.begin(), definition->extensions.end(),
                                   [&](const Extension& other) { return other.name == extension.name; });
    if (twice) reader_.Error(item.mark, "extension-twice", "the extension '" + extension.name + "' stands here twice");
    definition->extensions.push_back(std::move(extension));
  }

  void ReadLimits(const SourceNode* node, Limits* limits) {
    if (!node || !reader_.IsMap(*node, "'limits'")) return;
    Fields fields(
        &reader_, *node, "'limits'",
        {"turns_per_wake", "actions_per_turn", "moves_per_minute", "moves_without_change", "requests", "tokens", "dollars", "per"});
    for (const auto& [key, out, most] :
         {std::tuple("turns_per_wake", &limits->turns_per_wake, 100'000), std::tuple("actions_per_turn", &limits->actions_per_turn, 50),
          std::tuple("moves_per_minute", &limits->moves_per_minute, 100'000),
          std::tuple("moves_without_change", &limits->moves_without_change, 100'000)}) {
      if (const SourceNode* value = fields.Get(key)) *out = int(reader_.Integer(*value, fields.What(key), 1, most).value_or(*out));
    }
    if (const SourceNode* value = fields.Get("requests"))
      limits->requests = reader_.Integer(*value, fields.What("requests"), 0, kMostNumber).value_or(0);
    if (const SourceNode* value = fields.Get("tokens"))
      limits->tokens = reader_.Integer(*value, fields.What("tokens"), 0, kMostNumber).value_or(0);
    if (const SourceNode* value = fields.Get("dollars"))
      limits->micros = std::int64_t(std::llround(reader_.Number(*value, fields.What("dollars"), 0, kMostDollars).value_or(0) * kMicros));
    if (const SourceNode* value = fields.Get("per")) {
      limits->per_day = reader_.Word(*value, fields.What("per"), {"life", "day"}) == "day";
      if (fields.Get("tokens") == nullptr && fields.Get("dollars") == nullptr)
        reader_.Error(value->mark, "bad-limit", "'per' says of which time 'tokens' and 'dollars' are, and none of them is here");
    }
  }

  Reader reader_;
  const CapabilityRegistry* capabilities_;
};

LoadedAgent ReadAgent(const std::string& text, const CapabilityRegistry* capabilities) {
  LoadOptions options;
  options.strict = true;  // a key that nobody reads is a rule that nobody holds
  LoadedAgent out;
  AgentDefinition definition;
  if (auto root = ReadSource(text, options, &out.findings)) {
    AgentReader(options, &out.findings, capabilities).Read(*root, &definition);
    definition.value = ToJson(*root);
  }
  for (Finding& finding : out.findings) {  // the reader below speaks of workflows
    if (finding.code == "empty-file") finding.message = "the file says nothing; begin with 'agent: NAME' or copy one of examples/agent";
    if (finding.code == "multiple-documents") finding.message = "the file holds more than one YAML document; one agent a file";
  }
  std::stable_sort(out.findings.begin(), out.findings.end(), [](const Finding& a, const Finding& b) {
    return std::tuple(a.mark.line, a.mark.column) < std::tuple(b.mark.line, b.mark.column);
  });
  const bool failed = std::any_of(out.findings.begin(), out.findings.end(),
                                  [](const Finding& finding) { return finding.severity == Finding::Severity::kError; });
  if (failed) return out;
  definition.hash = ToHex(CanonicalHash(definition.value));
  out.definition = std::move(definition);
  return out;
}

}  // namespace

bool Extension::ListensTo(Phase phase) const { return std::find(phases.begin(), phases.end(), phase) != phases.end(); }

bool Matches(const std::string& pattern, std::string_view id) {
  if (pattern.ends_with('*')) return id.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
  return id == pattern;
}

bool MatchesAny(const std::vector<std::string>& patterns, std::string_view id) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) { return Matches(pattern, id); });
}

LoadedAgent LoadAgent(const std::string& text, const CapabilityRegistry* capabilities) {
  LoadedAgent out;
  if (!WithinMemory([&] { out = ReadAgent(text, capabilities); }))
    AddError(&out.findings, {1, 1}, "out-of-memory", "there is not enough memory to read this file now; try again");
  return out;
}

Result<AgentDefinition> AgentFromValue(const Json& value) {
  LoadedAgent loaded = LoadAgent(DumpJson(value), nullptr);
  if (loaded.definition) return std::move(*loaded.definition);
  std::string all;
  for (const Finding& finding : loaded.findings) all += (all.empty() ? "" : "\n") + FormatFinding("agent", finding);
  return Error{Code::kInvalid, all};
}

}  // namespace acl::agent
