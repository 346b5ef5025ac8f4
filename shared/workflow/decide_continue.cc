// CONTINUE_AS_NEW steps: when all else of the run has ended, another run of the same workflow goes on in its place, with inputs of its own
// and nothing of this one's journal. It is asked for in the commit that ends this run, so that there is always exactly one of them; files
// and signals that nobody took go with it, and whoever waits for the end of this run (a parent, a task of a project) waits for the last.

#include <fmt/format.h>

#include "shared/definition/loader.h"
#include "shared/kernel/create.h"
#include "shared/kernel/post.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/events.h"

namespace acl::workflow {

// What the next run is given stands in the outputs: they are what `continue_as_new` said, every template resolved.
void Decider::BeginContinue(const Instance& instance) {
  Json facts = StepFacts(instance, 1);
  for (const int other : definition_.continues()) {
    if (other != instance.step && Step(definition_.InstanceOf(other)).status == StepStatus::kCompleted)
      return FailedByItself(
          instance, std::move(facts),
          fmt::format("step '{}' continues this run as another already, and a run continues once", definition_.step(other).name));
  }
  Unanswered unanswered = UnansweredIn(definition_.definition(), nullptr);
  if (unanswered == Unanswered::kStays && definition_.definition().effects_need_values) unanswered = Unanswered::kFailsEffect;
  std::vector<std::string> missing;
  CapabilityCall resolved = ResolveCall("a workflow", *definition_.step(instance.step).next_inputs, ScopeOf(State(), definition_, instance),
                                        unanswered, &missing);
  if (!missing.empty()) facts["missing"] = missing;
  if (!resolved.error.empty()) return FailedByItself(instance, std::move(facts), resolved.error);
  auto inputs = CheckInputs(definition_.definition(), resolved.inputs);
  if (!inputs) return FailedByItself(instance, std::move(facts), "continue_as_new: " + inputs.message());
  if (OutgrowsRun(State(), *inputs))
    return FailedByItself(instance, std::move(facts), "continue_as_new: these inputs would make the run's state larger than one may be");
  CompletedByItself(instance, std::move(facts), {{"inputs", std::move(*inputs)}}, now_);
}

// The step that has continued it; nullptr: none.
const Json* Decider::NextInputs() {
  for (const int index : definition_.continues()) {
    const std::string& name = definition_.step(index).name;
    if (Step(definition_.InstanceOf(index)).status == StepStatus::kCompleted) return MemberOf(Lookup(State(), VarKey(name)), "inputs");
  }
  return nullptr;
}

// The outbox row of the commit that ends this run; the id of the run that it asks for.
std::string Decider::AskForNext(const Json& inputs) {
  const RunRecord run = Run();
  const SubjectId id = MadeIdOf(run.run_id, "/continue_as_new", now_);
  const Json* before = MemberOf(run.json, "continued");
  const std::string first = before ? TextOf(before, "first") : std::string(run.run_id);
  Json asked = {{"continue_of", run.run_id}, {"first", first}, {"number", NumberOf(before, "number") + 1}, {"inputs", inputs}};
  if (const TraceContext trace = TraceOfRun(State()); !trace.trace_id.empty()) asked["traceparent"] = FormatTraceparent(trace);
  decision_.outbox.push_back(CreateOf(id, "workflow", asked));
  if (const auto parent = SubjectId::Parse(TextOf(MemberOf(run.json, "parent"), "run_id")))
    decision_.outbox.push_back(
        PostTo(*parent, kChildContinuedPost,
               {{"step_id", TextOf(MemberOf(run.json, "parent"), "step_id")}, {"first", first}, {"next", id.ToString()}}));
  return id.ToString();
}

// A child goes on as another run: from now on that one is stopped with its parent.
void Decider::ChildContinued(const InboxInput& input) {
  const Json* said = MemberOf(&input.payload, "said");
  const std::string next = TextOf(said, "next");
  const auto instance = definition_.Find(TextOf(said, "step_id"));
  const StepRecord record = instance ? Step(*instance) : StepRecord{};
  if (record.status != StepStatus::kRunning || TextOf(record.json, "child") != TextOf(said, "first"))
    return;  // it has ended: the last came first
  Json facts = StepFacts(*instance, 0);
  facts.update(InboxFacts(input));
  facts["child"] = TextOf(said, "first");
  facts["next"] = next;
  Emit(event::kChildContinued, std::move(facts));
  if (Run().phase != Phase::kStopping) return;
  if (const auto id = SubjectId::Parse(next))
    decision_.outbox.push_back(PostTo(*id, kParentStopsPost, {{"reason", "its parent stops"}, {"compensate", Run().rollback}}));
}

}  // namespace acl::workflow
