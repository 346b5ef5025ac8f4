#pragma once
// One input being decided: what it means, written as events with what goes beside them. A Decider lives for one call of Decide.
//
// Events already decided are folded into a private copy of the state only when something must be known after them; the usual step of a
// run (completed, more to come) needs no fold here.

#include <optional>
#include <string>
#include <vector>

#include "shared/approval/approval.h"
#include "shared/capability/dispatch_format.h"
#include "shared/kernel/kind.h"
#include "shared/workflow/call.h"
#include "shared/workflow/compiled_definition.h"
#include "shared/workflow/state.h"

namespace acl::workflow {

class Decider {
 public:
  Decider(const DefinitionCache& definitions, const CompiledDefinition& definition, const Document& state, RunRecord run, WallTime now)
      : definitions_(definitions), definition_(definition), first_(state), state_(state), run_(std::move(run)), now_(now) {}

  void On(const ResumedInput& input);       // decide_attempts.cc
  void On(const StartingInput& input);      // decide_attempts.cc
  void On(const StepFinishedInput& input);  // decide_attempts.cc
  void On(const InboxInput& input);         // decide_inbox.cc, decide_dispatches.cc

  Decision Take() && {
    ShowApprovals();
    return std::move(decision_);
  }

 private:
  // -- the state after all events decided so far
  const Document& State();
  RunRecord Run() {
    const Document& state = State();
    if (!run_) run_ = ReadRun(state);
    return *run_;
  }
  Progress Done() { return ReadProgress(State()); }  // how far it is
  StepRecord Step(const Instance& instance) { return ReadStep(State(), instance.step_id); }

  // -- events
  void Emit(std::string_view type, Json facts, Json carried = Json::object());
  Json StepFacts(const Instance& instance, int attempt);
  // `missing`: references that nothing answered when the attempt being decided on began.
  void AddMissing(Json& facts, std::vector<std::string> more = {});
  // A timer is set or cleared by a decision, never both: the last word counts.
  void SetTimer(std::string_view timer_id, WallTime fire_at);
  void ClearTimer(std::string_view timer_id);
  void List(RunStatus status, std::optional<std::string> error = std::nullopt);

  // -- attempts (decide_attempts.cc)
  // What is known of the deaths of workers that an attempt was lost in.
  struct Deaths {
    Json died;              // of the step's record (state.h); null: the run alone is to blame for none
    std::string judgement;  // why the step fails; empty: it is made again
  };
  void Lost(const Instance& instance, const StepRecord& record, int attempt, const std::string& why, const Deaths& deaths = {});
  // Of the attempts that were in flight when the run was taken over, in their order.
  std::vector<Deaths> DeathsOf(const std::vector<StepRecord>& in_flight, const std::vector<std::string>& step_ids, int died_alone);
  void Unknown(const Instance& instance, const StepRecord& record, const StepFinishedInput& input);
  void GiveUp(const Instance& instance, int attempt, const std::string& why);  // CANCELLED, its outcome unknown
  void AskPerson(const Instance& instance, int attempt, const std::string& why);
  void Failed(const Instance& instance, const StepRecord& record, int attempt, const StepResult& result, bool retryable);
  void FailedForGood(const Instance& instance, int attempts, int attempt, const std::string& error, std::optional<WallTime> started,
                     std::chrono::milliseconds took = {});

  // -- steps that the engine tends to itself (decide_scopes.cc)
  // The next of those whose turn has come, or the end of a scope in which all has ended. False: there is nothing to tend to.
  bool TendOwn(const Progress& progress);
  void Begin(const Instance& instance);
  void Open(const Instance& instance);
  void OpenItems(const Instance& instance);
  void EndScope(const Instance& instance);
  Json OutputsOfScope(const Instance& instance, const ScopeRecord& scope);
  Json OutputsOfItems(const Instance& instance, const ScopeRecord& scope);
  std::string WhyScopeFailed(const Instance& instance, const ScopeRecord& scope);
  // A step that nobody ran: its rows, and the event of its completion.
  void CompletedByItself(const Instance& instance, Json facts, Json outputs, WallTime since, Json undo = Json());
  void FailedByItself(const Instance& instance, Json facts, const std::string& error);
  std::string NameOf(const Instance& instance) const;  // for people

  // -- runs that go on as another (decide_continue.cc)
  void BeginContinue(const Instance& instance);
  const Json* NextInputs();
  std::string AskForNext(const Json& inputs);
  void ChildContinued(const InboxInput& input);

  // -- children (decide_child.cc)
  void BeginChild(const Instance& instance);
  void ChildEnded(const InboxInput& input);
  void ChildUndone(const InboxInput& input, const Instance& instance, const Json& said);
  bool UndoChild(const Instance& instance, const std::string& child);  // true: it ended at once
  void StopChildren(bool compensate);
  bool TooMuchForParent(const Json* outputs);  // true: the run fails instead of completing
  void TellItsParent(const Json* outputs);

  // -- signals (decide_signal.cc)
  void Signal(const InboxInput& input);
  void BeginSignal(const Instance& instance);
  void SignalTimer(const InboxInput& input, const std::string& step_id, std::optional<WallTime> fire_at);
  void TakeSignal(const Instance& instance, const std::string& name, std::int64_t number, Json facts);

  // -- PUBLISH steps (decide_publish.cc)
  void Publish(const Instance& instance);

  // -- approvals (decide_approval.cc, ask_approval.cc)
  Result<approval::Request> RequestOf(const Instance& instance, Json& facts);
  void BeginApproval(const Instance& instance);
  void SetApprovalTimer(const Instance& instance, const approval::Request& request, int reminded);
  void Tell(const Instance& instance, const approval::Request& request, std::string_view event, int number);
  void ApprovalTimer(const InboxInput& input, const std::string& step_id);
  bool AskAnew(const InboxInput& input, const Instance& instance, const approval::Request& request, const approval::Decision& decision);
  void TimeOut(const InboxInput& input, const Instance& instance, const approval::Request& request);
  void DecideApproval(const InboxInput& input);
  void RefuseDecision(const InboxInput& input, const approval::Decision& decision, const std::optional<approval::Request>& request,
                      const std::string& code, const std::string& why);
  // Why the run fails when the step has failed.
  struct Failure {
    std::string reason, error;
  };
  Failure WhyFailed(const std::string& step_id);
  // Of what this decision changed: rows for whoever lists approvals, and whether the run is shown PAUSED.
  void ShowApprovals();

  // -- WAIT steps (decide_wait.cc)
  // Those among `steps` that an older program left among the ready ones.
  void BeginWaits(const std::vector<int>& steps);
  void BeginWait(const Instance& instance);
  void WaitTimer(const InboxInput& input, const std::string& step_id, std::optional<WallTime> fire_at);

  // -- dispatches (decide_dispatches.cc)
  void Dispatch(const Instance& instance, const StartingInput& input, Json facts, Json carried);
  void DispatchEnded(const InboxInput& input);
  void DispatchLost(const Instance& instance, const StepRecord& record, const DispatchResult& ended);
  void DispatchTimer(const std::string& step_id);
  void WantBack(const std::string& step_id);  // its dispatch: ended at once if nobody took it, else its worker is asked to stop

  // -- what completed (decide_completion.cc)
  void Completed(const Instance& instance, const StepRecord& record, int attempt, StepResult result);
  void CompensationCompleted(const Instance& instance, int attempt, const Json& outputs, const std::vector<FileChange>& files);
  Json UndoRecord(const Instance& instance, const Json& outputs, const std::vector<FileChange>& files, std::vector<std::string>& warnings);
  // One line of compensation_log.
  void LogCompensation(const Instance& instance, const std::string& capability, const char* status, const std::string& error);
  // True while the run stops and nothing hangs on what the attempt did: it may end CANCELLED without an answer.
  bool Indifferent(const Instance& instance);

  // -- the run (decide_run.cc)
  // After any event that may end a phase: completes, fails, undoes files, closes.
  void ConcludeRun();
  void Fail(const std::string& reason, const std::string& error, const std::string& failed_step, bool rollback,
            Json extra = Json::object());
  void CompleteRun(const Json* outputs);  // of the last step in plan order
  void CloseFailed(const RunRecord& run, const Progress& progress);
  void TellItsTask();
  bool UndoWithoutCall(const Progress& progress);
  // While a person, a WAIT step's time or a child is waited for the run's own time does not count (a child has a limit of its own, and its
  // people are waited for too): adds what changes to the facts and sets or clears the timer. StartClock: `ended` of the UNCERTAIN and
  // WAITING steps and of the children end with the event at hand; the clock goes when none is left.
  void StopClock(Json& facts);
  void StartClock(Json& facts, int ended);
  // What was waited for was left out with a branch that failed. True: an event says that the clock goes again.
  bool GoOnWithClock(const RunRecord& run, const Progress& progress);

  // -- the inbox (decide_inbox.cc)
  void Cancel(const InboxInput& input);
  void Pause(const InboxInput& input);
  void Resume(const InboxInput& input);
  void Resolve(const InboxInput& input);
  void Timer(const InboxInput& input);
  void Refuse(const InboxInput& input, const std::string& reason);
  Json InboxFacts(const InboxInput& input);

  const DefinitionCache& definitions_;
  const CompiledDefinition& definition_;
  const Document& first_;  // as it was given
  Document state_;
  std::size_t folded_ = 0;
  bool broken_ = false;           // an event could not be folded: the kernel will refuse it, and what is decided goes with it
  std::optional<RunRecord> run_;  // of state_, once it was asked for
  const WallTime now_;
  Json note_;      // of the start being decided on (call.h)
  Json dispatch_;  // of the dispatch result being decided on: facts for the first event that comes of it
  Decision decision_;
};

// An id like any other (UUIDv7: the time, then chance), in which the chance is a hash: deciding again gives the same. `what`: a step's id,
// or what no step's id can be.
SubjectId MadeIdOf(std::string_view run_id, std::string_view what, WallTime now);

inline constexpr std::size_t kMaxOutputsInEvent = 64 * 1024;  // of the run, as it completes
inline constexpr std::string_view kDeadlineTimer = "deadline";
inline constexpr std::string_view kDispatchTimerPrefix = "dispatch:";
inline constexpr std::string_view kWaitTimerPrefix = "wait:";
inline constexpr std::string_view kSignalTimerPrefix = "signal:";
inline constexpr std::string_view kGoOnTimer = "go-on";
inline constexpr std::size_t kMostEventsAtOnce = 1'000;  // of one decision that tends to steps; the rest follows by a timer that is due
inline constexpr std::size_t kMostChildOutputs = 1024 * 1024;  // bytes that a child gives its parent
inline constexpr std::string_view kApprovalTimerPrefix = "approval:";
inline constexpr std::size_t kMostSignals = 1'000;  // of a run, that no step has taken
inline std::string RetryTimer(const std::string& step_id) { return "retry:" + step_id; }

}  // namespace acl::workflow
