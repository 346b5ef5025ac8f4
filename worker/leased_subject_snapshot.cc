// Snapshots of a leased subject: when one is due, what it is of, and what is known of the last.

#include "worker/leased_subject.h"

namespace acl {

void LeasedSubject::OnSnapshot(Snapshot snapshot) {
  snapshot_running_ = rolling_ = false;
  snapshot_ready_ = std::move(snapshot);
  idle_ = false;  // it may be all that a release waits for
}

// One is being made, or will be once these events are committed: TakeSnapshotJob measures what the state is by then.
bool LeasedSubject::SnapshotComes(const Work& work, std::int64_t events) const {
  if (snapshot_ready_ || snapshot_failed_) return false;
  return snapshot_running_ || JournalEnds(events) ||
         SnapshotDue(events_since_snapshot_ + events, delta_bytes_since_snapshot_ + work.made.delta_bytes(),
                     work.made.state.stored_bytes());
}

// If no snapshot can be stored, the journal goes on: it ends another time.
bool LeasedSubject::JournalEnds(std::int64_t events) const {
  return RollDue(head_seq_ + events, journal_first_, limits_.segment_events) && !snapshot_failed_;
}

bool LeasedSubject::RollsNow() const { return JournalEnds(0) && snapshot_ready_ && snapshot_ready_->last_event_seq == head_seq_; }

void LeasedSubject::KeepStored(Snapshot snapshot) {
  stored_snapshot_ = std::move(snapshot);
  stored_snapshot_.inline_state.reset();
}

std::optional<StickyCache::State> LeasedSubject::KeepState() const {
  if (!attempt_counts_.empty() || !running_.empty()) return std::nullopt;
  StickyCache::State state{token_, {state_, head_seq_, chain_, events_since_snapshot_, delta_bytes_since_snapshot_}, std::nullopt};
  // A commit of nothing but the snapshot may be lost in a failover, and the head not tell: then its chunks are sent once more.
  if (stored_snapshot_.last_event_seq > 0 && snapshot_shows_) state.snapshot = stored_snapshot_;
  return state;
}

std::optional<LeasedSubject::SnapshotJob> LeasedSubject::TakeSnapshotJob(WallTime now) {
  if (snapshot_running_ || snapshot_ready_ || in_flight_) return std::nullopt;
  rolling_ = JournalEnds(0) && stored_snapshot_.last_event_seq < head_seq_;  // one of this head is there already: the next will do
  if (!rolling_ && !SnapshotDue(events_since_snapshot_, delta_bytes_since_snapshot_, state_.stored_bytes())) return std::nullopt;
  snapshot_running_ = true;
  return SnapshotJob{state_, head_seq_, chain_, stored_snapshot_, now};
}

CommitItem LeasedSubject::ReleaseForMemory(WallTime now, int failures) const {
  CommitItem item = BeginItem(Base(), state_.Root());
  item.disposition = Disposition::kRelease;
  item.expected_wake = read_wake_;
  item.requeue = true;
  return acl::ReleaseForMemory(std::move(item), now, failures);
}

}  // namespace acl
