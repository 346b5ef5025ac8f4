// The worker's claims, and its tasks (task_runs.h) between them and the slots.

#include <algorithm>

#include "worker/worker_core.h"

namespace acl {

void WorkerCore::Claim(SteadyTime now) {
  claim_in_flight_ = true;
  claim_sent_ = now;
  ClaimRequest request;
  request.session = session_;
  request.queues = config_.session.queues;
  request.max_tasks = TaskRoom();
  request.max = RunRoom() > 0 ? RunRoom() : request.max_tasks;
  request.kinds = RunRoom() > 0 ? kinds_.Names() : std::vector<std::string>{std::string(kTaskReadyKind)};
  claim_asked_ = request.max;
  request.given_back = [sticky = sticky_](const SubjectId& subject) { return sticky->GivenBack(subject); };
  const bool room_for_more = FreeRuns() > request.max;
  request.contents_later = room_for_more && claim_size_ > config_.claim_batch;  // the last one found all that it asked for
  commands_.push_back(command::Claim{std::move(request), sticky_, room_for_more});
}

void WorkerCore::BeginTasks(SteadyTime now) {
  if (shortage_until_) tasks_.GiveBackWaiting("its worker is short of something");
  const int slots = config_.step_slots - int(running_.size()) - lost_slots();
  for (TaskRuns::Start& start : tasks_.Begin(now, trust_.DatabaseTime(now), trust_.Holds(now), slots - tasks_.running())) {
    ++counts_.steps_started;
    commands_.push_back(command::RunStep{std::move(start.call), start.stop});
  }
}

void WorkerCore::OnTasksHeld(SteadyTime now, const SessionId& session, const Result<std::vector<HeldTask>>& held) {
  if (session == session_ && held && !ClaimMayHave(now)) tasks_.OnHeld(now, *held);
}

void WorkerCore::OnTaskDelivered(SteadyTime now, const TaskId& task, Token token, const Result<PostAnswer>& answer) {
  const SubjectId task_subject = tasks_.OnDelivered(now, task, token, answer);
  // Its run may be ours, or for us to take.
  if (answer && answer->holder == session_) OnSubjectHint(now, task_subject);
  const auto& queues = config_.session.queues;
  if (answer && !answer->holder && std::find(queues.begin(), queues.end(), answer->queue) != queues.end()) pace_.Hint(now);
}

void WorkerCore::OnTasksSettled(SteadyTime now, const SubjectId& subject, const Result<SettleAnswer>& answer) {
  if (!answer || answer->withdrawn == 0) return;  // else the reaper does it
  OnSubjectHint(now, subject);
  pace_.Hint(now);
}

}  // namespace acl
