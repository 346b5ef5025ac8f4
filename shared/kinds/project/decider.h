#pragma once
// One command being decided: what decide.h says, command by command. Not for others.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shared/kinds/project/arguments.h"
#include "shared/kinds/project/decide.h"
#include "shared/kinds/project/evolve.h"
#include "shared/kinds/project/readiness.h"

namespace acl::project {

class Decider {
 public:
  Decider(const Document& state, const Command& command, WallTime now, Agenda* agenda)
      : state_(state), source_(state), command_(command), now_(now), agenda_(agenda), arguments_(command.arguments) {}

  Decided Run();

 private:
  using Handler = void (Decider::*)();
  static const std::map<std::string_view, Handler> kHandlers;

  // ---- projects and goals
  void CreateProject();
  void CreateGoal();
  void EditGoal();
  void PauseGoal();
  void ResumeGoal();
  void FinishGoal();
  void MoveGoal(GoalStatus to);
  void WithdrawGoal();

  // ---- tasks
  void AddTask();
  void EditTask();
  void StartTask();
  void TakeNext();
  void WatchIfAsked();
  void WakeWatchers();
  void Begin(const Task& task, const Json& claim, const std::string& resolved);
  void NotReady(const Task& task, const std::vector<Reason>& against);
  void RenewClaim();
  void PauseTask();
  void BlockTask();
  void ResolveBlocker();
  void UnblockTask();
  void CompleteTask();
  // What the task asks for is there, and is not older than the work.
  void CheckShown(const Task& task, const Json& evidence) const;
  void CheckRun(const Task& task, const Json& evidence) const;
  void ReopenTask();
  void WithdrawTask();
  void UpdateCheckpoint();
  void ExpireClaim();
  void LinkRun();
  void EndRun();

  // ---- what several need
  static Json WithReason(Json facts, const std::string& reason);
  static void PutIfAny(Json& facts, const char* key, const std::vector<std::string>& texts);
  void Say(std::string_view type, Json facts);
  void NothingElse() const;
  int Priority(int otherwise);
  Goal TheGoal();
  Task TheTask();
  // Refuses who is not the holder; who gives a token must give the claim's.
  void Holder(const Task& task);
  void NotAnothers(const Task& task) const;
  void Transition(const Task& task, TaskStatus to) const;
  static Json Names(const std::vector<TaskStatus>& all);
  Json NewClaim(const Task& task);
  void TakeLists(Json& facts, const std::string& id);
  std::vector<std::string> Dependencies(const std::string& id);

  const Document& state_;
  const StateWork source_;
  const Command& command_;
  const WallTime now_;
  Agenda* const agenda_;
  Arguments arguments_;
  Project project_;
  Decided decided_;
};

}  // namespace acl::project
