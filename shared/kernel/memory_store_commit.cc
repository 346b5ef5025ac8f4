// MemoryStore: commit, read back, direct commands.

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/mutant.h"
#include "shared/kernel/memory_store.h"
#include "shared/kernel/roll.h"
#include "shared/kernel/subject_part.h"

namespace acl {

namespace {

// What PostgreSQL refuses by constraint, said before anything is written: an item is applied whole or not at all.
std::optional<std::string> Validate(const MemorySubject& subject, const CommitItem& item) {
  Hash256 chain = subject.head.chain;
  WallTime last = subject.head.last_timestamp;
  std::int64_t seq = item.base_seq;
  for (const Event& event : item.events) {
    if (event.subject != item.subject || event.seq != ++seq || event.token != item.token) {
      return fmt::format("event {}: expected sequence {} under token {}", event.seq, seq, item.token.value);
    }
    if (event.type.empty() || event.type.size() > 50) return fmt::format("event {}: type must have 1 to 50 characters", seq);
    if (event.timestamp < last) return fmt::format("event {}: timestamp below that of event {}", seq, seq - 1);
    Status verified = Verify(event, chain);
    if (!verified) return verified.message();
    chain = event.chain;
    last = event.timestamp;
  }
  if (item.chain != chain) return "chain of the item is not that of its last event";
  if (auto wrong = WrongRoll(item)) return wrong;
  std::set<std::pair<std::string, int>> attempts;
  for (const AttemptRow& row : subject.attempts) attempts.insert({row.step_id, row.attempt_id});
  for (const AttemptRow& row : item.attempts) {
    if (row.step_id.empty() || row.step_id.size() > 400) return "step id must have 1 to 100 characters";
    if (row.attempt_id < 1) return fmt::format("attempt {} of {}: counts from 1", row.attempt_id, row.step_id);
    if (!attempts.insert({row.step_id, row.attempt_id}).second) {
      return fmt::format("attempt {} of {} exists already", row.attempt_id, row.step_id);
    }
  }
  std::set<std::string> completed;
  for (const CompletionRow& row : item.completions) {
    if (subject.completions.contains(row.step_id) || !completed.insert(row.step_id).second) {
      return fmt::format("{} is completed already", row.step_id);
    }
    if (!attempts.contains({row.step_id, row.attempt_id})) {
      return fmt::format("completion of {} names attempt {}, which does not exist", row.step_id, row.attempt_id);
    }
  }
  return std::nullopt;
}

// What the item's events name of the content store.
std::vector<Hash256> EventContentsOf(const CommitItem& item) {
  std::vector<Hash256> hashes = item.contents;
  for (const Event& event : item.events) {
    if (event.offloaded) hashes.push_back(event.content_hash);
  }
  return hashes;
}

std::vector<Hash256> ContentsOf(const CommitItem& item) {
  std::vector<Hash256> hashes = EventContentsOf(item);
  if (item.snapshot) hashes.insert(hashes.end(), item.snapshot->chunks.begin(), item.snapshot->chunks.end());
  return hashes;
}

}  // namespace

Result<std::vector<CommitOutcome>> MemoryStore::Commit(std::span<const CommitItem> items) {
  std::lock_guard lock(mutex_);
  std::set<SubjectId> once;
  for (const CommitItem& item : items) {
    if (!once.insert(item.subject).second) {
      return Error{Code::kInvalid, fmt::format("subject {} is in the batch twice", item.subject.ToString())};
    }
  }
  std::vector<CommitOutcome> outcomes;
  for (const CommitItem& item : items) outcomes.push_back(CommitOne(item));
  return outcomes;
}

CommitOutcome MemoryStore::CommitOne(const CommitItem& item) {
  using Kind = CommitOutcome::Kind;
  MemorySubject* subject = Find(item.subject);
  if (subject == nullptr) return {Kind::kFenced, 0, {}};
  MemoryRecord record = Note(MemoryRecord::What::kCommit, *subject);
  records_.pop_back();
  record.session = item.session;
  record.token = item.token;
  record.disposition = item.disposition;
  record.wake_moved = item.disposition != Disposition::kKeep && item.expected_wake != subject->wake;
  record.held = subject->holder == item.session && subject->token == item.token;
  CommitOutcome outcome;
  bool fenced = subject->holder != item.session || subject->token != item.token || subject->closed;
  if (Mutant("no_fence")) fenced = false;
  if (Mutant("fence_in_an_earlier_transaction")) fenced = !proved_[item.session].contains({item.subject, item.token});
  if (Mutant("owner_by_name")) fenced = !subject->holder || NameOf(*subject->holder) != NameOf(item.session) || subject->closed;
  if (Locked(item.subject)) {
    outcome.kind = Kind::kBusy;
  } else if (fenced && !mutants_.no_fence) {
    outcome.kind = Kind::kFenced;
  } else if (subject->head.seq != item.base_seq) {
    outcome.kind = Kind::kFenced;  // not decided on this head: whoever sent it must drop the subject
  } else if (record.wake_moved && !mutants_.no_wake_check_at_close && !Mutant("wake_ignored_at_release")) {
    outcome.kind = Kind::kMoved;
  } else if (auto wrong = Validate(*subject, item)) {
    outcome.kind = Kind::kRejected;
    outcome.error = *wrong;
  } else if (auto missing = MissingContent(ContentsOf(item))) {
    outcome.kind = Kind::kRejected;
    outcome.error = *missing;
  } else {
    if (mutants_.stale_claim) before_last_commit_[subject->id] = *subject;
    Apply(*subject, item);
    record.events = std::int64_t(item.events.size());
    if (item.disposition == Disposition::kRelease && item.requeue && !item.not_before) outcome.ready_at = Now();
  }
  if (outcome.kind == Kind::kCommitted || outcome.kind == Kind::kMoved) outcome.wake = subject->wake;
  record.outcome = outcome.kind;
  records_.push_back(record);
  return outcome;
}

void MemoryStore::Apply(MemorySubject& subject, const CommitItem& item) {
  subject.updated_at = Now();
  for (const Hash256& hash : EventContentsOf(item)) contents_.at(hash).subjects.insert(subject.id);
  subject.events.insert(subject.events.end(), item.events.begin(), item.events.end());
  subject.head.seq += std::int64_t(item.events.size());
  subject.head.chain = item.chain;
  subject.head.state_root = item.state_root;
  if (!item.events.empty()) subject.head.last_timestamp = item.events.back().timestamp;
  for (AttemptRow row : item.attempts) {
    row.token = item.token;
    subject.attempts.push_back(std::move(row));
  }
  for (const CompletionRow& row : item.completions) subject.completions[row.step_id] = row;
  for (const std::string& id : item.timers_cleared) subject.timers.erase(id);
  for (const TimerRow& timer : item.timers_set) subject.timers[timer.timer_id] = timer.fire_at;
  OfferDispatches(subject, item);
  if (outbox_.empty() && !item.outbox.empty()) outbox_since_ = clock_.Wall();
  for (const OutboxRow& row : item.outbox) outbox_.push_back({subject.id, row, ++last_outbox_id_});
  subject.compensations.insert(subject.compensations.end(), item.compensations.begin(), item.compensations.end());
  for (const InboxId& consumed : item.consumed_inbox) subject.inbox_holder.erase(consumed);
  std::erase_if(subject.inbox, [&](const InboxRow& row) {
    return std::find(item.consumed_inbox.begin(), item.consumed_inbox.end(), row.id) != item.consumed_inbox.end();
  });
  if (item.listing && subject.listing) subject.listing->status = item.listing->status;
  if (item.listing) {
    if (item.listing->error_message) subject.error_message = *item.listing->error_message;
    if (item.listing->started_at) subject.started_at = item.listing->started_at;
    if (item.listing->completed_at) subject.completed_at = item.listing->completed_at;
  }
  if (item.begins_journal) {
    subject.head.journal = *item.begins_journal;
    subject.head.journal_first = item.base_seq + 1;
    subject.segments.push_back({item.base_seq + 1, *item.begins_journal, Now()});
  }
  if (item.snapshot) KeepSnapshot(subject, *item.snapshot);
  if (item.disposition == Disposition::kKeep) return;
  subject.holder.reset();
  // Nothing was said: nothing of it ran that could clear it of a death.
  const bool quiet = item.events.empty() && item.disposition == Disposition::kRelease;
  subject.ended = quiet ? LeaseEnd::kUncounted : LeaseEnd::kOwnWill;
  if (Mutant("lease_deleted_on_release")) subject.token = Mint(Token{});
  if (item.disposition == Disposition::kClose) {
    subject.closed = true;
    subject.timers.clear();
    return;
  }
  subject.waiting = item.waiting;
  subject.waiting_since = Now();
  if (item.required_version) subject.required_version = *item.required_version;
  if (item.requeue && !Mutant("no_ready_row_with_the_commit"))
    PutReady(subject, item.not_before ? std::max(*item.not_before, Now()) : Now(), HasBegun(subject));
}

bool MemoryStore::Closes(const MemorySubject& subject, const Snapshot& snapshot) {
  return std::any_of(subject.segments.begin(), subject.segments.end(),
                     [&](const MemorySubject::Segment& segment) { return segment.first_seq == snapshot.last_event_seq + 1; });
}

// And the one before, and those that close journals.
void MemoryStore::KeepSnapshot(MemorySubject& subject, const Snapshot& snapshot) {
  for (const Hash256& hash : snapshot.chunks) contents_.at(hash).snapshots.insert(subject.id);
  subject.snapshots.push_back(snapshot);
  if (subject.snapshots.size() <= 2) return;
  const std::int64_t before = subject.snapshots[subject.snapshots.size() - 2].last_event_seq;
  RemoveSnapshots(subject, [&](const Snapshot& old) {
    return old.last_event_seq < before && (mutants_.closing_snapshot_lost || !Closes(subject, old));
  });
}

void MemoryStore::RemoveSnapshots(MemorySubject& subject, const std::function<bool(const Snapshot&)>& goes) {
  std::vector<Hash256> before;
  for (const Snapshot& one : subject.snapshots) {
    if (goes(one)) before.insert(before.end(), one.chunks.begin(), one.chunks.end());
  }
  std::erase_if(subject.snapshots, goes);
  std::set<Hash256> kept;
  for (const Snapshot& one : subject.snapshots) kept.insert(one.chunks.begin(), one.chunks.end());
  for (const Hash256& hash : before) {
    StoredContent& content = contents_.at(hash);
    if (!kept.contains(hash) && content.snapshots.erase(subject.id) > 0) content.used_at = Now();  // looked at again after the grace
  }
}

Result<std::vector<CommitOutcome>> MemoryStore::ReadBack(std::span<const CommitItem> items) {
  std::lock_guard lock(mutex_);
  std::vector<CommitOutcome> outcomes;
  for (const CommitItem& item : items) outcomes.push_back(ReadBackOne(item));
  return outcomes;
}

CommitOutcome MemoryStore::ReadBackOne(const CommitItem& item) {
  using Kind = CommitOutcome::Kind;
  const MemorySubject* subject = Find(item.subject);
  if (subject == nullptr) return {Kind::kFenced, 0, {}};
  bool mine = subject->holder == item.session && subject->token == item.token;
  bool landed;
  if (!item.events.empty()) {
    const Event& last = item.events.back();
    landed = std::any_of(subject->events.rbegin(), subject->events.rend(),
                         [&](const Event& event) { return event.seq == last.seq && event.chain == last.chain; });
  } else if (!item.attempts.empty()) {
    // Without events the attempt's row tells.
    const AttemptRow& wrote = item.attempts.front();
    landed = std::any_of(subject->attempts.begin(), subject->attempts.end(), [&](const AttemptRow& row) {
      return row.step_id == wrote.step_id && row.attempt_id == wrote.attempt_id && row.token == item.token;
    });
  } else {
    // Without events only the disposition tells: a release or close keeps the token and clears the session.
    landed = item.disposition != Disposition::kKeep && !subject->holder && subject->token == item.token;
  }
  // Landed, but the lease is gone since: a keeping holder must not go on.
  if (landed && !mine && item.disposition == Disposition::kKeep) return {Kind::kFenced, 0, {}};
  if (landed) return {Kind::kCommitted, subject->wake, {}};
  if (mine && subject->head.seq == item.base_seq) return {Kind::kBusy, subject->wake, {}};
  return {Kind::kFenced, 0, {}};
}

Result<CommitOutcome> MemoryStore::Command(const CommandRequest& request, const CommandDecider& decide) {
  std::lock_guard lock(mutex_);
  const SubjectId id = request.subject;
  MemorySubject* subject = Find(id);
  if (subject == nullptr) return Error{Code::kNotFound, NoSuchRun(id.ToString())};
  if (Locked(id)) return Error{Code::kTimeout, fmt::format("subject {}: its lease row is locked", id.ToString())};
  if (subject->closed || subject->quarantined() || subject->holder || (!request.takes_inbox && !subject->inbox.empty())) {
    const char* why = subject->closed          ? "is closed"
                      : subject->quarantined() ? "is quarantined"
                      : subject->holder        ? "is held"
                                               : "has unread inputs";
    return Error{Code::kConflict, fmt::format("subject {} {}: post to its inbox instead", id.ToString(), why)};
  }
  CommandView view{Read(*subject), {}};
  Claimed& claimed = view.claimed;
  claimed.token = Mint(subject->token);
  claimed.db_now = Now();
  if (request.known_seq > 0 && request.known_seq <= subject->head.seq) {
    claimed.sticky = true;
    claimed.snapshot.reset();
    claimed.attempts.clear();
    const auto behind = std::min(std::ptrdiff_t(subject->head.seq - request.known_seq), std::ptrdiff_t(subject->events.size()));
    claimed.events.assign(subject->events.end() - behind, subject->events.end());
  }
  for (const std::string& key : request.keys) {
    if (const auto given = subject->answers.find(key); given != subject->answers.end()) view.answered.push_back(given->second);
  }
  auto decided = decide(view);
  if (!decided) return decided.error();  // nothing was written, the minted token included
  if (!*decided) return CommitOutcome{CommitOutcome::Kind::kCommitted, subject->wake, {}};
  if (const auto& damage = (*decided)->damage) {
    subject->token = claimed.token;
    subject->grants.push_back({subject->token, WorkerSessionId{}, "direct", subject->head.seq, 0, Now()});
    PutQuarantine(*subject, damage->reason, damage->detail);
    return Error{Code::kCorrupt, damage->detail};
  }
  CommitItem& item = (*decided)->item;
  item.subject = id;
  item.token = claimed.token;
  if (item.base_seq != subject->head.seq) {
    return Error{Code::kInvalid, fmt::format("command decided on event {}, the head is {}", item.base_seq, subject->head.seq)};
  }
  if (auto wrong = Validate(*subject, item)) return CommitOutcome{CommitOutcome::Kind::kRejected, subject->wake, *wrong};
  for (const Event& event : item.events) {  // stored on the way
    if (event.offloaded) contents_.try_emplace(event.content_hash, StoredContent{*event.payload, Now(), {}, {}});
  }
  if (auto missing = MissingContent(ContentsOf(item))) return CommitOutcome{CommitOutcome::Kind::kRejected, subject->wake, *missing};
  subject->token = claimed.token;
  subject->grants.push_back({subject->token, WorkerSessionId{}, "direct", subject->head.seq, 0, Now()});
  MemoryRecord& record = Note(MemoryRecord::What::kDirect, *subject);
  record.events = std::int64_t(item.events.size());
  item.disposition = Disposition::kKeep;
  Apply(*subject, item);
  for (GivenAnswer& answer : (*decided)->answers) {
    const std::string key = answer.key;
    subject->answers.emplace(key, std::move(answer));
  }
  for (ShownRow& row : (*decided)->rows) {
    if (row.row) {
      subject->rows_shown[{row.table, row.id}] = std::move(*row.row);
    } else {
      subject->rows_shown.erase({row.table, row.id});
    }
  }
  if (request.takes_inbox && subject->wake > 0) {
    std::erase_if(ready_, [&](const ReadyRow& row) { return row.subject == id && row.ready_at <= Now(); });
  }
  return CommitOutcome{CommitOutcome::Kind::kCommitted, subject->wake, {}};
}

}  // namespace acl
