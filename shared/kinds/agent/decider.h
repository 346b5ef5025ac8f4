#pragma once
// One input of an agent session being decided: what it means, written as events with what goes beside them. Lives for one call of Decide.
// What the document calls the core (loop, decide, rest, plan, request, process) is core.cc; here is what it stands on.

#include <optional>
#include <string>
#include <vector>

#include "shared/approval/approval.h"
#include "shared/kernel/kind.h"
#include "shared/kinds/agent/agent_file.h"
#include "shared/kinds/agent/core.h"
#include "shared/kinds/agent/extensions.h"
#include "shared/kinds/agent/guard.h"
#include "shared/kinds/agent/model.h"

namespace acl::agent {

class Decider {
 public:
  Decider(const Kit& kit, const AgentDefinition& definition, const Document& state, WallTime now);

  void On(const ResumedInput& input);       // decide_steps.cc
  void On(const StartingInput& input);      // decide_steps.cc
  void On(const StepFinishedInput& input);  // decide_steps.cc
  void On(const InboxInput& input);         // decide_inbox.cc
  Decision Take() &&;

 private:
  // -- the core (core.cc; document 003, section 2)
  void Loop();
  void Rest(std::string reason, std::optional<WallTime> wake_at);
  void BeginTurn();
  void BeginPassage(Point point);
  bool Pass();  // one point on; false: something is waited for
  bool Plan();
  void Request();
  void TakeActions();
  void Choose();
  void MayAct();
  void Process();
  void EndTurn();

  // -- events
  void Emit(std::string_view type, Json facts);
  void Put(std::string_view key, Json value);
  void Drop(std::string_view key);
  void Change(Json operations);  // JSON Patch on the state
  void TakeChanges(Json& operations);
  void TakeChangesNow();  // into the state, for whoever looks at it before the next event
  void List();            // what the listing says, if that has changed
  void Complete(const std::string& step_id, int attempt, const Json& outputs);  // with the last event
  void SetTimer(std::string_view id, WallTime at);
  void ClearTimer(std::string_view id);
  Json Facts() const;  // of an event of the turn: its number
  bool waits() const { return standing_.status == kPaused || standing_.status == kStopped; }

  // -- steps (decide_steps.cc)
  void Lost(const std::string& step_id, int attempt, const std::string& why);
  void LookFinished(const StepFinishedInput& input);
  void RequestFinished(const StepFinishedInput& input);
  void RequestFailed(const std::string& error, int attempt, bool retryable, milliseconds retry_after);
  void ActionFinished(const StepFinishedInput& input);
  void ExtensionFinished(const StepFinishedInput& input);
  void EndAction(Json outcome, const std::string& step_id, int attempt, const Json& outputs, const std::vector<FileChange>& files = {});
  void Spend(const Json& outputs);  // what a model took
  Json OutcomeOf(const char* outcome, const std::string& code, const std::string& message) const;
  bool Repeatable() const;

  // -- extensions (decide_extensions.cc)
  bool PassExtensions(Phase phase);  // true: all have been asked, and none stops what is under way
  void TakeAnswer(const Extension& extension, Phase phase, const Result<Answer>& answer, const StepFinishedInput* step);
  void Stopped(const Extension& extension, Phase phase, const std::string& code, const std::string& message);
  Json DraftOf(Phase phase) const;
  void KeepDraft(Phase phase, const Json& draft);

  // -- approvals (decide_approvals.cc)
  void AskPerson(const std::string& why);
  void Ask(approval::Request request);
  void DecideApproval(const InboxInput& input);
  void ApprovalTimer();
  void TakeBackApproval(const std::string& code, const std::string& why);
  void EndApproval(approval::Request request, std::string_view state, Json facts);
  approval::Request RequestOf(const Json& action, const std::string& why) const;
  void ShowApproval(const approval::Request& request);
  std::optional<std::string> MustAsk(const Json& action) const;  // why

  // -- the inbox (decide_inbox.cc)
  void TakeStimulus(const InboxInput& input, Stimulus stimulus);
  void Wake();
  void Pause(const InboxInput& input);
  void Resume(const InboxInput& input);
  void Stop(const InboxInput& input);
  void Resolve(const InboxInput& input);
  void TakeFiles(const InboxInput& input);
  void Timer(const InboxInput& input);
  void Refuse(const InboxInput& input, const std::string& reason);
  void FinishStop();
  void DropTurn(const std::string& why);  // ends at once, with whatever of it has no outcome yet interrupted
  Json InboxFacts(const InboxInput& input) const;

  const Kit& kit_;
  const AgentDefinition& definition_;
  Document state_;
  const WallTime now_;
  std::string session_id_;
  Standing standing_;
  Guard guard_;
  std::optional<Course> course_;
  Json standing_before_, guard_before_, course_before_;  // as the state has them
  Json operations_ = Json::array();                      // changes of the state that no event carries yet
  Decision decision_;
  std::string shown_before_, reason_before_;
  bool broken_ = false;
};

}  // namespace acl::agent
