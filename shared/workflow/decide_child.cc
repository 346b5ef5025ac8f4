// CHILD steps: a run of its own does the step, with a lease and a journal of its own. It is asked for in the commit that begins the step,
// and its end comes as an input; in between nobody holds this run. What completed is undone, in its place in the order, by another run that
// begins where the child ended and takes back all it did (undo_run.h).

#include <fmt/format.h>

#include "shared/base/mutant.h"
#include "shared/base/sha256.h"
#include "shared/kernel/create.h"
#include "shared/kernel/post.h"
#include "shared/workflow/approvals.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/end_reason.h"
#include "shared/workflow/events.h"

namespace acl::workflow {

namespace {

int DepthOf(const RunRecord& run) { return int(NumberOf(MemberOf(run.json, "parent"), "depth")); }

}  // namespace

SubjectId MadeIdOf(std::string_view run_id, std::string_view what, WallTime now) {
  const Hash256 hash = Sha256({"acl-child-v1", std::string_view("\0", 1), run_id, std::string_view("\0", 1), what});
  SubjectId id;
  std::copy(hash.begin(), hash.begin() + 16, id.uuid.bytes.begin());
  const auto ms = std::uint64_t(MicrosOf(now) / 1'000);
  for (std::size_t i = 0; i < 6; ++i) id.uuid.bytes[i] = std::uint8_t(ms >> (8 * (5 - i)));
  id.uuid.bytes[6] = std::uint8_t(0x70 | (id.uuid.bytes[6] & 0x0f));
  id.uuid.bytes[8] = std::uint8_t(0x80 | (id.uuid.bytes[8] & 0x3f));
  return id;
}

void Decider::BeginChild(const Instance& instance) {
  const ChildDefinition& child = *definition_.step(instance.step).child;
  const RunRecord run = Run();
  Json facts = StepFacts(instance, 0);
  if (DepthOf(run) >= kDeepestChild)
    return FailedByItself(instance, std::move(facts), fmt::format("children of children go {} deep, and no deeper", kDeepestChild));
  const Unanswered unanswered = definition_.definition().strict_templates      ? Unanswered::kFailsStrict
                                : definition_.definition().effects_need_values ? Unanswered::kFailsEffect
                                                                               : Unanswered::kStays;
  std::vector<std::string> missing;
  CapabilityCall resolved = ResolveCall("a workflow", child.inputs, ScopeOf(State(), definition_, instance), unanswered, &missing);
  if (!missing.empty()) facts["missing"] = missing;
  if (!resolved.error.empty()) return FailedByItself(instance, std::move(facts), resolved.error);
  if (!definition_.definition().workflows.contains(child.workflow))
    return FailedByItself(instance, std::move(facts), fmt::format("the file has no workflow '{}'", child.workflow));
  Json asked = {{"step_id", instance.step_id}, {"depth", DepthOf(run) + 1}, {"inputs", std::move(resolved.inputs)}};
  asked["workflow"] = child.workflow;  // of this run's definition: ChildDefinitionOf
  if (run.deadline) asked["deadline_at"] = FormatWallTime(*run.deadline);
  if (run.deadline_left_ms) asked["deadline_at"] = FormatWallTime(now_ + milliseconds(*run.deadline_left_ms));
  if (definition_.asks()) asked["requesters"] = RequestersOf(run.json);
  if (const TraceContext trace = TraceOfRun(State()); !trace.trace_id.empty()) asked["traceparent"] = FormatTraceparent(trace);
  const SubjectId id = MadeIdOf(run.run_id, instance.step_id, now_);
  facts["child"] = id.ToString();
  StopClock(facts);  // the child's time is bounded by what is left
  facts["workflow"] = child.workflow;
  decision_.outbox.push_back(CreateOf(id, "workflow", asked));
  Emit(event::kChildStarted, std::move(facts));
}

void Decider::ChildEnded(const InboxInput& input) {
  const Json* said = MemberOf(&input.payload, "said");
  const std::string step_id = TextOf(said, "step_id"), from = TextOf(&input.payload, "from");
  const auto instance = definition_.Find(step_id);
  const StepRecord record = instance ? Step(*instance) : StepRecord{};
  const std::string child = TextOf(record.json, "child");
  if ((record.status != StepStatus::kRunning && !Mutant("child_counted_twice")) || (child != from && child != TextOf(said, "first")))
    return Refuse(input, fmt::format("no child run {} of step '{}' is waited for", from, step_id));
  if (instance->undo) return ChildUndone(input, *instance, *said);
  Json facts = StepFacts(*instance, 1);
  facts.update(InboxFacts(input));
  facts["child"] = from;
  const WallTime since = record.started_at.value_or(now_);
  facts["duration_ms"] = std::chrono::duration_cast<milliseconds>(now_ - since).count();
  const std::string status = TextOf(said, "status");
  const Json* outputs = MemberOf(said, "outputs");
  const std::int64_t not_undone = NumberOf(said, "not_undone");
  const bool too_much = outputs && OutgrowsRun(State(), *outputs);
  if (Run().status == RunStatus::kRunning) StartClock(facts, 1);
  if (status == "COMPLETED") {
    Json given = outputs && !too_much ? *outputs : Json::object();
    Json undo = {{"child", from}};
    if (definition_.step(instance->step).compensation) {
      std::vector<std::string> missing;
      undo = UndoRecord(*instance, given, {}, missing);
      if (!missing.empty()) facts["missing"] = missing;
    }
    const std::string capability = undo.contains("child") ? "workflow" : TextOf(&undo, kCallCapability);
    const Json* inputs = MemberOf(&undo, kCallInputs);
    facts["undo"] = capability;
    decision_.compensations.push_back({step_id, capability, DumpJson(inputs ? *inputs : undo), "pending", TextOf(&undo, kCallError), now_});
    CompletedByItself(*instance, std::move(facts), std::move(given), since, std::move(undo));
    if (too_much && Run().phase == Phase::kForward)  // it did what it was to do, so it is undone with the rest
      Fail(std::string(kStepFailedReason),
           fmt::format("the outputs of the child run {} would make the run's state larger than one may be", from), NameOf(*instance),
           definition_.definition().enable_auto_rollback);
  } else if (Run().phase == Phase::kStopping) {
    facts["error"] = fmt::format("the child run {} ended {}", from, status);
    if (not_undone > 0) facts["not_undone"] = not_undone;
    Emit(event::kStepCancelled, std::move(facts));
  } else {
    const std::string error = TextOf(said, "error");
    if (not_undone > 0) facts["not_undone"] = not_undone;
    FailedByItself(*instance, std::move(facts),
                   fmt::format("the child run {} ended {}{}{}", from, status, error.empty() ? "" : ": ", error));
  }
  ConcludeRun();
}

bool Decider::UndoChild(const Instance& instance, const std::string& child) {
  if (Step(instance).status != StepStatus::kPending) return false;  // its run goes on
  const RunRecord run = Run();
  Json asked = {{"step_id", instance.step_id}, {"depth", DepthOf(run) + 1}, {"undo_of", child}};
  if (const TraceContext trace = TraceOfRun(State()); !trace.trace_id.empty()) asked["traceparent"] = FormatTraceparent(trace);
  const SubjectId id = MadeIdOf(run.run_id, instance.step_id, now_);
  Json facts = StepFacts(instance, 0);
  facts["child"] = id.ToString();
  facts["undo_of"] = child;
  decision_.outbox.push_back(CreateOf(id, "workflow", asked));
  Emit(event::kChildStarted, std::move(facts));
  return false;
}

void Decider::ChildUndone(const InboxInput& input, const Instance& instance, const Json& said) {
  const std::string status = TextOf(&said, "status"), error = TextOf(&said, "error");
  if (status == "ROLLED_BACK") {
    Json facts = StepFacts(instance, 0);
    facts.update(InboxFacts(input));
    facts["undoes"] = NameOf(definition_.ForwardOf(instance));
    LogCompensation(instance, "workflow", "executed", "");
    Emit(event::kCompensationCompleted, std::move(facts));
  } else {
    Json facts = StepFacts(instance, 0);
    facts.update(InboxFacts(input));
    facts["error"] = fmt::format("the run {} that was to undo it ended {}{}{}", TextOf(&input.payload, "from"), status,
                                 error.empty() ? "" : ": ", error);
    facts["attempts"] = 1;
    LogCompensation(instance, "workflow", "failed", TextOf(&facts, "error"));
    Emit(event::kCompensationFailed, std::move(facts));
  }
  ConcludeRun();
}

void Decider::StopChildren(bool compensate) {
  std::vector<std::string> children;
  State().ForEach([&](const std::string& key, const Json& record) {
    if (!key.starts_with("step:")) return true;
    const std::string child = TextOf(&record, record.contains("child_now") ? "child_now" : "child");
    if (!child.empty() && TextOf(&record, "status") == Name(StepStatus::kRunning)) children.push_back(child);
    return true;
  });
  for (const std::string& child : children) {
    if (const auto id = SubjectId::Parse(child))
      decision_.outbox.push_back(PostTo(*id, kParentStopsPost, {{"reason", "its parent stops"}, {"compensate", compensate}}));
  }
}

bool Decider::TooMuchForParent(const Json* outputs) {
  if (!outputs || !MemberOf(Run().json, "parent") || DumpedBytes(*outputs) <= kMostChildOutputs) return false;
  Fail(std::string(kStepFailedReason),
       fmt::format("its outputs of {} bytes are more than the {} that a parent takes: let it write them into files", DumpedBytes(*outputs),
                   kMostChildOutputs),
       definition_.step(definition_.last()).name, definition_.definition().enable_auto_rollback);
  return true;
}

void Decider::TellItsParent(const Json* outputs) {
  const auto run = ReadRun(State());
  const Json* link = run ? MemberOf(run->json, "parent") : nullptr;
  const auto parent = SubjectId::Parse(TextOf(link, "run_id"));
  if (!parent) return;
  Json said = {{"step_id", TextOf(link, "step_id")}, {"status", decision_.listing->status}};
  const std::string error = decision_.listing->error_message.value_or(TextOf(run->json, "error"));
  if (!error.empty() && !outputs) said["error"] = error;
  if (outputs) said["outputs"] = *outputs;
  if (const Json* before = MemberOf(run->json, "continued")) said["first"] = TextOf(before, "first");
  if (const int left = Done().not_undone; left > 0) said["not_undone"] = left;
  decision_.outbox.push_back(PostTo(*parent, kChildEndedPost, said));
}

}  // namespace acl::workflow
