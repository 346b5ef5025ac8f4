// The usual turn of a subject, said at once (shared/kernel/stride.h).

#include <tuple>

#include "worker/subject_run.h"

namespace acl {

// Nothing else is to be heard, nothing else runs, and a step that follows may begin.
bool SubjectRun::MayStride(const BuildContext& context) const {
  if (inputs_.size() != 1) return false;
  if (!context.start_allowed || context.draining || context.give_back || context.free_slots < 1) return false;
  if (GivesWay(context)) return false;
  if (std::holds_alternative<ResumedInput>(inputs_.front())) return running_.empty() && attempt_counts_.empty();
  const auto* finished = std::get_if<StepFinishedInput>(&inputs_.front());
  if (!finished || running_.size() != 1 || attempt_counts_.size() != 1) return false;
  return IsRunning(finished->step_id, finished->attempt_id) && running_.begin()->second.row_written &&
         attempt_counts_.begin()->first == finished->step_id;
}

bool SubjectRun::TakeStride(Work& work, const BuildContext& context, Next& next) {
  if (work.made.item.begins_journal || !MayStride(context)) return false;
  Input& input = inputs_.front();
  CommitItem& item = work.made.item;
  const WallTime at = std::max(context.now, item.last_timestamp);
#ifndef NDEBUG
  SubjectRun at_length(*this);  // says in many words what a stride says
  Work worded = work;
#endif
  Stride stride;
  if (!kind_.TakeStride(state_, input, at, limits_.go_on, footing_, stride)) return false;
  work.made.state = std::move(stride.next_state);
  if (const auto* finished = std::get_if<StepFinishedInput>(&input)) {
    work.finished.insert(finished->step_id);
    step_ended_ = true;
  }
  for (Event& event : stride.events) work.made.Seal(std::move(event), at);
  if (stride.completion) {
    stride.completion->event_seq = item.base_seq + 1;
    stride.completion->completed_at = at;
    item.completions.push_back(std::move(*stride.completion));
  }
  if (stride.start) {
    item.attempts.push_back({stride.start->step_id, 1, token_, at});
    work.start_attempts[stride.start->step_id] = 1;
    work.starts.push_back(std::move(*stride.start));
  }
  if (stride.timer_set) work.made.SetTimer(std::move(*stride.timer_set));
  if (stride.timer_cleared) work.made.ClearTimer(std::move(*stride.timer_cleared));
  item.listing = std::move(stride.listing);
  next.closed = stride.closed;
  if (!stride.start) {  // it gives the lease back, and may have to be decided again
    work.inputs.push_back(std::move(input));
    footing_.reset();
  }
  inputs_.pop_front();
#ifndef NDEBUG
  Next after;
  ACL_CHECK(at_length.Follow(worded, context, after).ok() && worded.made.open(), "a stride where nothing follows");
  worded.made.Finish(context.now);
  ACL_CHECK(next.closed == after.closed && !after.waiting, "where a stride ends");
  ACL_CHECK(!work.starts.empty() || work.inputs.size() == worded.inputs.size(), "what giving back was decided on");
  MustSayTheSame(work, worded);
#endif
  return true;
}

void SubjectRun::MustSayTheSame(const Work& stride, const Work& at_length) {
  const auto& [one, other] = std::tie(stride.made.item, at_length.made.item);
  ACL_CHECK(one.events == other.events && one.chain == other.chain, "a stride's event");
  ACL_CHECK(one.last_timestamp == other.last_timestamp && stride.made.delta_bytes() == at_length.made.delta_bytes(), "a stride's measures");
  ACL_CHECK(one.attempts == other.attempts && one.completions == other.completions, "a stride's rows");
  ACL_CHECK(stride.starts == at_length.starts && stride.start_attempts == at_length.start_attempts, "what a stride begins");
  ACL_CHECK(stride.finished == at_length.finished && stride.cancels == at_length.cancels, "what a stride ends");
  ACL_CHECK(stride.made.timer_changes() == at_length.made.timer_changes() && stride.dispatched == at_length.dispatched,
            "a stride's timers and tasks");
  ACL_CHECK(one.timers_set == other.timers_set && one.timers_cleared == other.timers_cleared, "a stride's timers");
  ACL_CHECK(one.listing == other.listing, "what a stride lists");
  ACL_CHECK(stride.made.state.Root() == at_length.made.state.Root(), "the state after a stride");
  ACL_CHECK(stride.made.state.stored_bytes() == at_length.made.state.stored_bytes(), "the bytes of a stride's state");
  CommitItem rest = other;  // a stride never has them
  rest.events.clear(), rest.attempts.clear(), rest.completions.clear(), rest.timers_set.clear(), rest.timers_cleared.clear();
  rest.listing.reset();
  ACL_CHECK(IsEmpty(rest) && rest.contents.empty(), "what a stride leaves out");
}

}  // namespace acl
