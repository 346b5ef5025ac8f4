#include "worker/leased_subject.h"

#include <fmt/format.h>

#include "shared/base/json_object.h"
#include "shared/base/uuid7.h"
#include "shared/capability/inbox_inputs.h"
#include "shared/kernel/fast_path.h"

namespace acl {

namespace {

// A finished attempt whose outcome is known leaves a row, also if it failed or its effect needed none before.
bool LeavesRow(const StepResult& result) { return result.outcome != StepResult::Outcome::kNotStarted; }

}  // namespace

bool LeasedSubject::IsEmpty(const CommitItem& item) {
  return item.events.empty() && item.attempts.empty() && item.completions.empty() && item.timers_set.empty() &&
         item.timers_cleared.empty() && item.dispatches.empty() && item.dispatches_cancelled.empty() && item.outbox.empty() &&
         item.compensations.empty() && item.consumed_inbox.empty() && !item.listing && item.disposition == Disposition::kKeep;
}

LeasedSubject::LeasedSubject(Claimed claimed, Restored restored, const SubjectKind& kind, const WorkerSessionId& session,
                             SubjectLimits limits)
    : kind_(kind),
      subject_(claimed.subject),
      project_(claimed.project),
      token_(claimed.token),
      session_(session),
      queue_(claimed.queue),
      priority_(claimed.priority),
      trace_(kind.Trace(restored.state).parent),
      limits_(limits),
      state_(std::move(restored.state)),
      head_seq_(claimed.head.seq),
      chain_(claimed.head.chain),
      journal_(claimed.head.journal),
      journal_first_(claimed.head.journal_first),
      last_timestamp_(claimed.head.last_timestamp),
      db_seen_(claimed.db_now),
      events_since_snapshot_(restored.replayed),
      delta_bytes_since_snapshot_(restored.delta_bytes_since_snapshot) {
  if (claimed.snapshot) KeepStored(std::move(*claimed.snapshot));
  ResumedInput resumed;
  resumed.died_alone = claimed.died_alone;
  for (const AttemptRow& row : claimed.attempts) {
    int& count = attempt_counts_[row.step_id];
    count = std::max(count, row.attempt_id);
    resumed.open_attempts.push_back(row);
  }
  for (const TimerRow& timer : claimed.timers) timers_[timer.timer_id] = timer.fire_at;
  inputs_.emplace_back(std::move(resumed));
  OnInbox({std::move(claimed.inbox), claimed.wake});
}

void LeasedSubject::OnStepDone(const std::string& step_id, int attempt_id, StepResult result) {
  if (!IsRunning(step_id, attempt_id)) return;  // dropped by the watchdog before
  inputs_.emplace_back(StepFinishedInput{step_id, attempt_id, std::move(result), running_.at(step_id).note});
  idle_ = false;
}

void LeasedSubject::OnInbox(const KernelStore::InboxView& view) {
  InboxRead read = ReadInbox(view.rows, [this](const InboxRow& row) {
    const auto [known, fresh] = seen_inbox_.emplace(row.id, kNotConsumed);
    if (!fresh && (known->second == kNotConsumed || known->second > read_from_)) return false;
    known->second = kNotConsumed;
    db_seen_ = std::max(db_seen_, row.created_at);
    return true;
  });
  if (damaged_.empty()) damaged_ = std::move(read.damage);
  if (!read.inputs.empty()) idle_ = false;
  for (InboxInput& input : read.inputs) {
    cancel_asked_ = cancel_asked_ || input.kind == "cancel";
    inputs_.emplace_back(std::move(input));
  }
  read_wake_ = view.wake;  // lower than before: the database went back (failover), and what is there now is what counts
  inbox_wanted_ = false;
}

bool LeasedSubject::NoteWake(std::int64_t wake) {
  if (wake > read_wake_) inbox_wanted_ = true;
  return inbox_wanted_;
}

bool LeasedSubject::IsRunning(const std::string& step_id, int attempt_id) const {
  auto it = running_.find(step_id);
  return it != running_.end() && it->second.attempt_id == attempt_id;
}

std::optional<WallTime> LeasedSubject::NextTimer() const {
  std::optional<WallTime> next;
  for (const auto& [id, fire_at] : timers_) {
    if (!next || fire_at < *next) next = fire_at;
  }
  return next;
}

void LeasedSubject::TakeDueTimers(WallTime now) {
  for (auto it = timers_.begin(); it != timers_.end();) {
    if (it->second > now) {
      ++it;
      continue;
    }
    // A commit may fail, and the database's time, as it is known here, be earlier when this is decided again: it would be too early then.
    db_seen_ = std::max(db_seen_, it->second);
    Json payload = {{"timer_id", it->first}, {"fire_at", FormatWallTime(it->second)}};
    inputs_.emplace_back(InboxInput{InboxId{}, "timer", std::move(payload)});
    it = timers_.erase(it);
    idle_ = false;
  }
}

bool LeasedSubject::RunsEffect() const {
  return std::any_of(running_.begin(), running_.end(),
                     [](const auto& entry) { return entry.second.effect == EffectClass::kNonIdempotent; });
}

bool LeasedSubject::Ready(const BuildContext& context) const {
  if (!Hears() || (rolling_ && !context.release_now)) return false;
  if (!inputs_.empty() || (context.release_now && !(context.effects_wait && RunsEffect()))) return true;
  auto timer = NextTimer();
  if (timer && *timer <= context.now) return true;
  if (context.draining && running_.empty()) return true;
  return !idle_ && context.free_slots > 0;
}

Status LeasedSubject::Decide(Work& work, const Input& input, WallTime now) {
  auto stops = work.made.Decide(input, now);
  if (!stops) return stops.error();
  std::move(stops->steps.begin(), stops->steps.end(), std::back_inserter(work.cancels));
  if (stops->all) {
    for (const auto& [step_id, running] : running_) {
      if (!work.finished.contains(step_id)) work.cancels.push_back(step_id);
    }
  }
  return {};
}

void LeasedSubject::RecordAttempt(Work& work, const std::string& step_id) {
  const Running& running = running_.at(step_id);
  if (running.row_written || !work.rows_written.insert(step_id).second) return;
  work.made.item.attempts.push_back({step_id, running.attempt_id, token_, running.started_at});
}

Status LeasedSubject::PlanStarts(Work& work, const BuildContext& context, Next& next) {
  NextContext next_context;
  next_context.now = std::max(context.now, work.made.item.last_timestamp);
  for (const auto& [step_id, running] : running_) {
    if (!work.finished.contains(step_id)) next_context.running.insert(step_id);
  }
  const bool may_start = context.start_allowed && !context.draining && !context.release_now && !GivesWay(context);
  // Dispatches need no trust: what they do is behind the commit, which the fence decides on.
  next_context.may_dispatch = !context.draining && !context.release_now && !GivesWay(context);
  // What is dispatched changes what there is to wait for: the kind is asked again until it dispatches nothing more.
  for (bool again = true; again;) {
    next_context.free_slots = may_start ? context.free_slots - int(work.starts.size()) : 0;
    next = kind_.WhatNext(work.made.state, next_context);
    again = false;
    Status taken = PlanStart(work, context, next_context, next, again);
    if (!taken) return taken;
  }
  return {};
}

Status LeasedSubject::PlanStart(Work& work, const BuildContext& context, NextContext& next_context, Next& next, bool& dispatched) {
  for (StartStep& start : next.start) {
    const auto before_it = attempt_counts_.find(start.step_id);
    const int attempt_id = 1 + (before_it == attempt_counts_.end() ? 0 : before_it->second);
    if (start.target || NeedsRowFirst(start.effect)) {
      const int before = work.made.drafts();
      Input input = StartingInput{std::move(start), attempt_id};
      Status decided = Decide(work, input, context.now);
      if (!decided) return decided;
      start = std::move(std::get<StartingInput>(input).step);
      if (work.made.drafts() == before) continue;  // refused: the state has moved on
      work.made.item.attempts.push_back({start.step_id, attempt_id, token_, next_context.now});
    }
    if (start.target) {
      dispatched = true;
      work.dispatched[start.step_id] = attempt_id;
      continue;
    }
    next_context.running.insert(start.step_id);
    work.start_attempts[start.step_id] = attempt_id;
    work.starts.push_back(std::move(start));
  }
  return {};
}

// It starts nothing more then, so that it is released once what runs has ended: a run that always has a next step would never give way.
bool LeasedSubject::GivesWay(const BuildContext& context) const {
  if (!limits_.go_on) return step_ended_;
  return context.others_wait && items_in_a_row_ >= limits_.fairness_items;
}

void LeasedSubject::ChooseDisposition(Work& work, const BuildContext& context, const Next& next) {
  CommitItem& item = work.made.item;
  const bool still_running = running_.size() > work.finished.size();
  item.expected_wake = read_wake_;
  if (next.closed && !still_running) {
    item.disposition = Disposition::kClose;
    return;
  }
  if (!work.starts.empty() || (still_running && !context.release_now)) return;
  const bool has_work = !next.waiting.has_value();
  if (context.draining || context.release_now) {
    item.disposition = Disposition::kRelease;
    item.requeue = has_work || still_running;
    item.waiting = next.waiting;
    return;
  }
  if (has_work) {  // slots are taken, or the kind would go on: keep unless others have waited long enough
    if (GivesWay(context)) {
      item.disposition = Disposition::kRelease;
      item.requeue = true;
    }
    return;
  }
  if (next.waiting->next_wake && *next.waiting->next_wake <= context.now + limits_.hold_wait) return;
  // A run that is woken, says something and waits again would else never have a snapshot.
  if (!item.events.empty() && SnapshotComes(work, std::int64_t(item.events.size()))) return;
  item.disposition = Disposition::kRelease;
  item.waiting = next.waiting;
}

Status LeasedSubject::Follow(Work& work, const BuildContext& context, Next& next) {
  while (!inputs_.empty()) {
    Input input = std::move(inputs_.front());
    inputs_.pop_front();
    if (const auto* finished = std::get_if<StepFinishedInput>(&input)) {
      if (!IsRunning(finished->step_id, finished->attempt_id) || work.finished.contains(finished->step_id)) continue;
      if (LeavesRow(finished->result)) RecordAttempt(work, finished->step_id);
      work.finished.insert(finished->step_id);
      step_ended_ = true;
    } else if (const auto* inbox = std::get_if<InboxInput>(&input)) {
      if (inbox->id.is_nil()) {
        work.made.item.timers_cleared.push_back(inbox->payload.value("timer_id", ""));
      } else {
        work.made.item.consumed_inbox.push_back(inbox->id);
      }
    }
    Status decided = Decide(work, input, context.now);
    if (!decided) return decided;
    work.inputs.push_back(std::move(input));
  }
  return PlanStarts(work, context, next);
}

Result<std::optional<CommitItem>> LeasedSubject::BuildItem(const BuildContext& given) {
  ACL_CHECK(!in_flight_, "one item of a subject at a time");
  BuildContext context = given;
  context.now = std::max(given.now, db_seen_);
  if (context.release_now && context.effects_wait && RunsEffect()) context.release_now = false;
  TakeDueTimers(context.now);
  Work work(ItemBuilder(kind_, Base(), state_));
  CommitItem& item = work.made.item;
  if (RollsNow()) work.made.Roll(*snapshot_ready_, context.now);

  Next next;
  if (!TryFastPath(work, context, next)) {
    cursor_.reset();
    Status followed = Follow(work, context, next);
    if (!followed) return followed.error();
  }
  work.made.Finish(context.now);
  work.made.state.Flatten();
  ChooseDisposition(work, context, next);
  work.next_state = work.made.state;
  work.timer_changes = work.made.timer_changes();
  work.delta_bytes = work.made.delta_bytes();
  // Idle until an input comes, unless only slots or trust kept it from starting more.
  idle_ = context.start_allowed && int(work.starts.size()) < context.free_slots;
  for (const CompletionRow& row : item.completions) work.completed.push_back(row.step_id);
  work.consumed = item.consumed_inbox;
  work.last_seq = item.base_seq + std::int64_t(item.events.size());
  work.chain = item.chain;
  work.last_timestamp = item.last_timestamp;
  work.disposition = item.disposition;
  work.begins_journal = item.begins_journal;
  if (IsEmpty(item)) {
    Adopt(work);
    return std::optional<CommitItem>();
  }
  if (snapshot_ready_) {
    item.snapshot = snapshot_ready_;
    work.took_snapshot = true;
  }
  if (item.disposition == Disposition::kKeep) {
    // It lands, or the subject is lost: nobody asks for what was before. Let go of now, while all of it is in the processor's caches.
    state_ = work.next_state;
    for (Input& input : work.inputs) {
      if (auto* finished = std::get_if<StepFinishedInput>(&input)) DestroyIteratively(finished->result.outputs);
    }
    work.inputs.clear();
  }
  in_flight_.emplace(std::move(work));
  return std::optional<CommitItem>(std::move(item));
}

void LeasedSubject::Adopt(InFlight& work) {
  state_ = std::move(work.next_state);
  const std::int64_t events = work.last_seq - head_seq_;
  ++landings_;
  for (const InboxId& id : work.consumed) seen_inbox_[id] = landings_;
  head_seq_ = work.last_seq;
  chain_ = work.chain;
  last_timestamp_ = work.last_timestamp;
  for (const std::string& step_id : work.finished) {
    auto ended = running_.find(step_id);
    recorded_.push_back({step_id, ended->second.attempt_id});
    running_.erase(ended);
  }
  for (auto& [timer, fire_at] : work.timer_changes) {
    if (fire_at) {
      timers_[timer] = *fire_at;
    } else {
      timers_.erase(timer);
    }
  }
  for (StartStep& start : work.starts) {
    int attempt_id = work.start_attempts.at(start.step_id);
    attempt_counts_[start.step_id] = attempt_id;
    running_[start.step_id] = {attempt_id, start.effect, last_timestamp_, NeedsRowFirst(start.effect), start.note};
    starts_.push_back({subject_, project_, token_, attempt_id, std::move(start), state_, trace_});
  }
  for (const auto& [step_id, attempt_id] : work.dispatched) attempt_counts_[step_id] = attempt_id;
  for (const std::string& step_id : work.completed) attempt_counts_.erase(step_id);
  std::move(work.cancels.begin(), work.cancels.end(), std::back_inserter(cancels_));
  events_since_snapshot_ += events;
  delta_bytes_since_snapshot_ += work.delta_bytes;
  if (work.begins_journal) {
    journal_ = *work.begins_journal;
    journal_first_ = work.last_seq - events + 1;
  }
  if (events > 0) snapshot_shows_ = true;
  if (work.took_snapshot && snapshot_ready_) {
    snapshot_shows_ = events > 0;
    events_since_snapshot_ = head_seq_ - snapshot_ready_->last_event_seq;
    delta_bytes_since_snapshot_ = work.delta_bytes;
    KeepStored(std::move(*snapshot_ready_));
    snapshot_ready_.reset();
  }
}

LeasedSubject::After LeasedSubject::OnOutcome(const CommitOutcome& outcome) {
  ACL_CHECK(in_flight_, "an outcome of nothing");
  switch (outcome.kind) {
    case CommitOutcome::Kind::kCommitted: {
      const bool kept = in_flight_->disposition == Disposition::kKeep;
      Adopt(*in_flight_);
      in_flight_.reset();
      ++items_in_a_row_;
      if (!kept) return After::kGone;
      NoteWake(outcome.wake);
      return After::kGoOn;
    }
    case CommitOutcome::Kind::kFenced: in_flight_.reset(); return After::kGone;
    case CommitOutcome::Kind::kBusy: return After::kGoOn;  // still in flight: the committer sends it again
    case CommitOutcome::Kind::kMoved: {
      // An inbox row came in beside the release: nothing of the item landed. Read the inbox, decide again with the same inputs first.
      for (auto it = in_flight_->inputs.rbegin(); it != in_flight_->inputs.rend(); ++it) inputs_.push_front(std::move(*it));
      in_flight_.reset();
      idle_ = false;
      inbox_wanted_ = true;
      return After::kGoOn;
    }
    case CommitOutcome::Kind::kRejected: return After::kReject;
  }
  return After::kReject;
}

std::optional<StepMessage> LeasedSubject::MessageFor(WallTime ready_at) const {
  if (ready_at == WallTime{}) return std::nullopt;
  StepMessage message;
  message.key = {queue_, priority_, ReadyShard(subject_), ready_at, subject_};
  message.kind = kind_.Name();
  message.event_seq = head_seq_;
  message.token = token_;
  message.traceparent = FormatTraceparent({trace_.trace_id, RunSpanId(subject_), trace_.sampled});
  return message;
}

std::vector<StepCall> LeasedSubject::TakeStarts() { return std::exchange(starts_, {}); }
std::vector<LeasedSubject::Recorded> LeasedSubject::TakeRecorded() { return std::exchange(recorded_, {}); }
std::vector<std::string> LeasedSubject::TakeCancels() { return std::exchange(cancels_, {}); }

}  // namespace acl
