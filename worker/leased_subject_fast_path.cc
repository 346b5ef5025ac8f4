// The usual turn of a subject, said at once (shared/kernel/fast_path.h).

#include <tuple>

#include "worker/leased_subject.h"

namespace acl {

// Nothing else is to be heard, nothing else runs, and a step that follows may begin.
bool LeasedSubject::MayTakeFastPath(const BuildContext& context) const {
  if (inputs_.size() != 1) return false;
  if (!context.start_allowed || context.draining || context.release_now || context.free_slots < 1) return false;
  if (GivesWay(context)) return false;
  if (std::holds_alternative<ResumedInput>(inputs_.front())) return running_.empty() && attempt_counts_.empty();
  const auto* finished = std::get_if<StepFinishedInput>(&inputs_.front());
  if (!finished || running_.size() != 1 || attempt_counts_.size() != 1) return false;
  return IsRunning(finished->step_id, finished->attempt_id) && running_.begin()->second.row_written &&
         attempt_counts_.begin()->first == finished->step_id;
}

bool LeasedSubject::TryFastPath(Work& work, const BuildContext& context, Next& next) {
  if (work.made.item.begins_journal || !MayTakeFastPath(context)) return false;
  Input& input = inputs_.front();
  CommitItem& item = work.made.item;
  const WallTime at = std::max(context.now, item.last_timestamp);
#ifndef NDEBUG
  LeasedSubject at_length(*this);  // says in many words what a fast path says
  Work worded = work;
#endif
  FastPathResult fast_path;
  if (!kind_.TryFastPath(state_, input, at, limits_.go_on, cursor_, fast_path)) return false;
  work.made.state = std::move(fast_path.next_state);
  if (const auto* finished = std::get_if<StepFinishedInput>(&input)) {
    work.finished.insert(finished->step_id);
    step_ended_ = true;
  }
  for (Event& event : fast_path.events) work.made.Seal(std::move(event), at);
  if (fast_path.completion) {
    fast_path.completion->event_seq = item.base_seq + 1;
    fast_path.completion->completed_at = at;
    item.completions.push_back(std::move(*fast_path.completion));
  }
  if (fast_path.start) {
    item.attempts.push_back({fast_path.start->step_id, 1, token_, at});
    work.start_attempts[fast_path.start->step_id] = 1;
    work.starts.push_back(std::move(*fast_path.start));
  }
  if (fast_path.timer_set) work.made.SetTimer(std::move(*fast_path.timer_set));
  if (fast_path.timer_cleared) work.made.ClearTimer(std::move(*fast_path.timer_cleared));
  item.listing = std::move(fast_path.listing);
  next.closed = fast_path.closed;
  if (!fast_path.start) {  // it gives the lease back, and may have to be decided again
    work.inputs.push_back(std::move(input));
    cursor_.reset();
  }
  inputs_.pop_front();
#ifndef NDEBUG
  Next after;
  ACL_CHECK(at_length.Follow(worded, context, after).ok() && worded.made.open(), "a fast path where nothing follows");
  worded.made.Finish(context.now);
  ACL_CHECK(next.closed == after.closed && !after.waiting, "where a fast path ends");
  ACL_CHECK(!work.starts.empty() || work.inputs.size() == worded.inputs.size(), "what giving back was decided on");
  MustSayTheSame(work, worded);
#endif
  return true;
}

void LeasedSubject::MustSayTheSame(const Work& fast_path, const Work& at_length) {
  const auto& [one, other] = std::tie(fast_path.made.item, at_length.made.item);
  ACL_CHECK(one.events == other.events && one.chain == other.chain, "a fast path's event");
  ACL_CHECK(one.last_timestamp == other.last_timestamp && fast_path.made.delta_bytes() == at_length.made.delta_bytes(),
            "a fast path's measures");
  ACL_CHECK(one.attempts == other.attempts && one.completions == other.completions, "a fast path's rows");
  ACL_CHECK(fast_path.starts == at_length.starts && fast_path.start_attempts == at_length.start_attempts, "what a fast path begins");
  ACL_CHECK(fast_path.finished == at_length.finished && fast_path.cancels == at_length.cancels, "what a fast path ends");
  ACL_CHECK(fast_path.made.timer_changes() == at_length.made.timer_changes() && fast_path.dispatched == at_length.dispatched,
            "a fast path's timers and dispatches");
  ACL_CHECK(one.timers_set == other.timers_set && one.timers_cleared == other.timers_cleared, "a fast path's timers");
  ACL_CHECK(one.listing == other.listing, "what a fast path lists");
  ACL_CHECK(fast_path.made.state.Root() == at_length.made.state.Root(), "the state after a fast path");
  ACL_CHECK(fast_path.made.state.stored_bytes() == at_length.made.state.stored_bytes(), "the bytes of a fast path's state");
  CommitItem rest = other;  // a fast path never has them
  rest.events.clear(), rest.attempts.clear(), rest.completions.clear(), rest.timers_set.clear(), rest.timers_cleared.clear();
  rest.listing.reset();
  ACL_CHECK(IsEmpty(rest) && rest.contents.empty(), "what a fast path leaves out");
}

}  // namespace acl
