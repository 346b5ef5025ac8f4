// A step or compensation that completed: its outputs, its files, how it would be undone.

#include "shared/base/canonical_json.h"
#include "shared/base/json_object.h"
#include "shared/capability/merge.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/events.h"

namespace acl::workflow {

namespace {

Json FilesJson(const std::vector<FileChange>& changes) {
  KeyedObject files(changes.size());
  for (const FileChange& change : changes) files.Put(change.path, IsDeletion(change) ? Json() : FileEntryToJson(EntryOf(change)));
  return std::move(files).Take();
}

void NameContents(const std::vector<FileChange>& changes, Decision& decision) {
  for (const FileChange& change : changes) {
    if (change.hash && !change.is_dir) decision.contents.push_back(*change.hash);
  }
}

}  // namespace

void Decider::Completed(const Instance& instance, const StepRecord& record, int attempt, StepResult result) {
  if (!result.files.empty()) result.files = RealChanges(State(), std::move(result.files));
  Json facts = StepFacts(instance, attempt);
  if (result.duration.count() > 0) AddMember(facts, "duration_ms", result.duration.count());
  std::vector<std::string> missing;
  Json undo = UndoRecord(instance, result.outputs, result.files, missing);
  AddMissing(facts, std::move(missing));
  if (const Json* capability = MemberOf(&undo, kCallCapability)) {
    facts["undo"] = *capability;
    const Json* inputs = MemberOf(&undo, kCallInputs);
    decision_.compensations.push_back(
        {instance.step_id, capability->get<std::string>(), inputs ? DumpJson(*inputs) : "{}", "pending", TextOf(&undo, kCallError), now_});
  } else if (!undo.empty()) {
    facts["undo"] = "files";
  }
  decision_.completions.push_back(
      {instance.step_id, attempt, now_, CanonicalHash(result.outputs), std::int64_t(decision_.events.size()) + 1});
  Json carried = ObjectFor(5);
  AddMember(carried, "attempts", record.attempts + 1);
  AddMember(carried, "started_at", MicrosOf(record.started_at.value_or(now_ - result.duration)));
  AddMember(carried, "outputs", std::move(result.outputs));
  if (!result.files.empty()) carried["files"] = FilesJson(result.files);
  NameContents(result.files, decision_);
  if (!undo.empty()) carried["undo"] = std::move(undo);
  Emit(event::kStepCompleted, std::move(facts), std::move(carried));
}

Json Decider::UndoRecord(const Instance& instance, const Json& outputs, const std::vector<FileChange>& files,
                         std::vector<std::string>& warnings) {
  const StepDefinition& step = definition_.step(instance.step);
  if (step.compensation) {
    // The state as it is right after this step completed: its outputs lie over everything but other steps.
    const Document& state = State();
    TemplateScope below = ScopeOf(state, definition_, instance);
    TemplateScope scope = [&](std::string_view name) -> const Json* {
      if (name == step.name || (IsPlainBody(step) && name == definition_.step(step.parent).name)) return &outputs;
      const Json* output = definition_.IsStep(name) ? nullptr : MemberOf(&outputs, name);
      return output ? output : below(name);
    };
    std::vector<std::string> missing;
    const CompensationDefinition& named = *step.compensation;
    const Unanswered unanswered = UnansweredIn(definition_.definition(), definitions_.capabilities().Find(named.capability));
    Json undo = CallToJson(ResolveCall(named.capability, named.inputs, scope, unanswered, &missing));
    for (const std::string& reference : missing) warnings.push_back("compensation: " + reference);
    return undo;
  }
  const CapabilityDefinition* capability = definition_.capability(instance.step);
  if (!capability || capability->undo != UndoKind::kFiles || files.empty()) return Json::object();
  KeyedObject before(files.size());
  for (const FileChange& change : files) {
    const Json* entry = Lookup(State(), FileKey(change.path));
    before.Put(change.path, entry ? *entry : Json());
  }
  return Json{{"files", std::move(before).Take()}};
}

void Decider::CompensationCompleted(const Instance& instance, int attempt, const Json& outputs, const std::vector<FileChange>& files) {
  CallTraits traits = TraitsOf(definitions_, definition_, instance, State());
  StepRecord record = Step(instance);
  Json facts = StepFacts(instance, attempt);
  facts["capability"] = traits.capability;
  facts["attempts"] = record.attempts + 1;
  if (instance.step >= 0) facts["undoes"] = NameOf(definition_.ForwardOf(instance));
  facts["outputs"] = outputs;
  AddMissing(facts);
  decision_.completions.push_back({instance.step_id, attempt, now_, CanonicalHash(outputs), std::int64_t(decision_.events.size()) + 1});
  LogCompensation(instance, traits.capability, "executed", "");
  Json carried = Json::object();
  if (!files.empty()) carried["files"] = FilesJson(files);
  NameContents(files, decision_);
  Emit(event::kCompensationCompleted, std::move(facts), std::move(carried));
}

}  // namespace acl::workflow
