#include "shared/kernel/item_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "shared/base/mutant.h"
#include "shared/journal/segment.h"

namespace acl {

namespace {

template <class T>
void Append(std::vector<T>& from, std::vector<T>& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

}  // namespace

ItemBase BaseOf(const Claimed& claimed, const WorkerSessionId& session) {
  return {claimed.subject, session, claimed.token, claimed.head.seq, claimed.head.chain, claimed.head.journal, claimed.head.last_timestamp};
}

CommitItem BeginItem(const ItemBase& base, const Hash256& state_root) {
  CommitItem item;
  item.subject = base.subject;
  item.session = base.session;
  item.token = base.token;
  item.base_seq = base.seq;
  item.chain = base.chain;
  item.state_root = state_root;
  item.last_timestamp = base.last_timestamp;
  return item;
}

CommitItem ReleaseOf(const Claimed& claimed, const WorkerSessionId& session) {
  CommitItem item = BeginItem(BaseOf(claimed, session), claimed.head.state_root);
  item.disposition = Disposition::kRelease;
  item.expected_wake = claimed.wake;
  item.requeue = true;
  return item;
}

CommitItem ReleaseFor(const Claimed& claimed, const WorkerSessionId& session, int version) {
  CommitItem item = ReleaseOf(claimed, session);
  item.required_version = version;
  return item;
}

CommitItem ReleaseUntilLater(const Claimed& claimed, const WorkerSessionId& session) {
  CommitItem item = ReleaseOf(claimed, session);
  item.not_before = claimed.db_now + kClaimAgainPause;
  return item;
}

milliseconds MemoryPause(int failures) {
  milliseconds pause = kClaimAgainPause;
  for (int n = 1; n < failures && pause < kMostMemoryPause; ++n) pause *= 2;
  return std::min(pause, kMostMemoryPause);
}

CommitItem ReleaseForMemory(CommitItem release, WallTime now, int failures) {
  release.not_before = now + MemoryPause(failures);
  release.waiting = Waiting{"memory", std::nullopt};
  return release;
}

ItemBuilder::ItemBuilder(const SubjectKind& kind, const ItemBase& base, Document before)
    : item(BeginItem(base, Hash256{})), state(std::move(before)), kind_(&kind), journal_(base.journal) {}

Status ItemBuilder::TakeDraft(EventDraft draft, WallTime now) {
  const bool joins = open_ && kind_->Joins(open_->type, draft.type);
  if (open_ && !joins) SealLast(now);
  auto folded = Fold(*kind_, state, std::move(draft));
  if (!folded) return folded.error();
  ++drafts_;
  if (joins) {
    open_->Join(std::move(*folded), state);
  } else {
    open_ = std::move(*folded);
    item.last_timestamp = std::max(now, item.last_timestamp);
  }
  return {};
}

void ItemBuilder::SealLast(WallTime now) {
  if (!open_) return;
  Event event;
  event.type = std::move(open_->type);
  WordPayload(*open_, state, event);
  open_->DestroyIteratively();
  open_.reset();
  Seal(std::move(event), now);
}

void ItemBuilder::Finish(WallTime now) {
  SealLast(now);
  item.state_root = state.Root();
  // A timer set again by this very item must not be cleared by it.
  std::erase_if(item.timers_cleared, [&](const std::string& id) {
    const auto change = timer_changes_.find(id);
    return change != timer_changes_.end() && change->second.has_value();
  });
}

void ItemBuilder::Roll(Snapshot closing, WallTime now) {
  ACL_CHECK(item.events.empty() && !open_, "a journal begins with the first event of an item");
  ACL_CHECK(closing.last_event_seq == item.base_seq && closing.chain == item.chain, "a journal is closed by a snapshot of its last event");
  SegmentStart stands_on{journal_, item.chain, item.base_seq, closing.state_root};
  if (Mutant("journal_on_another_chain")) stands_on.chain = ChainStart(item.subject);
  if (Mutant("journal_on_another_root")) stands_on.state_root = Hash256{};
  Event start = MakeSegmentEvent(stands_on);
  journal_ = JournalIdAt(item.subject, item.base_seq + 1);
  item.begins_journal = journal_;
  item.snapshot = std::move(closing);
  Seal(std::move(start), now);
}

void ItemBuilder::Seal(Event event, WallTime now) {
  event.subject = item.subject;
  event.seq = item.base_seq + std::int64_t(item.events.size()) + 1;
  event.journal = journal_;
  event.token = item.token;
  event.timestamp = std::max(now, item.last_timestamp);
  event.chain = ChainNext(item.chain, event);
  item.chain = event.chain;
  item.last_timestamp = event.timestamp;
  delta_bytes_ += event.payload->size();
  item.events.push_back(std::move(event));
}

Result<ItemBuilder::Stops> ItemBuilder::Decide(const Input& input, WallTime now) {
  return Take(kind_->Decide(state, input, std::max(now, item.last_timestamp)), now);
}

Result<ItemBuilder::Stops> ItemBuilder::Take(Decision decision, WallTime now) {
  std::vector<std::int64_t> landed;  // by draft: the event it stands in
  for (EventDraft& draft : decision.events) {
    if (Status taken = TakeDraft(std::move(draft), now); !taken) return taken.error();
    landed.push_back(LastSeq());
  }
  Append(decision.attempts, item.attempts);
  for (CompletionRow& row : decision.completions) {
    if (row.event_seq < 1 || row.event_seq > std::int64_t(landed.size())) {
      return Error{Code::kInternal,
                   fmt::format("kind '{}': completion of '{}' names no event of its decision", kind_->Name(), row.step_id)};
    }
    row.event_seq = landed[std::size_t(row.event_seq - 1)];
    row.completed_at = item.last_timestamp;
    item.completions.push_back(std::move(row));
  }
  for (TimerRow& timer : decision.timers_set) SetTimer(std::move(timer));
  for (std::string& timer : decision.timers_cleared) {
    std::erase_if(item.timers_set, [&](const TimerRow& row) { return row.timer_id == timer; });
    ClearTimer(std::move(timer));
  }
  Append(decision.compensations, item.compensations);
  Append(decision.dispatches, item.dispatches);
  for (DispatchKey& key : decision.dispatches_cancelled) CancelDispatch(std::move(key));
  Append(decision.outbox, item.outbox);
  Append(decision.contents, item.contents);
  if (decision.listing) List(std::move(*decision.listing));
  return Stops{std::move(decision.cancel_steps), decision.cancel_all};
}

void ItemBuilder::SetTimer(TimerRow timer) {
  timer_changes_[timer.timer_id] = timer.fire_at;
  item.timers_set.push_back(std::move(timer));
}

void ItemBuilder::ClearTimer(std::string timer) {
  timer_changes_[timer] = std::nullopt;
  item.timers_cleared.push_back(std::move(timer));
}

// One that this very item offers is offered as unwanted.
void ItemBuilder::CancelDispatch(DispatchKey key) {
  const auto offered = std::find_if(item.dispatches.begin(), item.dispatches.end(),
                                    [&](const DispatchRow& row) { return row.step_id == key.step_id && row.attempt_id == key.attempt_id; });
  if (offered != item.dispatches.end()) {
    offered->cancel_requested = true;
  } else {
    item.dispatches_cancelled.push_back(std::move(key));
  }
}

// Several changes in one item: the last status, every time and the last error.
void ItemBuilder::List(ListingChange change) {
  if (!item.listing) {
    item.listing = std::move(change);
    return;
  }
  item.listing->status = std::move(change.status);
  if (change.error_message) item.listing->error_message = std::move(change.error_message);
  if (change.started_at) item.listing->started_at = change.started_at;
  if (change.completed_at) item.listing->completed_at = change.completed_at;
}

}  // namespace acl
