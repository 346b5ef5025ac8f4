// Steps that hold others: PARALLEL, SEQUENCE, CONDITION, FOREACH. What they say of themselves, and what the graph may not do across them.
#include <unordered_map>

#include "shared/base/utf8.h"
#include "shared/definition/draft.h"
#include "shared/definition/expression.h"
#include "shared/definition/template.h"

namespace acl {

namespace {

constexpr int kDeepest = 8;                    // scopes in scopes
constexpr std::size_t kLongestInForeach = 60;  // bytes of the names that make the id of an item's step, one behind the other
constexpr std::string_view kCaseForms = "must be a list of maps, each with 'if' and 'then'";

const SourceNode* NodeAt(const SourceNode& map, std::string_view key) {
  const SourceEntry* entry = map.is_map() ? map.Find(key) : nullptr;
  return entry ? &entry->value : nullptr;
}

// `if`, or as document 002 might have called it.
const SourceNode* IfOf(const SourceNode& map) {
  const SourceNode* node = NodeAt(map, "if");
  return node ? node : NodeAt(map, "condition");
}

void ReadCases(Reader* reader, const Fields& fields, const std::string& owner, StepDefinition* step) {
  const auto add = [&](const SourceNode* test, const std::string& what, SourceMark mark) {
    std::string text;
    if (!test)
      reader->Error(mark, "missing-if", what + " has no 'if'; add the expression that decides");
    else if (auto read = ReadExpression(reader, *test, "'if' of " + what))
      text = std::move(*read);
    step->cases.push_back(text.empty() ? "false" : std::move(text));
  };
  if (fields.Get("if") && fields.Get("condition"))
    reader->Error(fields.Get("condition")->mark, "misplaced-if", owner + " has 'if' and 'condition', which mean the same; keep 'if'");
  add(IfOf(fields.map()), owner, fields.map().mark);
  if (!fields.Get("then")) reader->Error(fields.map().mark, "no-steps", owner + " has no 'then'; add the list of steps of that case");
  if (const SourceNode* more = fields.Get("else_if")) {
    if (!more->is_list()) return reader->Error(more->mark, "bad-else-if", fields.What("else_if") + " " + std::string(kCaseForms));
    for (const SourceNode& one : more->items) {
      const std::string what = fields.What("else_if");
      if (!one.is_map() || !NodeAt(one, "then")) {
        reader->Error(one.mark, "bad-else-if", what + " " + std::string(kCaseForms));
        continue;
      }
      Fields(reader, one, what, {"if", "condition", "then"});
      add(IfOf(one), what, one.mark);
    }
  }
  if (fields.Get("else")) step->cases.emplace_back();
}

void ReadMaxFailures(Reader* reader, const SourceNode& node, const std::string& what, ForeachDefinition* each) {
  if (node.is_string()) {
    std::string text = node.scalar.get<std::string>();
    if (!text.empty() && text.back() == '%') {
      text.pop_back();
      const bool digits = !text.empty() && text.size() <= 3 && text.find_first_not_of("0123456789") == std::string::npos;
      if (digits && std::stoi(text) <= 100) {
        each->max_failures = std::stoi(text);
        each->in_percent = true;
        return;
      }
      return reader->Error(node.mark, "bad-number", what + " must be a number of items, or of hundredths like \"10%\"");
    }
  }
  if (auto number = reader->Integer(node, what, 0, kForeachItems)) each->max_failures = static_cast<int>(*number);
}

void ReadForeachList(Reader* reader, const SourceNode& node, const std::string& what, ForeachDefinition* each) {
  if (node.is_list()) {
    if (node.items.size() > kForeachItems)
      reader->Error(node.mark, "too-many-items",
                    what + " has " + std::to_string(node.items.size()) + " items; at most " + std::to_string(kForeachItems) +
                        " are taken: let several runs share them");
    each->list = ToJson(node);
  } else if (auto text = ReadExpression(reader, node, what)) {
    each->list = std::move(*text);
  }
}

void ReadForeach(Reader* reader, const Fields& fields, const std::string& owner, bool nested, StepDefinition* step) {
  ForeachDefinition& each = step->foreach.emplace();
  each.plain = !nested;
  const SourceNode* node = fields.Get("foreach");
  if (!node) return reader->Error(fields.map().mark, "missing-foreach", owner + " is FOREACH and has no 'foreach': add the list");
  const std::string what = fields.What("foreach");
  if (!node->is_map()) return ReadForeachList(reader, *node, what, &each);
  Fields own(reader, *node, what, {"in", "as", "max_failures"});
  if (const SourceNode* list = own.Get("in"))
    ReadForeachList(reader, *list, own.What("in"), &each);
  else
    reader->Error(node->mark, "missing-foreach", what + " has no 'in': add the list");
  own.String("as", &each.as);
  const SourceNode* as = own.Get("as");
  if (as && as->is_string()) {
    if (auto wrong = BadName(each.as, 100)) reader->Error(as->mark, "bad-name", own.What("as") + " " + *wrong);
    if (each.as.find_first_of(" .|{}[]'\"") != std::string::npos)
      reader->Error(as->mark, "bad-name", own.What("as") + " must be one word: templates say it");
  }
  if (const SourceNode* failures = own.Get("max_failures")) ReadMaxFailures(reader, *failures, own.What("max_failures"), &each);
}

bool IsWithin(const WorkflowDefinition& definition, int step, int scope) {
  for (int at = definition.steps[static_cast<std::size_t>(step)].parent; at >= 0;
       at = definition.steps[static_cast<std::size_t>(at)].parent)
    if (at == scope) return true;
  return false;
}

int ForeachOf(const WorkflowDefinition& definition, int step) {
  for (int at = definition.steps[static_cast<std::size_t>(step)].parent; at >= 0;
       at = definition.steps[static_cast<std::size_t>(at)].parent)
    if (definition.steps[static_cast<std::size_t>(at)].foreach) return at;
  return -1;
}

std::string NameOf(const WorkflowDefinition& definition, int step) {
  return "'" + definition.steps[static_cast<std::size_t>(step)].name.substr(0, 80) + "'";
}

// What the dependency does that it may not, or nothing.
std::string CrossesScopes(const WorkflowDefinition& definition, int from, int on) {
  if (IsWithin(definition, from, on))
    return NameOf(definition, from) + " stands in " + NameOf(definition, on) + ", which ends after it: remove the dependency";
  if (IsWithin(definition, on, from))
    return NameOf(definition, on) + " stands in " + NameOf(definition, from) + " and begins after it: remove the dependency";
  const int outer = ForeachOf(definition, on), inner = ForeachOf(definition, from);
  if (outer == inner) return "";
  if (outer >= 0 && !IsWithin(definition, from, outer))
    return NameOf(definition, on) + " runs once for each item of " + NameOf(definition, outer) + ": let " + NameOf(definition, from) +
           " depend on " + NameOf(definition, outer);
  return NameOf(definition, from) + " runs once for each item of " + NameOf(definition, inner) + ": let " + NameOf(definition, inner) +
         " depend on " + NameOf(definition, on);
}

// Bytes of a name in the id of a step: these characters are written %XX there (shared/workflow/step_id.h).
std::size_t BytesInId(std::string_view name) {
  return name.size() +
         2 * static_cast<std::size_t>(std::count_if(name.begin(), name.end(), [](char c) { return c == '%' || c == ':' || c == '*'; }));
}

void CheckDepth(Reader* reader, const WorkflowDefinition& definition) {
  for (const StepDefinition& step : definition.steps) {
    int depth = 0;
    std::size_t bytes = BytesInId(step.name);
    bool each = step.foreach.has_value();
    for (int at = step.parent; at >= 0; at = definition.steps[static_cast<std::size_t>(at)].parent) {
      ++depth;
      const StepDefinition& scope = definition.steps[static_cast<std::size_t>(at)];
      if (scope.foreach && !scope.foreach->plain) bytes += BytesInId(scope.name) + 7;
      each |= scope.foreach.has_value();
    }
    if (depth > kDeepest)
      return reader->Error(step.mark, "too-deep",
                           "step '" + step.name.substr(0, 80) + "' stands in " + std::to_string(depth) + " others; at most " +
                               std::to_string(kDeepest) + " are taken: make a child workflow of some");
    if (each && bytes > kLongestInForeach)
      return reader->Error(step.mark, "bad-name",
                           "the names of step '" + step.name.substr(0, 80) + "' and the FOREACH around it are too long together (" +
                               std::to_string(bytes) + " bytes, at most " + std::to_string(kLongestInForeach) +
                               "): they make the ids of its steps; shorten one");
  }
}

}  // namespace

std::vector<ChildList> ChildListsOf(const SourceNode& step) {
  std::vector<ChildList> lists;
  if (const SourceNode* list = NodeAt(step, "steps")) lists.push_back({list, 0});
  int branch = 0;
  if (const SourceNode* list = NodeAt(step, "then")) lists.push_back({list, branch});
  const SourceNode* more = NodeAt(step, "else_if");
  if (more && more->is_list()) {
    for (const SourceNode& one : more->items)
      if (const SourceNode* list = NodeAt(one, "then")) lists.push_back({list, ++branch});
  }
  if (const SourceNode* list = NodeAt(step, "else")) lists.push_back({list, ++branch});
  return lists;
}

std::optional<std::string> ReadExpression(Reader* reader, const SourceNode& node, const std::string& what) {
  if (node.scalar.is_boolean()) return std::string(node.scalar.get<bool>() ? "true" : "false");
  auto text = reader->String(node, what);
  if (!text) return std::nullopt;
  ExpressionMistake mistake;
  if (ParseExpression(*text, &mistake)) return text;
  const std::size_t from = mistake.offset < 20 ? 0 : mistake.offset - 20;
  reader->Error(node.mark, "bad-expression",
                what + ", at character " + std::to_string(mistake.offset + 1) + ": " + mistake.what + " (near `" +
                    StorableText(std::string_view(*text).substr(from, 40)) + "`)");
  return std::nullopt;
}

void ReadScope(Reader* reader, const Fields& fields, const std::string& owner, bool nested, StepDefinition* step) {
  if (step->type == StepType::kCondition) {
    const bool cases = fields.Get("then") || fields.Get("else_if") || fields.Get("else");
    if (!cases && !step->capability.empty()) {  // a call with a condition is a step with `when` (docs/reference/other-runtimes.md#k30)
      step->type = StepType::kAction;
      const SourceNode* test = IfOf(fields.map());
      if (test && !step->when.empty())
        reader->Error(test->mark, "misplaced-if", owner + " has 'when' and a condition, which mean the same here; keep 'when'");
      else if (test)
        if (auto text = ReadExpression(reader, *test, "'condition' of " + owner)) step->when = std::move(*text);
      return;
    }
    ReadCases(reader, fields, owner, step);
  } else if (step->type == StepType::kForeach) {
    ReadForeach(reader, fields, owner, nested, step);
  } else if (step->type == StepType::kSequence && !nested) {
    reader->Error(fields.map().mark, "no-steps", owner + " is SEQUENCE and has no 'steps'; add the list");
  }
  if (const SourceNode* node = fields.Get("max_concurrent"))
    if (auto most = reader->Integer(*node, fields.What("max_concurrent"), 1, kMostAtOnce)) step->max_concurrent = static_cast<int>(*most);
  if (const SourceNode* node = fields.Get("fail"))
    if (auto word = reader->Word(*node, fields.What("fail"), {"fast", "wait"})) step->fail_wait = *word == "wait";
  if (step->type == StepType::kParallel && !nested) return;  // a call that goes beside others
  if (step->type == StepType::kForeach && step->foreach->plain) return;
  if (!IsScope(*step) && !(step->type == StepType::kParallel && nested)) return;
  DropCallKeys(reader, fields, "a step that only holds others: say it of those", step);
}

void CheckScopes(Reader* reader, Draft* draft) {
  const WorkflowDefinition& definition = draft->definition;
  CheckDepth(reader, definition);
  if (!draft->graph_ok) return;
  std::unordered_map<std::string_view, int> names;
  for (const DraftName& one : draft->names) names.emplace(one.name, one.step);
  for (const DraftDependency& one : draft->dependencies) {
    const auto on = names.find(one.on);
    if (on == names.end()) continue;
    const std::string wrong = CrossesScopes(definition, draft->names[static_cast<std::size_t>(one.from)].step, on->second);
    if (wrong.empty()) continue;
    draft->graph_ok = false;
    reader->Error(one.mark, "dependency-across", wrong);
  }
  if (!draft->graph_ok) return;
  const std::vector<int> order = PlanOrder(definition);
  if (order.size() == definition.steps.size()) return;
  draft->graph_ok = false;
  const std::set<int> runs(order.begin(), order.end());
  for (int index = 0; index < static_cast<int>(definition.steps.size()); ++index) {
    if (runs.contains(index)) continue;
    return reader->Error(definition.steps[static_cast<std::size_t>(index)].mark, "dependency-cycle",
                         "step " + NameOf(definition, index) +
                             " can never begin: it waits for a step that waits for it, by the lists they stand in (a step without "
                             "'depends_on' waits for the one before it); say 'depends_on' of one of them");
  }
}

}  // namespace acl
