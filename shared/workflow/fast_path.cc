#include "shared/workflow/fast_path.h"

#include <fmt/format.h>

#include "shared/base/json_object.h"
#include "shared/workflow/cached_position.h"
#include "shared/workflow/call.h"
#include "shared/workflow/decider.h"
#include "shared/workflow/events.h"
#include "shared/workflow/payload_writer.h"
#include "shared/workflow/ready_set.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

namespace {

// ---- texts of the entries, as state.h says them

std::string CompletedRecord(const CachedPosition& position, std::int64_t at) {
  return fmt::format(R"({{"attempts":1,"completed_at":{},"order":{},"started_at":{},"status":"{}"}})", at, position.done + 1,
                     position.began, Name(StepStatus::kCompleted));
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
void PutReady(PayloadWriter& writer, const CompiledDefinition& definition, const Document& state, int from, std::optional<int> to) {
  if (definition.total() <= ReadySet::kWordBits) {
    static const EntryWords word = EntryWordsOf(ReadySet::FirstWord());
    if (!to) return writer.Remove(word.key);
    writer.Put(word, std::to_string(1u << definition.position(*to)));
    return;
  }
  ReadySet ready(state, definition.total());
  ready.Erase(definition.position(from));
  if (to) ready.Insert(definition.position(*to));
  Delta moved;
  ready.AppendTo(moved);
  for (const DeltaOp& op : moved.ops) writer.Put(op);
}

// The first attempt of a step; `state` as its templates see it. Nothing if it is not to begin here and now with its row first.
std::optional<StartStep> StartHere(const DefinitionCache& definitions, const CachedPosition& position, int step, const Document& state) {
  const CompiledDefinition& definition = *position.definition;
  StartStep start = FirstStartOf(definitions, definition, *definition.Find(definition.step_id(step)), state, position.run_id);
  if (start.target || !start.note.is_null() || !NeedsRowFirst(start.effect)) return std::nullopt;
  return start;
}

// False: what its templates came to is too deep or too long to be stored.
bool PutRunning(PayloadWriter& writer, const CompiledDefinition& definition, int step, const StartStep& start, std::int64_t at) {
  const EntryWords& entry = definition.words(step).record;
  if (definition.constant(step)) {
    writer.Put(entry, RunningRecord(at));
    return true;
  }
  const Json record = RunningRecord(at, *MemberOf(&start.call, kCallInputs));
  if (!CheckStorable(record, kEntryLimits)) return false;
  writer.Put(entry, record);
  return true;
}

void SayBegins(PayloadWriter& writer, const StepWords& words) {
  writer << R"({"also":[{"attempt":1,)" << words.facts << R"(,"type":")" << event::kStepStarted << R"("}],)";
}
void SayRoot(PayloadWriter& writer, const Document& state) { writer << R"(],"state_root":")" << ToHex(state.Root()) << "\""; }

// The completion of the step that runs: its facts, what it puts, and its end. `next`: the step that is ready then, and perhaps begins.
void SayCompleted(PayloadWriter& writer, const StepFinishedInput& input) {
  writer << R"("attempt":)" << std::int64_t(input.attempt_id);
  if (input.result.duration.count() > 0) writer << R"(,"duration_ms":)" << std::int64_t(input.result.duration.count());
  writer << R"(,"state_delta":)";
}
CompletionRow PutCompleted(PayloadWriter& writer, const Document& state, const CachedPosition& position, const StepFinishedInput& input,
                           const std::vector<const Output*>& named, std::optional<int> next, bool begins, WallTime at) {
  const CompiledDefinition& definition = *position.definition;
  const StepWords& words = definition.words(position.step);
  const Json& outputs = input.result.outputs;
  writer.Put(words.record, CompletedRecord(position, MicrosOf(at)));
  writer.Put(ProgressEntry(), begins ? ProgressText(position.done + 1, definition.words(*next)) : ProgressText(position.done + 1));
  PutReady(writer, definition, state, position.step, next);
  CompletionRow completion{input.step_id, input.attempt_id, at, writer.Put(words.outputs, outputs), 0};
  for (const Output* output : named) writer.Copy(words.outputs, output->first, output->second);
  return completion;
}

Event EndCompleted(PayloadWriter&& writer, const Document& state, const StepWords& words) {
  SayRoot(writer, state);
  writer << "," << words.facts << "}";
  return std::move(writer).End(event::kStepCompleted);
}

// The run's record, member by member.
class RunChange {
 public:
  RunChange(PayloadWriter& writer, const Document& state) : writer_(writer), run_(CopyWithRoom(*Lookup(state, kRunKey), 3)) {}
  void Put(std::string_view member, Json value) {
    writer_.PutMember(kRunKey, member, value);
    run_[std::string(member)] = std::move(value);
  }
  void Remove(std::string_view member) {
    if (run_.erase(std::string(member)) > 0) writer_.RemoveMember(kRunKey, member);
  }
  void Done() && { writer_.Become(kRunKey, std::move(run_)); }

 private:
  PayloadWriter& writer_;
  Json run_;
};

void StandAt(CachedPosition& position, int step, WallTime at) {
  position.step = step;
  position.attempt = 1;
  position.began = MicrosOf(at);
}

// The step that begins, where none ran.
void PutOpen(PayloadWriter& writer, const CompiledDefinition& definition, const CachedPosition& position) {
  writer.PutMember(kProgressKey, "open", Json::array({definition.step_id(position.step)}));
  writer.Become(ProgressEntry(), ProgressText(position.done, definition.words(position.step)));
}

ListingChange Listed(RunStatus status) { return {std::string(Name(status)), std::nullopt, std::nullopt, std::nullopt}; }

// ---- a run begins

bool Begin(const DefinitionCache& definitions, const Document& state, WallTime at, std::shared_ptr<FastPathCursor>& cursor,
           FastPathResult& fast_path) {
  auto position = BeginningOf(definitions, state);
  if (!position) return false;
  const CompiledDefinition& definition = *position->definition;
  const int step = position->step;
  fast_path.start = StartHere(definitions, *position, step, state);
  if (!fast_path.start) return false;

  PayloadWriter writer;
  SayBegins(writer, definition.words(step));
  std::string deadline;
  if (const auto limit = definition.definition().max_execution_time; limit.count() > 0) {
    fast_path.timer_set = TimerRow{std::string(kDeadlineTimer), at + limit};
    deadline = FormatWallTime(at + limit);
    writer << R"("deadline_at":")" << deadline << R"(",)";
  }
  writer << R"("state_delta":)";
  RunChange run(writer, state);
  run.Put("status", Name(RunStatus::kRunning));
  run.Put("started_at", MicrosOf(at));
  if (!deadline.empty()) run.Put("deadline_at", deadline);
  std::move(run).Done();
  if (!PutRunning(writer, definition, step, *fast_path.start, MicrosOf(at))) return false;
  PutOpen(writer, definition, *position);
  fast_path.next_state = state;
  fast_path.next_state.Change(writer.TakeChanges());
  SayRoot(writer, fast_path.next_state);
  writer << "}";
  fast_path.events.push_back(std::move(writer).End(event::kWorkflowStarted));
  fast_path.listing = Listed(RunStatus::kRunning);
  fast_path.listing->started_at = at;

  StandAt(*position, step, at);
  cursor = std::move(position);
  return true;
}

// ---- a step begins that was left to whoever holds the run now

bool GoOnHere(const DefinitionCache& definitions, const Document& state, WallTime at, std::shared_ptr<FastPathCursor>& cursor,
              FastPathResult& fast_path) {
  auto position = RestingOf(definitions, state);
  if (!position) return false;
  const CompiledDefinition& definition = *position->definition;
  const int step = position->step;
  fast_path.start = StartHere(definitions, *position, step, state);
  if (!fast_path.start) return false;
  PayloadWriter writer;
  writer << R"({"attempt":1,"state_delta":)";
  if (!PutRunning(writer, definition, step, *fast_path.start, MicrosOf(at))) return false;
  PutOpen(writer, definition, *position);
  fast_path.next_state = state;
  fast_path.next_state.Change(writer.TakeChanges());
  SayRoot(writer, fast_path.next_state);
  writer << "," << definition.words(step).facts << "}";
  fast_path.events.push_back(std::move(writer).End(event::kStepStarted));

  StandAt(*position, step, at);
  cursor = std::move(position);
  return true;
}

// ---- a step completes and another begins

// The step that waits for this one alone and never began; -1: there is none.
int FollowerOf(const Document& state, const CachedPosition& position) {
  const int next = position.definition->follower(position.step);
  return next >= 0 && trie::Find(state.root_node(), position.definition->words(next).record.path) == nullptr ? next : -1;
}

bool GoOn(const DefinitionCache& definitions, const Document& state, const StepFinishedInput& input, WallTime at, CachedPosition& position,
          FastPathResult& fast_path) {
  const CompiledDefinition& definition = *position.definition;
  const int step = position.step, next = FollowerOf(state, position);
  if (next < 0) return false;
  const auto named = NamedOutputs(state, input.result.outputs, position);
  if (!named) return false;
  PayloadWriter writer;
  SayBegins(writer, definition.words(next));
  SayCompleted(writer, input);
  fast_path.completion = PutCompleted(writer, state, position, input, *named, next, true, at);
  fast_path.next_state = state;
  if (!definition.constant(next)) fast_path.next_state.Change(writer.TakeChanges());  // what its templates see
  fast_path.start = StartHere(definitions, position, next, fast_path.next_state);
  if (!fast_path.start || !PutRunning(writer, definition, next, *fast_path.start, MicrosOf(at))) return false;
  fast_path.next_state.Change(writer.TakeChanges());
  fast_path.events.push_back(EndCompleted(std::move(writer), fast_path.next_state, definition.words(step)));

  std::erase(position.unnamed, definition.step(step).name);
  StandAt(position, next, at);
  ++position.done;
  return true;
}

// ---- a step completes and nothing begins

// `next`: the step that is ready then, if there is one.
bool CompleteAlone(const Document& state, const StepFinishedInput& input, WallTime at, CachedPosition& position, std::optional<int> next,
                   FastPathResult& fast_path) {
  const auto named = NamedOutputs(state, input.result.outputs, position);
  if (!named) return false;
  PayloadWriter writer;
  writer << "{";
  SayCompleted(writer, input);
  fast_path.completion = PutCompleted(writer, state, position, input, *named, next, false, at);
  fast_path.next_state = state;
  fast_path.next_state.Change(writer.TakeChanges());
  fast_path.events.push_back(EndCompleted(std::move(writer), fast_path.next_state, position.definition->words(position.step)));
  return true;
}

// ---- a step completes, and the one that follows is left to whoever holds the run next

bool Rest(const Document& state, const StepFinishedInput& input, WallTime at, CachedPosition& position, FastPathResult& fast_path) {
  const int next = FollowerOf(state, position);
  return next >= 0 && CompleteAlone(state, input, at, position, next, fast_path);
}

// ---- the last step completes

bool End(const Document& state, const StepFinishedInput& input, WallTime at, CachedPosition& position, FastPathResult& fast_path) {
  const CompiledDefinition& definition = *position.definition;
  const int step = position.step;
  const Json* record = Lookup(state, kRunKey);
  if (MemberOf(record, "task") != nullptr || MemberOf(record, "parent") != nullptr) return false;  // its end is said to others
  if (!definition.EndsAlone(step) || !CompleteAlone(state, input, at, position, std::nullopt, fast_path)) return false;

  PayloadWriter ends;
  ends << "{";
  const Json& outputs = input.result.outputs;
  if (DumpedBytes(outputs) <= kMaxOutputsInEvent) (ends << R"("outputs":)").Value(outputs) << ",";
  (ends << R"("outputs_of":)").Value(definition.step(step).name) << R"(,"state_delta":)";
  RunChange run(ends, state);
  run.Put("status", Name(RunStatus::kCompleted));
  run.Put("outputs_of", definition.step(step).name);
  run.Put("phase", "closed");
  run.Put("completed_at", MicrosOf(at));
  run.Remove("deadline_at");
  std::move(run).Done();
  fast_path.next_state.Change(ends.TakeChanges());
  SayRoot(ends, fast_path.next_state);
  ends << R"(,"steps":)" << std::int64_t(definition.total()) << "}";
  fast_path.events.push_back(std::move(ends).End(event::kWorkflowCompleted));
  fast_path.timer_cleared = kDeadlineTimer;
  fast_path.listing = Listed(RunStatus::kCompleted);
  fast_path.listing->completed_at = at;
  fast_path.closed = true;
  return true;
}

bool Complete(const DefinitionCache& definitions, const Document& state, StepFinishedInput& input, WallTime at, bool goes_on,
              std::shared_ptr<FastPathCursor>& cursor, FastPathResult& fast_path) {
  StepResult& result = input.result;
  if (result.outcome != StepResult::Outcome::kSucceeded || !result.files.empty() || !input.note.is_null()) return false;
  if (OutgrowsRun(state, result.outputs)) return false;
  auto position = std::static_pointer_cast<CachedPosition>(cursor);
  if (!position) position = CachedPositionOf(definitions, state, input);
  if (!position || position->attempt != input.attempt_id || position->definition->step_id(position->step) != input.step_id) return false;
  if (position->done + 1 >= position->definition->total()) return End(state, input, at, *position, fast_path);
  if (!goes_on) return Rest(state, input, at, *position, fast_path);
  if (!GoOn(definitions, state, input, at, *position, fast_path)) return false;
  DestroyIteratively(result.outputs);
  cursor = std::move(position);
  return true;
}

}  // namespace

bool FastPathOf(const DefinitionCache& definitions, const Document& state, Input& input, WallTime at, bool goes_on,
                std::shared_ptr<FastPathCursor>& cursor, FastPathResult& fast_path) {
  if (const auto* resumed = std::get_if<ResumedInput>(&input)) {
    return resumed->open_attempts.empty() &&
           (Begin(definitions, state, at, cursor, fast_path) || GoOnHere(definitions, state, at, cursor, fast_path));
  }
  auto* finished = std::get_if<StepFinishedInput>(&input);
  return finished != nullptr && Complete(definitions, state, *finished, at, goes_on, cursor, fast_path);
}

}  // namespace acl::workflow
