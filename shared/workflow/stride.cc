#include "shared/workflow/stride.h"

#include <fmt/format.h>

#include "shared/base/json_object.h"
#include "shared/workflow/call.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/events.h"
#include "shared/workflow/ready_set.h"
#include "shared/workflow/standing.h"
#include "shared/workflow/state.h"
#include "shared/workflow/telling.h"

namespace acl::workflow {

namespace {

// ---- texts of the entries, as state.h says them

std::string CompletedRecord(const Standing& standing, std::int64_t at) {
  return fmt::format(R"({{"attempts":1,"completed_at":{},"order":{},"started_at":{},"status":"{}"}})", at, standing.done + 1,
                     standing.began, Name(StepStatus::kCompleted));
}
std::string RunningRecord(std::int64_t at) {
  return fmt::format(R"({{"attempt":1,"started_at":{},"status":"{}"}})", at, Name(StepStatus::kRunning));
}
Json RunningRecord(std::int64_t at, const Json& inputs) {
  Json call = ObjectFor(1), record = ObjectFor(4);
  AddMember(call, kCallInputs, inputs);
  AddMember(record, "attempt", 1);
  AddMember(record, "call", std::move(call));
  AddMember(record, "started_at", at);
  AddMember(record, "status", Name(StepStatus::kRunning));
  return record;
}
const EntryWords& ProgressEntry() {
  static const EntryWords entry = EntryWordsOf(kProgressKey);
  return entry;
}
std::string ProgressText(std::int64_t done) { return fmt::format(R"({{"done":{}}})", done); }
std::string ProgressText(std::int64_t done, const StepWords& open) { return fmt::format(R"({{"done":{},"open":[{}]}})", done, open.id); }

// ---- pieces

// The set of ready steps, which holds `from` alone, holds `to` or nothing.
void PutReady(Telling& telling, const CompiledSpec& spec, const Document& state, int from, std::optional<int> to) {
  if (spec.total() <= ReadySet::kWordBits) {
    static const EntryWords word = EntryWordsOf(ReadySet::FirstWord());
    if (!to) return telling.Remove(word.key);
    telling.Put(word, std::to_string(1u << spec.position(*to)));
    return;
  }
  ReadySet ready(state, spec.total());
  ready.Erase(spec.position(from));
  if (to) ready.Insert(spec.position(*to));
  Delta moved;
  ready.AppendTo(moved);
  for (const DeltaOp& op : moved.ops) telling.Put(op);
}

// The first attempt of a step; `state` as its templates see it. Nothing if it is not to begin here and now with its row first.
std::optional<StartStep> StartHere(const SpecCache& specs, const Standing& standing, int step, const Document& state) {
  const CompiledSpec& spec = *standing.spec;
  StartStep start = FirstStartOf(specs, spec, *spec.Find(spec.step_id(step)), state, standing.run_id);
  if (start.target || !start.note.is_null() || !NeedsRowFirst(start.effect)) return std::nullopt;
  return start;
}

// False: what its templates came to is too deep or too long to be stored.
bool PutRunning(Telling& telling, const CompiledSpec& spec, int step, const StartStep& start, std::int64_t at) {
  const EntryWords& entry = spec.words(step).record;
  if (spec.constant(step)) {
    telling.Put(entry, RunningRecord(at));
    return true;
  }
  const Json record = RunningRecord(at, *MemberOf(&start.call, kCallInputs));
  if (!CheckStorable(record, kEntryLimits)) return false;
  telling.Put(entry, record);
  return true;
}

void SayBegins(Telling& telling, const StepWords& words) {
  telling << R"({"also":[{"attempt":1,)" << words.facts << R"(,"type":")" << event::kStepStarted << R"("}],)";
}
void SayRoot(Telling& telling, const Document& state) { telling << R"(],"state_root":")" << ToHex(state.Root()) << "\""; }

// The completion of the step that runs: its facts, what it puts, and its end. `next`: the step that is ready then, and perhaps begins.
void SayCompleted(Telling& telling, const StepFinishedInput& input) {
  telling << R"("attempt":)" << std::int64_t(input.attempt_id);
  if (input.result.duration.count() > 0) telling << R"(,"duration_ms":)" << std::int64_t(input.result.duration.count());
  telling << R"(,"state_delta":)";
}
CompletionRow PutCompleted(Telling& telling, const Document& state, const Standing& standing, const StepFinishedInput& input,
                           const std::vector<const Output*>& named, std::optional<int> next, bool begins, WallTime at) {
  const CompiledSpec& spec = *standing.spec;
  const StepWords& words = spec.words(standing.step);
  const Json& outputs = input.result.outputs;
  telling.Put(words.record, CompletedRecord(standing, MicrosOf(at)));
  telling.Put(ProgressEntry(), begins ? ProgressText(standing.done + 1, spec.words(*next)) : ProgressText(standing.done + 1));
  PutReady(telling, spec, state, standing.step, next);
  CompletionRow completion{input.step_id, input.attempt_id, at, telling.Put(words.outputs, outputs), 0};
  for (const Output* output : named) telling.Copy(words.outputs, output->first, output->second);
  return completion;
}

Event EndCompleted(Telling&& telling, const Document& state, const StepWords& words) {
  SayRoot(telling, state);
  telling << "," << words.facts << "}";
  return std::move(telling).End(event::kStepCompleted);
}

// The run's record, member by member.
class RunChange {
 public:
  RunChange(Telling& telling, const Document& state) : telling_(telling), run_(CopyWithRoom(*Lookup(state, kRunKey), 3)) {}
  void Put(std::string_view member, Json value) {
    telling_.PutMember(kRunKey, member, value);
    run_[std::string(member)] = std::move(value);
  }
  void Remove(std::string_view member) {
    if (run_.erase(std::string(member)) > 0) telling_.RemoveMember(kRunKey, member);
  }
  void Done() && { telling_.Become(kRunKey, std::move(run_)); }

 private:
  Telling& telling_;
  Json run_;
};

void StandAt(Standing& standing, int step, WallTime at) {
  standing.step = step;
  standing.attempt = 1;
  standing.began = MicrosOf(at);
}

// The step that begins, where none ran.
void PutOpen(Telling& telling, const CompiledSpec& spec, const Standing& standing) {
  telling.PutMember(kProgressKey, "open", Json::array({spec.step_id(standing.step)}));
  telling.Become(ProgressEntry(), ProgressText(standing.done, spec.words(standing.step)));
}

ListingChange Listed(RunStatus status) { return {std::string(Name(status)), std::nullopt, std::nullopt, std::nullopt}; }

// ---- a run begins

bool Begin(const SpecCache& specs, const Document& state, WallTime at, std::shared_ptr<Footing>& footing, Stride& stride) {
  auto standing = BeginningOf(specs, state);
  if (!standing) return false;
  const CompiledSpec& spec = *standing->spec;
  const int step = standing->step;
  stride.start = StartHere(specs, *standing, step, state);
  if (!stride.start) return false;

  Telling telling;
  SayBegins(telling, spec.words(step));
  std::string deadline;
  if (const auto limit = spec.spec().max_execution_time; limit.count() > 0) {
    stride.timer_set = TimerRow{std::string(kDeadlineTimer), at + limit};
    deadline = FormatWallTime(at + limit);
    telling << R"("deadline_at":")" << deadline << R"(",)";
  }
  telling << R"("state_delta":)";
  RunChange run(telling, state);
  run.Put("status", Name(RunStatus::kRunning));
  run.Put("started_at", MicrosOf(at));
  if (!deadline.empty()) run.Put("deadline_at", deadline);
  std::move(run).Done();
  if (!PutRunning(telling, spec, step, *stride.start, MicrosOf(at))) return false;
  PutOpen(telling, spec, *standing);
  stride.next_state = state;
  stride.next_state.Change(telling.TakeChanges());
  SayRoot(telling, stride.next_state);
  telling << "}";
  stride.events.push_back(std::move(telling).End(event::kWorkflowStarted));
  stride.listing = Listed(RunStatus::kRunning);
  stride.listing->started_at = at;

  StandAt(*standing, step, at);
  footing = std::move(standing);
  return true;
}

// ---- a step begins that was left to whoever holds the run now

bool GoOnHere(const SpecCache& specs, const Document& state, WallTime at, std::shared_ptr<Footing>& footing, Stride& stride) {
  auto standing = RestingOf(specs, state);
  if (!standing) return false;
  const CompiledSpec& spec = *standing->spec;
  const int step = standing->step;
  stride.start = StartHere(specs, *standing, step, state);
  if (!stride.start) return false;
  Telling telling;
  telling << R"({"attempt":1,"state_delta":)";
  if (!PutRunning(telling, spec, step, *stride.start, MicrosOf(at))) return false;
  PutOpen(telling, spec, *standing);
  stride.next_state = state;
  stride.next_state.Change(telling.TakeChanges());
  SayRoot(telling, stride.next_state);
  telling << "," << spec.words(step).facts << "}";
  stride.events.push_back(std::move(telling).End(event::kStepStarted));

  StandAt(*standing, step, at);
  footing = std::move(standing);
  return true;
}

// ---- a step completes and another begins

// The step that waits for this one alone and never began; -1: there is none.
int FollowerOf(const Document& state, const Standing& standing) {
  const int next = standing.spec->follower(standing.step);
  return next >= 0 && trie::Find(state.root_node(), standing.spec->words(next).record.path) == nullptr ? next : -1;
}

bool GoOn(const SpecCache& specs, const Document& state, const StepFinishedInput& input, WallTime at, Standing& standing, Stride& stride) {
  const CompiledSpec& spec = *standing.spec;
  const int step = standing.step, next = FollowerOf(state, standing);
  if (next < 0) return false;
  const auto named = NamedOutputs(state, input.result.outputs, standing);
  if (!named) return false;
  Telling telling;
  SayBegins(telling, spec.words(next));
  SayCompleted(telling, input);
  stride.completion = PutCompleted(telling, state, standing, input, *named, next, true, at);
  stride.next_state = state;
  if (!spec.constant(next)) stride.next_state.Change(telling.TakeChanges());  // what its templates see
  stride.start = StartHere(specs, standing, next, stride.next_state);
  if (!stride.start || !PutRunning(telling, spec, next, *stride.start, MicrosOf(at))) return false;
  stride.next_state.Change(telling.TakeChanges());
  stride.events.push_back(EndCompleted(std::move(telling), stride.next_state, spec.words(step)));

  std::erase(standing.unnamed, spec.step(step).name);
  StandAt(standing, next, at);
  ++standing.done;
  return true;
}

// ---- a step completes and nothing begins

// `next`: the step that is ready then, if there is one.
bool CompleteAlone(const Document& state, const StepFinishedInput& input, WallTime at, Standing& standing, std::optional<int> next,
                   Stride& stride) {
  const auto named = NamedOutputs(state, input.result.outputs, standing);
  if (!named) return false;
  Telling telling;
  telling << "{";
  SayCompleted(telling, input);
  stride.completion = PutCompleted(telling, state, standing, input, *named, next, false, at);
  stride.next_state = state;
  stride.next_state.Change(telling.TakeChanges());
  stride.events.push_back(EndCompleted(std::move(telling), stride.next_state, standing.spec->words(standing.step)));
  return true;
}

// ---- a step completes, and the one that follows is left to whoever holds the run next

bool Rest(const Document& state, const StepFinishedInput& input, WallTime at, Standing& standing, Stride& stride) {
  const int next = FollowerOf(state, standing);
  return next >= 0 && CompleteAlone(state, input, at, standing, next, stride);
}

// ---- the last step completes

bool End(const Document& state, const StepFinishedInput& input, WallTime at, Standing& standing, Stride& stride) {
  const CompiledSpec& spec = *standing.spec;
  const int step = standing.step;
  const Json* record = Lookup(state, kRunKey);
  if (MemberOf(record, "task") != nullptr || MemberOf(record, "parent") != nullptr) return false;  // its end is said to others
  if (!spec.EndsAlone(step) || !CompleteAlone(state, input, at, standing, std::nullopt, stride)) return false;

  Telling ends;
  ends << "{";
  const Json& outputs = input.result.outputs;
  if (DumpedBytes(outputs) <= kMaxOutputsInEvent) (ends << R"("outputs":)").Value(outputs) << ",";
  (ends << R"("outputs_of":)").Value(spec.step(step).name) << R"(,"state_delta":)";
  RunChange run(ends, state);
  run.Put("status", Name(RunStatus::kCompleted));
  run.Put("outputs_of", spec.step(step).name);
  run.Put("phase", "closed");
  run.Put("completed_at", MicrosOf(at));
  run.Remove("deadline_at");
  std::move(run).Done();
  stride.next_state.Change(ends.TakeChanges());
  SayRoot(ends, stride.next_state);
  ends << R"(,"steps":)" << std::int64_t(spec.total()) << "}";
  stride.events.push_back(std::move(ends).End(event::kWorkflowCompleted));
  stride.timer_cleared = kDeadlineTimer;
  stride.listing = Listed(RunStatus::kCompleted);
  stride.listing->completed_at = at;
  stride.closed = true;
  return true;
}

bool Complete(const SpecCache& specs, const Document& state, StepFinishedInput& input, WallTime at, bool goes_on,
              std::shared_ptr<Footing>& footing, Stride& stride) {
  StepResult& result = input.result;
  if (result.outcome != StepResult::Outcome::kSucceeded || !result.files.empty() || !input.note.is_null()) return false;
  if (OutgrowsRun(state, result.outputs)) return false;
  auto standing = std::static_pointer_cast<Standing>(footing);
  if (!standing) standing = StandingOf(specs, state, input);
  if (!standing || standing->attempt != input.attempt_id || standing->spec->step_id(standing->step) != input.step_id) return false;
  if (standing->done + 1 >= standing->spec->total()) return End(state, input, at, *standing, stride);
  if (!goes_on) return Rest(state, input, at, *standing, stride);
  if (!GoOn(specs, state, input, at, *standing, stride)) return false;
  Dismiss(result.outputs);
  footing = std::move(standing);
  return true;
}

}  // namespace

bool StrideOf(const SpecCache& specs, const Document& state, Input& input, WallTime at, bool goes_on, std::shared_ptr<Footing>& footing,
              Stride& stride) {
  if (const auto* resumed = std::get_if<ResumedInput>(&input)) {
    return resumed->open_attempts.empty() && (Begin(specs, state, at, footing, stride) || GoOnHere(specs, state, at, footing, stride));
  }
  auto* finished = std::get_if<StepFinishedInput>(&input);
  return finished != nullptr && Complete(specs, state, *finished, at, goes_on, footing, stride);
}

}  // namespace acl::workflow
