// What templates name. Steps overlap as soon as their dependencies are done, so a reference is sound only if the step waits for what it
// names: through its dependencies and theirs, whatever the plan order says.
#include "shared/definition/draft.h"
#include "shared/definition/expression.h"
#include "shared/definition/suggest.h"
#include "shared/definition/template.h"
#include "shared/definition/template_scan.h"

namespace acl {

namespace {

// Known without a declaration (docs/reference/other-runtimes.md#state-and-templates; `inputs` is our addition). call.cc answers them.
constexpr std::string_view kInputs = "inputs";
constexpr std::string_view kBuiltIns[] = {"workflow_id", "run_id", "session_id", kInputs};

bool RunsCapability(const StepDefinition& step) {
  return step.type == StepType::kAction || step.type == StepType::kCompensation ||
         (step.type == StepType::kParallel && !step.capability.empty());
}

// What a step gives out that calls nothing; nothing if it is not known.
std::vector<std::string_view> OwnOutputs(const StepDefinition& step) {
  if (step.wait) return {kWaitOutput};
  if (step.signal) return {"received", "payload"};
  if (step.publish) return {kPublishOutput};
  if (step.child) return {};
  if (step.approval) return {"decision", "approver", "approver_email", "decided_at", "comment"};
  if (step.foreach) return {"results", "count", "failed"};
  if (!step.cases.empty()) return {"branch"};
  if (IsScope(step)) return {"order"};
  return {};
}

// The FOREACH in whose body the step stands; -1: none.
int BodyOf(const WorkflowDefinition& definition, int step) {
  for (int at = definition.steps[static_cast<std::size_t>(step)].parent; at >= 0;
       at = definition.steps[static_cast<std::size_t>(at)].parent)
    if (definition.steps[static_cast<std::size_t>(at)].foreach) return at;
  return -1;
}

// For each step the steps that are done whenever it starts, as bits: a row for each step while they are few enough, else one for the step
// that is asked for.
class Closure {
 public:
  explicit Closure(const WorkflowDefinition& definition) : waits_(WithScopes(definition)), words_((waits_.size() + 63) / 64) {
    if (waits_.size() * words_ > kMostWords) return;
    bits_.resize(waits_.size() * words_);
    for (int index : PlanOrder(definition)) {
      std::uint64_t* own = Row(index);
      for (int on : waits_[static_cast<std::size_t>(index)]) {
        const std::uint64_t* others = Row(on);
        for (std::size_t w = 0; w < words_; ++w) own[w] |= others[w];
        own[static_cast<std::size_t>(on) / 64] |= std::uint64_t{1} << (on % 64);
      }
    }
  }

  bool Before(int step, int later) const {
    if (!bits_.empty()) return bits_[static_cast<std::size_t>(later) * words_ + static_cast<std::size_t>(step) / 64] >> (step % 64) & 1;
    if (asked_ != later) Ask(later);
    return done_[static_cast<std::size_t>(step)];
  }

 private:
  // What ends with a scope has ended when it has; what a scope waited for, those it holds have waited for too.
  static std::vector<std::vector<int>> WithScopes(const WorkflowDefinition& definition) {
    std::vector<std::vector<int>> waits = EffectiveDependencies(definition), held(waits.size());
    bool scopes = false;
    for (int i = 0; i < static_cast<int>(definition.steps.size()); ++i) {
      for (int at = definition.steps[static_cast<std::size_t>(i)].parent; at >= 0;
           at = definition.steps[static_cast<std::size_t>(at)].parent) {
        held[static_cast<std::size_t>(at)].push_back(i);
        scopes = true;
      }
    }
    if (!scopes) return waits;
    for (std::size_t i = 0; i < waits.size(); ++i) {
      const std::vector<int> own = waits[i];
      for (int on : own)
        waits[i].insert(waits[i].end(), held[static_cast<std::size_t>(on)].begin(), held[static_cast<std::size_t>(on)].end());
    }
    for (std::size_t i = 0; i < waits.size(); ++i) {  // a scope stands before what it holds
      const int parent = definition.steps[i].parent;
      if (parent < 0) continue;
      const auto& outer = waits[static_cast<std::size_t>(parent)];
      waits[i].insert(waits[i].end(), outer.begin(), outer.end());
    }
    return waits;
  }

  static constexpr std::size_t kMostWords = 2 * limits::kMiB;  // 16 MiB: 11 000 steps

  std::uint64_t* Row(int step) { return bits_.data() + static_cast<std::size_t>(step) * words_; }

  void Ask(int later) const {
    asked_ = later;
    done_.assign(waits_.size(), false);
    std::vector<int> left = waits_[static_cast<std::size_t>(later)];
    while (!left.empty()) {
      const auto step = static_cast<std::size_t>(left.back());
      left.pop_back();
      if (done_[step]) continue;
      done_[step] = true;
      left.insert(left.end(), waits_[step].begin(), waits_[step].end());
    }
  }

  const std::vector<std::vector<int>> waits_;
  const std::size_t words_;
  std::vector<std::uint64_t> bits_;  // empty: too many
  mutable int asked_ = -1;
  mutable std::vector<bool> done_;  // of the step that was asked for
};

// Whose inputs are looked at, and so what is done by then.
struct Place {
  static constexpr int kAll = -1;  // a global compensation: whatever completed
  int step = kAll;
  bool own = false;  // the compensation of the step: its own outputs are there too
  std::string owner;
  SourceMark mark;
  bool fails = false;       // a reference that nothing answers fails the call: it has an effect
  bool expression = false;  // or the step: it stands in an expression
};

class ReferenceCheck {
 public:
  ReferenceCheck(Reader* reader, const CapabilityRegistry& capabilities, const Draft& draft)
      : reader_(reader), registry_(capabilities), definition_(draft.definition), before_(draft.definition) {
    for (std::string_view name : kBuiltIns) known_.emplace(name);
    for (const auto& [key, value] : definition_.initial_state.items()) {
      known_.insert(key);
      initial_.insert(key);
    }
    for (const InputDefinition& input : definition_.inputs) {
      known_.insert(input.name);
      inputs_.insert(input.name);
    }
    for (const DraftName& one : draft.names) steps_.emplace(one.name, one.step);
    for (const StepDefinition& step : definition_.steps) {
      capabilities_.push_back(RunsCapability(step) ? capabilities.Find(step.capability) : nullptr);
      if (step.foreach) items_.insert({step.foreach->as, step.foreach->as + "_index"});
    }
    for (int index : PlanOrder(definition_)) {
      const StepDefinition& step = definition_.steps[static_cast<std::size_t>(index)];
      if (BodyOf(definition_, index) >= 0) continue;  // what an item gives out stands below the step's name only
      if (const auto own = OwnOutputs(step); !own.empty()) {
        for (std::string_view name : own) outputs_[std::string(name)].push_back(index);
        continue;
      }
      const CapabilityDefinition* capability = capabilities_[static_cast<std::size_t>(index)];
      if (!capability || capability->open_results) {
        open_.push_back(index);  // its outputs are not known, so any bare name may be one of them
        continue;
      }
      for (const FieldDefinition& field : capability->results) outputs_[field.name].push_back(index);
    }
  }

  void Run() {
    ReportCollisions();
    for (int index : PlanOrder(definition_)) {
      const StepDefinition& step = definition_.steps[static_cast<std::size_t>(index)];
      if (step.wait) Check(step.wait->time, {index, false, "'wait' of step '" + step.name + "'", step.mark});
      if (step.signal) CheckSignal(step, index);
      if (step.publish) CheckPublish(step, index);
      if (step.next_inputs)
        Check(*step.next_inputs,
              {index, false, "'continue_as_new' of step '" + step.name + "'", step.mark, !definition_.lenient_templates});
      if (step.child)
        Check(step.child->inputs, {index, false, "'child' of step '" + step.name + "'", step.mark, !definition_.lenient_templates});
      CheckExpressions(step, index);
      const std::string& named = IsPlainBody(step) ? definition_.steps[static_cast<std::size_t>(step.parent)].name : step.name;
      Check(step.inputs, {index, false, "step '" + named + "'", step.mark, Fails(step.capability)});
      if (step.compensation)
        Check(step.compensation->inputs,
              {index, true, "the compensation of step '" + step.name + "'", step.compensation->mark, Fails(step.compensation->capability)});
    }
    for (std::size_t i = 0; i < definition_.global_compensation_steps.size(); ++i) {
      const CompensationDefinition& global = definition_.global_compensation_steps[i];
      Check(global.inputs, {Place::kAll, false, "global compensation '" + definition_.global_compensation_names[i] + "'", global.mark,
                            Fails(global.capability)});
    }
  }

 private:
  void CheckExpressions(const StepDefinition& step, int index) {
    const auto check = [&](const std::string& text, const char* key) {
      const Place place{index, false, std::string("'") + key + "' of step '" + step.name + "'", step.mark, false, true};
      const auto expression = ParseExpression(text);
      if (!expression) return;  // reported
      for (const ExpressionReference& one : expression->References())
        if (!one.may_miss) CheckReference({one.path, false}, place);
    };
    if (!step.when.empty()) check(step.when, "when");
    for (const std::string& test : step.cases)
      if (!test.empty()) check(test, "if");
    if (!step.foreach) return;
    if (step.foreach->list.is_string())
      check(step.foreach->list.get<std::string>(), "foreach");
    else
      Check(step.foreach->list, {index, false, "'foreach' of step '" + step.name + "'", step.mark});
  }

  void CheckSignal(const StepDefinition& step, int index) {
    const Place place{index, false, "'wait_for_signal' of step '" + step.name + "'", step.mark};
    Check(step.signal->name, place);
    if (step.signal->timeout) Check(*step.signal->timeout, place);
    if (step.signal->default_payload) Check(*step.signal->default_payload, place);
  }

  void CheckPublish(const StepDefinition& step, int index) {
    const Place place{index, false, "'publish' of step '" + step.name + "'", step.mark, !definition_.lenient_templates};
    const PublishDefinition& said = *step.publish;
    Check(Json::array({said.event, said.endpoint, said.topic, said.subject, said.data}), place);
  }

  bool Fails(const std::string& capability) const {
    const CapabilityDefinition* known = registry_.Find(capability);
    return !definition_.lenient_templates && known && NeedsRowFirst(known->effect);
  }

  // The outputs of a step stand under its name, so no variable and no output of that name stands there.
  void ReportCollisions() {
    for (std::size_t i = 0; i < definition_.steps.size(); ++i) {
      const std::string& name = definition_.steps[i].name;
      const std::string shown = name.substr(0, 80);
      if (name.empty()) continue;
      const bool input = inputs_.contains(name);
      if (input || initial_.contains(name)) {
        reader_->Warning(definition_.steps[i].mark, "name-collision",
                         "step '" + shown + "' has the name of " + (input ? "an input" : "a key of 'initial_state'") +
                             ": from when it completes {{" + shown + "}} is its outputs; rename one of the two");
      }
      auto by = outputs_.find(name);
      if (by == outputs_.end()) continue;
      const StepDefinition& other = definition_.steps[static_cast<std::size_t>(by->second.front())];
      reader_->Warning(definition_.steps[i].mark, "name-collision",
                       "step '" + shown + "' has the name of an output of step '" + other.name.substr(0, 80) + "' (" +
                           (other.capability.empty() ? std::string(StepTypeName(other.type)) : other.capability) + "): {{" + shown +
                           "}} is all outputs of step '" + shown + "'; the one output is {{" + other.name.substr(0, 80) + "." + shown +
                           "}}");
      outputs_.erase(by);
    }
  }

  bool Done(int step, const Place& place) const {
    if (place.step == Place::kAll || before_.Before(step, place.step)) return true;
    if (!place.own) return false;
    const StepDefinition& own = definition_.steps[static_cast<std::size_t>(place.step)];
    return step == place.step || (IsPlainBody(own) && step == own.parent);  // an item's outputs stand under its FOREACH's name there
  }
  bool AnyDone(const std::vector<int>& steps, const Place& place) const {
    return std::any_of(steps.begin(), steps.end(), [&](int step) { return Done(step, place); });
  }

  void Check(const Json& inputs, const Place& place) {
    for (const TemplateReference& reference : References(inputs)) CheckReference(reference, place);
  }

  void CheckReference(const TemplateReference& reference, const Place& place) {
    const std::string token(FirstToken(reference.path));
    if (auto step = steps_.find(token); step != steps_.end()) {
      if (Done(step->second, place) && !IsFarBody(step->second, place))
        CheckOutput(reference, token, step->second, place);
      else if (!Answered(token, place))
        ReportOrder(reference, token, step->second, place);
    } else if (token == kInputs) {
      CheckInput(reference, place);
    } else if (!Answered(token, place)) {
      ReportUnknown(reference, token, place);
    }
  }

  // A step that runs once an item, asked for from outside of the items.
  bool IsFarBody(int step, const Place& place) const {
    const int body = BodyOf(definition_, step);
    if (body < 0) return false;
    for (int at = place.step; at >= 0; at = BodyOf(definition_, at))
      if (BodyOf(definition_, at) == body) return false;
    return true;
  }

  // By a variable, or an output that stands at the top level.
  bool Answered(const std::string& token, const Place& place) const {
    if (known_.contains(token)) return true;
    if (place.step >= 0 && items_.contains(token) && IsItem(token, place.step)) return true;
    auto by = outputs_.find(token);
    return by != outputs_.end() && AnyDone(by->second, place);
  }

  // Whether the token is what a FOREACH around the step calls its item, or the item's number.
  bool IsItem(std::string_view token, int step) const {
    for (int at = BodyOf(definition_, step); at >= 0; at = BodyOf(definition_, at)) {
      const std::string& as = definition_.steps[static_cast<std::size_t>(at)].foreach->as;
      if (token == as || token == as + "_index") return true;
    }
    return false;
  }

  void Report(const TemplateReference& reference, const Place& place, const char* code, const std::string& what) {
    // A reference with a default is never left as text.
    const bool strict = reader_->options().strict_templates && !reference.has_default;
    const std::string shown = place.expression ? "'" + reference.path.substr(0, 80) + "'" : "{{" + reference.path.substr(0, 80) + "}}";
    reader_->Strictly(strict, place.mark, code, shown + " in " + place.owner + " " + what);
  }

  static std::string Would(const Place& place) {
    return place.expression ? "the step would fail" : place.fails ? "the call would fail" : "it would stay as literal text";
  }
  static std::string May(const Place& place) {
    return place.expression ? "the step may fail" : place.fails ? "the call may fail" : "it may stay as literal text";
  }

  void ReportOrder(const TemplateReference& reference, const std::string& token, int step, const Place& place) {
    if (step == place.step) return Report(reference, place, "template-order", "names the step itself, which has no outputs yet");
    if (const int body = BodyOf(definition_, step); IsFarBody(step, place)) {
      const std::string each = definition_.steps[static_cast<std::size_t>(body)].name.substr(0, 80);
      return Report(reference, place, "template-order",
                    "names a step that runs once for each item of '" + each + "'; " + Would(place) + ": what they gave stands in {{" +
                        each + ".results}}");
    }
    if (place.step >= 0 && before_.Before(place.step, step))
      return Report(reference, place, "template-order",
                    "names a step that runs after it; " + Would(place) + ": move that step up, or add it to 'depends_on'");
    Report(reference, place, "template-order",
           "names a step that it does not wait for; " + May(place) + ": add '" + token.substr(0, 80) + "' to 'depends_on'");
  }

  // The part after the step's name, where the capability says what it answers.
  void CheckOutput(const TemplateReference& reference, const std::string& token, int step, const Place& place) {
    const CapabilityDefinition* capability = capabilities_[static_cast<std::size_t>(step)];
    if (!capability || capability->open_results || capability->results.empty()) return;
    if (definition_.steps[static_cast<std::size_t>(step)].name != token) return;  // a child of a nested step
    if (reference.path.size() <= token.size() + 1) return;
    const std::string part(FirstToken(std::string_view(reference.path).substr(token.size() + 1)));
    std::vector<std::string_view> names;
    for (const FieldDefinition& field : capability->results) names.push_back(field.name);
    if (std::find(names.begin(), names.end(), part) != names.end()) return;
    std::string all;
    for (std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
    Report(reference, place, "unknown-output",
           "names no output of " + capability->id + " (" + all + "); " + Would(place) + reader_->DidYouMean(part, names));
  }

  // {{inputs.x}}: of a file that declares its inputs.
  void CheckInput(const TemplateReference& reference, const Place& place) {
    if (definition_.inputs.empty() || initial_.contains(kInputs) || reference.path.size() <= kInputs.size() + 1) return;
    const std::string part(FirstToken(std::string_view(reference.path).substr(kInputs.size() + 1)));
    if (inputs_.contains(part) || inputs_.contains(kInputs)) return;
    std::vector<std::string_view> names;
    if (reader_->MaySuggest()) names.assign(inputs_.begin(), inputs_.end());
    Report(reference, place, "unknown-reference", "names no input of the workflow; " + Would(place) + reader_->DidYouMean(part, names));
  }

  void ReportUnknown(const TemplateReference& reference, const std::string& token, const Place& place) {
    if (auto by = outputs_.find(token); by != outputs_.end()) {
      const StepDefinition& step = definition_.steps[static_cast<std::size_t>(by->second.front())];
      if (AnyDone(open_, place)) return;
      return Report(reference, place, "template-order",
                    "is an output of step '" + step.name.substr(0, 80) + "', which it does not wait for; " + May(place) + ": add '" +
                        step.name.substr(0, 80) + "' to 'depends_on'");
    }
    if (AnyDone(open_, place)) return;
    std::vector<std::string_view> names;
    if (reader_->MaySuggest()) {
      names.assign(known_.begin(), known_.end());
      for (const auto& [name, step] : steps_)
        if (Done(step, place)) names.push_back(name);
      for (const auto& [name, by] : outputs_)
        if (AnyDone(by, place)) names.push_back(name);
    }
    Report(reference, place, "unknown-reference",
           "names nothing known by then (no step, input, key of initial_state or output); " + Would(place) +
               reader_->DidYouMean(token, names));
  }

  Reader* reader_;
  const CapabilityRegistry& registry_;
  const WorkflowDefinition& definition_;
  const Closure before_;
  std::set<std::string, std::less<>> known_;               // variables from the start
  std::set<std::string, std::less<>> inputs_;              // those of them that are inputs
  std::set<std::string, std::less<>> initial_;             // and keys of initial_state
  std::set<std::string, std::less<>> items_;               // what bodies of FOREACH steps call their items
  std::map<std::string, int, std::less<>> steps_;          // by name
  std::vector<const CapabilityDefinition*> capabilities_;  // of each step; nullptr: its outputs are not known
  std::map<std::string, std::vector<int>> outputs_;        // name -> the steps that answer it
  std::vector<int> open_;                                  // steps whose outputs are not known
};

}  // namespace

void CheckReferences(Reader* reader, const CapabilityRegistry& capabilities, const Draft& draft) {
  if (draft.graph_ok) ReferenceCheck(reader, capabilities, draft).Run();
}

}  // namespace acl
