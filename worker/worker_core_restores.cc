// Leases first: while claims find all that they ask for, the next one goes before what they were granted is restored. After a takeover much
// is waiting, and until it has a holder again nobody knows that it will go on. What waits is bounded by the room for runs.

#include <utility>

#include "shared/base/memory.h"
#include "worker/worker_core.h"

namespace acl {

// A claim's at a time, and none while the next claim is out.
void WorkerCore::RestoreNext(SteadyTime now) {
  if (unread_.empty() || restore_in_flight_ || losing_ || (claim_in_flight_ && !all_claimed_)) return;
  if (restore_retry_at_ && *restore_retry_at_ > now) return;
  restore_in_flight_ = true;
  commands_.push_back(command::Restore{session_, std::make_shared<std::vector<Claimed>>(std::move(unread_.front())), sticky_});
  unread_.pop_front();
}

void WorkerCore::OnRestored(const WorkerSessionId& session, std::vector<LoadedSubject> loaded) {
  if (session != session_) return;
  observer_.OnReached(call::kReadClaimed);
  restore_in_flight_ = false;
  restore_retry_at_.reset();
  restore_failures_ = 0;
  for (LoadedSubject& subject : loaded) {
    if (const auto waited = unrestored_.extract(subject.claimed.subject); waited && waited.mapped().hinted)
      subject.claimed.inbox_left = true;
    if (!losing_) AdoptGrant(subject);
  }
}

void WorkerCore::OnNotRestored(SteadyTime now, const command::Restore& restore, const Status& why) {
  if (restore.session != session_) return;
  restore_in_flight_ = false;
  restore_retry_at_ = Backoff(now, restore_failures_);
  observer_.OnUnavailable(call::kReadClaimed, why.error());
  if (SaysOutOfMemory(why.message())) {
    ReadOneByOne(std::move(*restore.granted), why.message());
  } else {
    unread_.push_front(std::move(*restore.granted));
  }
}

// What does not fit at once may fit alone. A run that does not fit even so holds up no other one, and in the end nobody.
void WorkerCore::ReadOneByOne(std::vector<Claimed> granted, const std::string& why) {
  for (Claimed& claimed : granted) {
    const bool alone = granted.size() == 1;
    if (alone && CountStarved(claimed.subject) >= kMemoryTriesAlone) {
      unrestored_.erase(claimed.subject);
      QuarantineStarved(claimed.subject, claimed.token, why);
    } else {
      unread_.emplace_back().push_back(std::move(claimed));
    }
  }
}

void WorkerCore::ForgetUnrestored() {
  unread_.clear();
  unrestored_.clear();
  restore_in_flight_ = false;
  restore_retry_at_.reset();
}

}  // namespace acl
