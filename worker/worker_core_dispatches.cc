// The worker's claims, and its dispatches (dispatch_runs.h) between them and the slots.

#include <algorithm>

#include "worker/worker_core.h"

namespace acl {

void WorkerCore::Claim(SteadyTime now) {
  claim_in_flight_ = true;
  claim_sent_ = now;
  ClaimRequest request;
  request.session = session_;
  request.queues = config_.session.queues;
  request.max_dispatches = DispatchRoom();
  request.max = RunRoom() > 0 ? RunRoom() : request.max_dispatches;
  request.kinds = RunRoom() > 0 ? kinds_.Names() : std::vector<std::string>{std::string(kDispatchReadyKind)};
  claim_asked_ = request.max;
  request.released_token = [sticky = sticky_](const SubjectId& subject) { return sticky->ReleasedToken(subject); };
  const bool room_for_more = FreeRuns() > request.max;
  request.contents_later = room_for_more && claim_size_ > config_.claim_batch;  // the last one found all that it asked for
  commands_.push_back(command::Claim{std::move(request), sticky_, room_for_more});
}

void WorkerCore::BeginDispatches(SteadyTime now) {
  if (shortage_until_) dispatches_.ReleaseWaiting("its worker is short of something");
  const int slots = config_.step_slots - int(running_.size()) - lost_slots();
  for (DispatchRuns::Start& start : dispatches_.Begin(now, trust_.DatabaseTime(now), trust_.Holds(now), slots - dispatches_.running())) {
    ++counts_.steps_started;
    commands_.push_back(command::RunStep{std::move(start.call), start.stop});
  }
}

void WorkerCore::OnDispatchesHeld(SteadyTime now, const WorkerSessionId& session, const Result<std::vector<HeldDispatch>>& held) {
  if (session == session_ && held && !ClaimMayHave(now)) dispatches_.OnHeld(now, *held);
}

void WorkerCore::OnDispatchDelivered(SteadyTime now, const DispatchId& dispatch, Token token, const Result<PostAnswer>& answer) {
  const SubjectId dispatch_subject = dispatches_.OnDelivered(now, dispatch, token, answer);
  // Its run may be ours, or for us to take.
  if (answer && answer->holder == session_) OnSubjectHint(now, dispatch_subject);
  const auto& queues = config_.session.queues;
  if (answer && !answer->holder && std::find(queues.begin(), queues.end(), answer->queue) != queues.end()) pace_.Hint(now);
}

void WorkerCore::OnDispatchesReaped(SteadyTime now, const SubjectId& subject, const Result<ReapedDispatches>& answer) {
  if (!answer || answer->withdrawn == 0) return;  // else the reaper does it
  OnSubjectHint(now, subject);
  pace_.Hint(now);
}

}  // namespace acl
