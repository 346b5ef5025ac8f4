// What a claim brought: taken on, released, or put into quarantine.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "shared/base/memory.h"
#include "shared/kernel/item_builder.h"
#include "worker/worker_core.h"

namespace acl {

namespace {
// A cancel is decided on the state.
constexpr const char* kCancelWaits = "; its cancel waits for it";
}  // namespace

void WorkerCore::OnClaimed(SteadyTime now, const WorkerSessionId& session, Result<ClaimReport> answer) {
  if (session != session_) return;  // of a session that is dead by now: the reaper frees what it granted
  claim_in_flight_ = false;
  const bool notified = std::exchange(notified_in_flight_, false);
  if (!answer) {
    ++counts_.claim_failures;
    if (answer.code() == Code::kLeaseLost) {
      LoseSession(now, answer.message());
      return;
    }
    // What it granted all the same is found as soon as it is old enough to be sure of.
    if (answer.code() == Code::kOutcomeUnknown && reconcile_at_) reconcile_at_ = std::min(*reconcile_at_, now + config_.session.ttl);
    observer_.OnUnavailable(call::kClaim, answer.error());
    claim_size_ = config_.claim_batch;
    pace_.Failed(now, random_);
    return;
  }
  observer_.OnReached(call::kClaim);
  if (answer->dropped > 0 || answer->quarantined > 0) {
    counts_.claims_dropped += answer->dropped;
    counts_.claims_quarantined += answer->quarantined;
    observer_.OnClaimMissed(answer->dropped, answer->quarantined);
  } else if (answer->loaded.empty() && answer->unread.empty() && answer->dispatches.empty()) {
    all_claimed_ = true;
    claim_size_ = config_.claim_batch;
    // What it was notified of may have come after this claim had looked.
    if (notified) {
      pace_.Hint(now);
    } else {
      pace_.Empty(now, random_);
    }
    return;
  }
  const int found = int(answer->loaded.size() + answer->unread.size() + answer->dispatches.size());
  all_claimed_ = found + answer->dropped + answer->quarantined < claim_asked_;
  if (!all_claimed_) {
    if (claim_asked_ >= claim_size_) claim_size_ = std::min(claim_size_ * 2, std::max(config_.largest_claim, config_.claim_batch));
    pace_.Found(now);
  } else {
    claim_size_ = config_.claim_batch;
    constexpr milliseconds kLongestThrottle{20};
    if (!subjects_.empty()) pace_.Throttle(now + std::min<SteadyTime::duration>(now - answer->sent, kLongestThrottle));
    notified ? pace_.Hint(now) : pace_.FoundAll(now, random_);
  }
  for (LoadedSubject& loaded : answer->loaded) AdoptGrant(loaded);
  for (const Claimed& claimed : answer->unread) unrestored_[claimed.subject] = {claimed.token};
  if (!answer->unread.empty()) unread_.push_back(std::move(answer->unread));
  // A grant older than this is released by reconciliation, or its session is dead: nothing may begin under it.
  const SteadyTime start_until = answer->sent + config_.session.ttl - config_.trust_margin;
  for (ClaimedDispatch& dispatch : answer->dispatches) dispatches_.Take(now, std::move(dispatch), start_until);
  if (state_ != State::kLive) dispatches_.ReleaseWaiting("its worker takes nothing new");
}

void WorkerCore::AdoptGrant(LoadedSubject& loaded) {
  Claimed& claimed = loaded.claimed;
  const SubjectId subject = claimed.subject;
  const Token token = claimed.token;
  ++counts_.claimed;
  if (claimed.takeovers_without_progress > 0) ++counts_.takeovers;
  const SubjectKind* kind = kinds_.Find(claimed.kind);
  if (!kind) {
    ReleaseGrant(claimed, "no such kind of subject here");
    return;
  }
  if (loaded.required_version) {  // a newer program holds it next: nothing is wrong with it, and this worker does not claim it again
    ReleaseGrant(claimed,
                 fmt::format("it needs a worker that knows event schema {}, this one knows {}: a newer program wrote it",
                             *loaded.required_version, EventSchemaVersion()),
                 ReleaseFor(claimed, session_, *loaded.required_version));
    return;
  }
  Status sound;
  if (!loaded.restored) {
    sound = loaded.restored.error();
  } else if (loaded.restored->head_seq != claimed.head.seq || loaded.restored->chain != claimed.head.chain ||
             loaded.restored->state.Root() != claimed.head.state_root) {
    sound = Error{Code::kCorrupt, fmt::format("the journal ends at event {} with state {}, the head row says event {} with state {}",
                                              loaded.restored->head_seq, ToHex(loaded.restored->state.Root()), claimed.head.seq,
                                              ToHex(claimed.head.state_root))};
  }
  if (!sound && claimed.sticky) {  // a hint that was wrong: the journal decides, by the next claim
    ReleaseGrant(claimed, "its state in memory is not what the head row says: " + sound.message());
    return;
  }
  if (!sound) {
    if (SaysOutOfMemory(sound.message())) {
      const bool cancel = std::any_of(claimed.inbox.begin(), claimed.inbox.end(), [](const InboxRow& row) { return row.kind == "cancel"; });
      const int failures = CountStarved(subject);
      if (cancel && failures >= kMemoryTriesOfACancel) return QuarantineStarved(subject, token, sound.message() + kCancelWaits);
      ReleaseGrant(claimed, "it does not fit into memory: " + sound.message(),
                   ReleaseForMemory(ReleaseOf(claimed, session_), claimed.db_now, failures));
      return;
    }
    if (sound.code() != Code::kCorrupt) {
      ReleaseGrant(claimed, "its contents cannot be read now: " + sound.message(), ReleaseUntilLater(claimed, session_));
      return;
    }
    ++counts_.quarantined;
    observer_.OnQuarantine(subject, token, "restore failed", sound.message());
    commands_.push_back(command::Quarantine{subject, session_, token, "restore failed", sound.message()});
    return;
  }
  if (claimed.sticky) {
    ++counts_.claimed_sticky;
  } else {
    counts_.events_replayed += loaded.restored->replayed;
  }
  observer_.OnClaim(claimed, *loaded.restored, *kind);
  if (subjects_.contains(subject)) Forget(subject, true);  // granted again: the old holding is void
  const bool inbox_left = claimed.inbox_left;
  LeasedSubject& run = subjects_.Take(
      subject, std::make_unique<LeasedSubject>(std::move(claimed), std::move(*loaded.restored), *kind, session_, config_.subject));
  if (inbox_left) {
    run.WantInbox();
    WantInbox(run);
  }
  QuarantineIfDamaged(run);
}

void WorkerCore::ReleaseGrant(const Claimed& claimed, const std::string& why, std::optional<CommitItem> release) {
  ++counts_.released;
  observer_.OnReleased(claimed.subject, claimed.token, why);
  commands_.push_back(command::ReleaseLease{claimed.subject, session_, claimed.token, std::move(release)});
}

void WorkerCore::Forget(const SubjectId& subject, bool stop_steps) {
  for (auto it = running_.lower_bound({subject, ""}); it != running_.end() && it->first.first == subject;) {
    if (stop_steps) it->second.stop.Stop();
    it = running_.erase(it);
  }
  inbox_in_flight_.erase(subject);
  offloading_.erase(subject);
  subjects_.Erase(subject);
}

void WorkerCore::LeaseLost(const SubjectId& subject, const char* why) {
  const LeasedSubject* run = subjects_.Find(subject);
  if (!run) return;
  ++counts_.subjects_lost;
  observer_.OnLost(subject, run->token(), why);
  Forget(subject, true);
}

// What was decided is gone with it; whoever holds it next, when others have given memory back, decides again from the journal.
void WorkerCore::GiveUp(const SubjectId& subject, WallTime now) {
  const LeasedSubject* run = subjects_.Find(subject);
  if (!run) return;
  const int failures = CountStarved(subject);
  const std::string why =
      fmt::format("there is not enough memory to decide on it: its state is {} MiB as it is stored", run->state().stored_bytes() >> 20);
  if (run->cancel_asked() && failures >= kMemoryTriesOfACancel) {
    QuarantineStarved(subject, run->token(), why + kCancelWaits);
  } else {
    ++counts_.released;
    observer_.OnReleased(subject, run->token(), why);
    commands_.push_back(command::ReleaseLease{subject, session_, run->token(), run->ReleaseForMemory(now, failures)});
  }
  Forget(subject, true);
}

int WorkerCore::CountStarved(const SubjectId& subject) {
  constexpr std::size_t kMostKept = 4096;
  if (starved_.size() >= kMostKept && !starved_.contains(subject)) starved_.erase(starved_.begin());
  return ++starved_[subject];
}

// What it waits for is a person's to give, and nobody would hear of it otherwise.
void WorkerCore::QuarantineStarved(const SubjectId& subject, Token token, const std::string& why) {
  ++counts_.quarantined;
  const std::string detail = why +
                             ". Give the worker's process more memory (the container's limit, MemoryMax= of its unit, ulimit -v) or start "
                             "a larger worker, then: airun workflow quarantine release";
  observer_.OnQuarantine(subject, token, "not enough memory", detail);
  commands_.push_back(command::Quarantine{subject, session_, token, "not enough memory", detail});
}

void WorkerCore::QuarantineIfDamaged(const LeasedSubject& run) {
  if (run.damaged().empty()) return;
  QuarantineSubject(SubjectId(run.subject()), "content damaged", std::string(run.damaged()));  // copies: both go with the run
}

void WorkerCore::QuarantineSubject(const SubjectId& subject, const std::string& reason, const std::string& detail) {
  const LeasedSubject* run = subjects_.Find(subject);
  if (!run) return;
  ++counts_.quarantined;
  observer_.OnQuarantine(subject, run->token(), reason, detail);
  commands_.push_back(command::Quarantine{subject, session_, run->token(), reason, detail});
  Forget(subject, true);
}

}  // namespace acl
