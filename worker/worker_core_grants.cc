// Create and grant (docs/architecture.md#create-and-grant): runs that come without being asked for. A coordinator was told how many may; a
// hint says which they are, and the database whether it is so.

#include <algorithm>
#include <utility>

#include "worker/worker_core.h"

namespace acl {

// Room for what nobody has told us of yet. None while work may be waiting in the ready table: what is new would pass it by.
int WorkerCore::GrantRoom(SteadyTime now) const {
  if (state_ != State::kLive || !all_claimed_ || !trust_.Holds(now) || CannotBegin()) return 0;
  const int taken = int(subjects_.size() + unrestored_.size() + grants_heard_.size() + grants_read_.size());
  return std::clamp(config_.run_slots - taken, 0, config_.granted_unheard);
}

void WorkerCore::TellRoom(SteadyTime now) {
  const int room = GrantRoom(now);
  if (room == std::exchange(announced_room_, room)) return;
  observer_.OnRoom(session_, room);
}

void WorkerCore::OnGrantHint(SteadyTime, const WorkerSessionId& session, const std::vector<SubjectId>& subjects) {
  if (session != session_ || losing_ || (state_ != State::kLive && state_ != State::kDraining)) return;
  for (const SubjectId& subject : subjects) {
    if (!subjects_.contains(subject) && !grants_read_.contains(subject)) grants_heard_.insert(subject);
  }
}

// One at a time: what is heard of meanwhile goes together.
void WorkerCore::ReadGrants() {
  if (grants_heard_.empty() || !grants_read_.empty()) return;
  grants_read_ = std::exchange(grants_heard_, {});
  commands_.push_back(command::ReadGrants{session_, {grants_read_.begin(), grants_read_.end()}});
}

void WorkerCore::OnGrantsRead(SteadyTime now, const WorkerSessionId& session, Result<std::vector<LoadedSubject>> answer) {
  if (session != session_) return;
  grants_read_.clear();
  if (!answer) {
    // They are ours, and nobody names them again: reconciliation gives them back.
    observer_.OnUnavailable(call::kReadGranted, answer.error());
    if (reconcile_at_) reconcile_at_ = std::min(*reconcile_at_, now + config_.heard_within);
    unheard_for_ = config_.heard_within / 2;
    return;
  }
  for (LoadedSubject& loaded : *answer) {
    const LeasedSubject* held = subjects_.Find(loaded.claimed.subject);
    // The hint came twice, or this answer so late that the lease was let go and granted again.
    if (held && held->token() >= loaded.claimed.token) continue;
    if (int(subjects_.size()) >= config_.run_slots + config_.granted_unheard) {  // more than was asked for
      ReleaseGrant(loaded.claimed, "there is no room for it");
    } else {
      AdoptGrant(loaded);
    }
  }
}

}  // namespace acl
