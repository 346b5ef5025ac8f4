#include "worker/worker_core.h"

#include <utility>

#include "shared/base/memory.h"
#include "shared/base/mutant.h"

namespace acl {

namespace {
// Free slots for each subject whose item is built beside others: more than most start at once.
constexpr int kSlotsForEach = 4;
// Fewer subjects are done before a helper has woken.
constexpr std::size_t kWorthHelpers = 4;
// A commit costs the database as much as some 16 items in it. While those that are ready and those whose steps begin in this round are few,
// they go together in the next one: quick steps have ended then.
constexpr std::size_t kGoesAtOnce = 24;
}  // namespace

WorkerCore::WorkerCore(WorkerConfig config, const KindRegistry& kinds, Random& random, WorkerObserver* observer, HelperThreads* helpers)
    : config_(std::move(config)),
      kinds_(kinds),
      random_(random),
      observer_(observer ? *observer : silent_),
      helpers_(helpers),
      trust_(config_.session.ttl, config_.trust_margin),
      pace_(config_.poll_min, config_.poll_max),
      claim_size_(config_.claim_batch),
      sticky_(std::make_shared<StickyCache>(config_.sticky_bytes)),
      dispatches_({config_.session.worker_name, config_.retry_min, config_.retry_max, config_.runner_grace}, random_, observer_) {}

// ---- commits

BuildContext WorkerCore::ContextFor(SteadyTime now) const {
  BuildContext context;
  context.now = trust_.DatabaseTime(now);
  context.free_slots = std::max(0, FreeSlots());
  context.start_allowed = trust_.Holds(now);
  const bool draining = state_ == State::kDraining;
  context.draining = draining || CannotBegin();
  context.release_now = draining && Due(now, drain_until_);
  context.effects_wait = draining && !losing_ && now < effects_until_ + kStopGrace;
  context.others_wait = int(subjects_.size()) >= config_.run_slots;
  return context;
}

int WorkerCore::OnTheirWay() const {
  return int(std::count_if(batches_.begin(), batches_.end(), [](const auto& one) { return !one.second.waits_unsent(); }));
}

bool WorkerCore::WorthABatch(const BuildContext& context) const {
  const int on_their_way = OnTheirWay();
  if (on_their_way >= config_.commits_at_once) return false;
  if (on_their_way == 0) return true;
  std::size_t largest = 0;
  for (const auto& [id, batch] : batches_) {
    if (!batch.waits_unsent()) largest = std::max(largest, batch.items->size());
  }
  const std::size_t wanted = std::max<std::size_t>(1, (largest + 1) / 2);
  const auto stored = std::size_t(std::count_if(offloading_.begin(), offloading_.end(), [](const auto& one) { return one.second.stored; }));
  return stored >= wanted || subjects_.CountReady(context, wanted - stored, context.draining) == wanted - stored;
}

bool WorkerCore::WorthARound(const BuildContext& context) const {
  const auto begins = [](const Command& command) { return std::holds_alternative<command::RunStep>(command); };
  const auto steps = std::size_t(std::count_if(commands_.begin(), commands_.end(), begins));
  return steps > 0 && steps + subjects_.CountReady(context, kGoesAtOnce, context.draining) < kGoesAtOnce;
}

void WorkerCore::SideBySide(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (helpers_ != nullptr && count >= kWorthHelpers) return helpers_->ForEach(count, work);
  for (std::size_t i = 0; i < count; ++i) work(i);
}

std::vector<Result<std::optional<CommitItem>>> WorkerCore::BuildItems(const std::vector<LeasedSubject*>& runs,
                                                                      const BuildContext& context) {
  std::vector<Result<std::optional<CommitItem>>> built(runs.size(), std::optional<CommitItem>());
  BuildContext share = context;  // of the free slots: who wants more says so again when this item is committed
  share.free_slots /= int(runs.size());
  SideBySide(runs.size(), [&](std::size_t i) {
    if (!WithinMemory([&] { built[i] = runs[i]->BuildItem(share); })) built[i] = Error{Code::kUnavailable, {}};
  });
  return built;
}

void WorkerCore::FormBatch(SteadyTime now) {
  const bool waited = std::exchange(waits_a_round_, false);
  if (state_ != State::kLive && state_ != State::kDraining) return;
  BuildContext context = ContextFor(now);
  subjects_.Look(context.now);
  if (!WorthABatch(context)) return;
  waits_a_round_ = !waited && WorthARound(context);
  if (waits_a_round_) return;
  std::vector<CommitItem> items;
  Batch batch;
  const auto room = [&] { return config_.commit_batch - int(items.size()); };
  for (auto it = offloading_.begin(); it != offloading_.end() && room() > 0;) {
    if (!it->second.stored) {
      ++it;
      continue;
    }
    items.push_back(std::move(it->second.item));
    batch.starts += it->second.starts;
    it = offloading_.erase(it);
  }
  // Steps that begin with this batch, with those on their way or with what lies aside have their slots already.
  int promised = batch.starts;
  for (const auto& [subject, aside] : offloading_) promised += aside.starts;
  for (const auto& [id, other] : batches_) promised += other.waits_unsent() ? 0 : other.starts;
  context.free_slots -= promised;
  // One pass, beginning where the last batch ended. Who drains gives all of them back.
  const std::vector<LeasedSubject*> waiting = subjects_.InTurn(next_in_turn_, context.draining);
  std::vector<std::pair<SubjectId, std::string>> broken;
  std::vector<SubjectId> too_large;
  std::size_t seen = 0;
  std::optional<std::size_t> last_to_start;
  while (seen < waiting.size() && room() > 0) {
    // As many at once as there are slots for, whatever each of them starts; one if slots are short.
    const int at_once = helpers_ == nullptr ? 1 : std::clamp(context.free_slots / kSlotsForEach, 1, room());
    std::vector<LeasedSubject*> runs;
    for (; seen < waiting.size() && int(runs.size()) < at_once; ++seen) {
      if (waiting[seen]->Ready(context)) runs.push_back(waiting[seen]);
    }
    if (runs.empty()) break;
    auto built = BuildItems(runs, context);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      LeasedSubject& run = *runs[i];
      if (!built[i] && built[i].code() == Code::kUnavailable) {
        too_large.push_back(run.subject());
      } else if (!built[i]) {
        broken.emplace_back(run.subject(), built[i].message());
      } else if (built[i]->has_value()) {
        CommitItem& item = **built[i];
        const int starts = run.promised();
        promised += starts;
        if (Offload(item, starts)) continue;
        items.push_back(std::move(item));
        batch.starts += starts;
      } else {
        TellRecorded(run);
        DispatchStarts(now, run);
      }
    }
    const int free_slots = FreeSlots() - promised;
    if (free_slots < context.free_slots) last_to_start = seen - 1;
    context.free_slots = free_slots;
  }
  // Where it ended, or, if the slots went out, behind who took the last: else the first would take its own again and again.
  if (seen < waiting.size()) {
    next_in_turn_ = waiting[seen]->subject();
  } else if (context.free_slots > 0) {
    next_in_turn_ = {};
  } else if (last_to_start) {
    next_in_turn_ = waiting[(*last_to_start + 1) % waiting.size()]->subject();
  }
  for (const auto& [subject, detail] : broken) QuarantineSubject(subject, "the kind contradicts itself", detail);
  for (const SubjectId& subject : too_large) GiveUp(subject, context.now);
  if (items.empty()) return;
  std::sort(items.begin(), items.end(), [](const CommitItem& a, const CommitItem& b) { return a.subject < b.subject; });
  batch.items = std::make_shared<const std::vector<CommitItem>>(std::move(items));
  batches_.emplace(++batch_id_, std::move(batch));
}

void WorkerCore::SendBatches(SteadyTime now) {
  for (auto& [id, batch] : batches_) {
    if (batch.sent || (batch.retry_at && !Due(now, batch.retry_at))) continue;
    batch.sent = true;
    if (!batch.first_sent) batch.first_sent = now;
    batch.retry_at.reset();
    if (batch.unknown) {
      commands_.push_back(command::ReadBack{id, batch.items});
    } else {
      commands_.push_back(command::Commit{id, batch.items});
    }
  }
}

void WorkerCore::OnCommitted(SteadyTime now, std::int64_t id, Result<std::vector<CommitOutcome>> answer) {
  auto it = batches_.find(id);
  if (it == batches_.end()) return;
  Batch& batch = it->second;
  batch.sent = false;
  if (answer) {
    commit_failures_ = 0;
    ApplyOutcomes(now, id, *answer);
    return;
  }
  if (answer.code() == Code::kOutcomeUnknown) {
    ++counts_.unknown_commits;
    observer_.OnUnknownCommit(batch.items->size());
    batch.unknown = true;
  } else {
    observer_.OnUnavailable(call::kCommit, answer.error());
  }
  batch.retry_at = Backoff(now, commit_failures_);
}

void WorkerCore::OnReadBack(SteadyTime now, std::int64_t id, Result<std::vector<CommitOutcome>> answer) {
  auto it = batches_.find(id);
  if (it == batches_.end()) return;
  Batch& batch = it->second;
  batch.sent = false;
  if (!answer) {
    batch.retry_at = Backoff(now, commit_failures_);
    return;
  }
  batch.unknown = false;
  for (std::size_t i = 0; i < answer->size(); ++i) {
    if ((*answer)[i].kind != CommitOutcome::Kind::kCommitted) continue;
    ++counts_.unknown_landed;
    observer_.OnFoundRecorded((*batch.items)[i].completions.size());
  }
  ApplyOutcomes(now, id, *answer);
}

void WorkerCore::ApplyOutcomes(SteadyTime now, std::int64_t id, const std::vector<CommitOutcome>& outcomes) {
  const Batch batch = std::move(batches_.at(id));
  batches_.erase(id);
  const std::vector<CommitItem>& items = *batch.items;
  ACL_CHECK(outcomes.size() == items.size(), "one outcome per item");
  ++counts_.commits;
  observer_.OnBatch(items.size(), now - batch.first_sent.value_or(now));
  std::vector<CommitItem> again;
  int again_starts = 0;
  std::vector<StepMessage> made_ready;
  bool all_ready_known = true;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const CommitItem& item = items[i];
    const CommitOutcome& outcome = outcomes[i];
    observer_.OnOutcome(item, outcome);  // a refusal counts also when the session's loss was heard of first
    const SubjectId subject = item.subject;
    LeasedSubject* held = subjects_.Change(subject);
    const bool committed = outcome.kind == CommitOutcome::Kind::kCommitted, ready = committed && item.requeue;
    if (!held || held->token() != item.token || !held->in_flight()) {
      all_ready_known = all_ready_known && !ready;
      continue;
    }
    LeasedSubject& run = *held;
    const bool wants_dispatches_back =
        committed && (!item.dispatches_cancelled.empty() || std::any_of(item.dispatches.begin(), item.dispatches.end(),
                                                                        [](const DispatchRow& row) { return row.cancel_requested; }));
    if (wants_dispatches_back) commands_.push_back(command::ReapDispatches{subject});
    LeasedSubject::After after = run.OnOutcome(outcome);
    TellRecorded(run);
    if (ready) {
      auto row = run.MessageFor(outcome.ready_at);
      all_ready_known = all_ready_known && row.has_value();
      if (row) made_ready.push_back(std::move(*row));
    }
    if (committed && item.disposition != Disposition::kKeep) observer_.OnLetGo(item);
    switch (outcome.kind) {
      case CommitOutcome::Kind::kCommitted:
        ++counts_.items_committed;
        if (!item.completions.empty()) starved_.erase(subject);
        break;
      case CommitOutcome::Kind::kFenced: ++counts_.fenced; break;
      case CommitOutcome::Kind::kBusy:
        ++counts_.busy;
        again.push_back(item);
        again_starts += run.promised();
        break;
      case CommitOutcome::Kind::kMoved: ++counts_.moved; break;
      case CommitOutcome::Kind::kRejected: ++counts_.rejected; break;
    }
    if (after == LeasedSubject::After::kGone) {
      if (outcome.kind == CommitOutcome::Kind::kFenced) {
        // The lease row may still name us: a standby that became the primary has not all that we committed. No effect if it does not.
        commands_.push_back(command::ReleaseLease{subject, session_, run.token(), {}});
        LeaseLost(subject, "its commit was refused");
      } else {
        if (item.disposition == Disposition::kRelease && state_ == State::kLive) {
          if (auto state = run.KeepState()) sticky_->Put(subject, std::move(*state));
        }
        Forget(subject, true);
      }
      continue;
    }
    if (after == LeasedSubject::After::kReject) {
      QuarantineSubject(subject, "commit rejected", outcome.error);
      continue;
    }
    for (const std::string& step_id : run.TakeCancels()) {
      auto running = running_.find({subject, step_id});
      if (running != running_.end()) running->second.stop.Stop();
    }
    DispatchStarts(now, run);
    if (auto job = run.TakeSnapshotJob(trust_.DatabaseTime(now))) {
      commands_.push_back(command::TakeSnapshot{subject, run.token(), std::move(*job)});
    }
    WantInbox(run);
  }
  if (!made_ready.empty() || !all_ready_known) observer_.OnReady(made_ready, all_ready_known);
  if (!again.empty()) {
    Batch later;
    later.items = std::make_shared<const std::vector<CommitItem>>(std::move(again));
    later.retry_at = Backoff(now, commit_failures_);
    later.busy = true;
    later.starts = again_starts;
    batches_.emplace(++batch_id_, std::move(later));
  }
}

void WorkerCore::OnSnapshot(SteadyTime, const SubjectId& subject, Token token, Result<Snapshot> answer) {
  LeasedSubject* run = subjects_.Change(subject);
  if (!run || run->token() != token) return;
  if (!answer) {
    run->SnapshotFailed();
    return;
  }
  ++counts_.snapshots;
  run->OnSnapshot(std::move(*answer));
}

// ---- inbox and hints

void WorkerCore::WantInbox(const LeasedSubject& run) {
  if (!run.inbox_wanted() || !inbox_in_flight_.insert(run.subject()).second) return;
  run.BeginReadingInbox();
  commands_.push_back(command::ReadInbox{run.subject(), run.token()});
}

void WorkerCore::OnInbox(SteadyTime now, const SubjectId& subject, Token token, Result<KernelStore::InboxView> answer) {
  LeasedSubject* run = subjects_.Change(subject);
  if (!run || run->token() != token) return;
  inbox_in_flight_.erase(subject);
  if (answer) {
    run->OnInbox(*answer);
    QuarantineIfDamaged(*run);
  } else if (answer.code() == Code::kLeaseLost) {
    ++counts_.fenced;
    observer_.OnRefused(subject, token, "reading its inbox");
    LeaseLost(subject, "its inbox was refused");
  } else {
    inbox_retry_at_ = now + config_.retry_min;
  }
}

void WorkerCore::OnWorkHint(SteadyTime now) {
  pace_.Hint(now);
  notified_in_flight_ = claim_in_flight_;
}

void WorkerCore::OnDoorbell(SteadyTime now, bool connected) {
  pace_.SetNotified(now, connected);
  if (connected || !reconcile_at_) return;
  reconcile_at_ = std::min(*reconcile_at_, now + config_.heard_within);  // what was granted over the lost line and not heard of
  unheard_for_ = config_.heard_within / 2;
}

void WorkerCore::OnSubjectHint(SteadyTime, const SubjectId& subject) {
  if (const auto waits = unrestored_.find(subject); waits != unrestored_.end()) waits->second.hinted = true;
  LeasedSubject* run = subjects_.Change(subject);
  if (!run) return;
  run->WantInbox();
  WantInbox(*run);
}

// ---- time

void WorkerCore::OnTime(SteadyTime now) {
  dispatches_.OnTime(now);
  DropLateSteps(now);
  EndShortage(now);
  if (Due(now, inbox_retry_at_)) {
    inbox_retry_at_.reset();
    subjects_.ForEach([this](const LeasedSubject& run) { WantInbox(run); });
  }
  if (state_ == State::kDraining && Due(now, drain_until_)) {
    StopDrained(now);
  }
  if (losing_ && now >= *drain_until_ + kLossGrace) FinishLoss(now);  // the database does not answer: drop it all
}

SteadyTime WorkerCore::NextWake(SteadyTime now) const {
  SteadyTime next = now + std::chrono::seconds(5);
  auto consider = [&next](const std::optional<SteadyTime>& at) {
    if (at && *at < next) next = *at;
  };
  if (state_ == State::kNoSession) consider(open_at_);
  consider(dispatches_.NextWake());
  consider(shortage_until_);
  if (short_ && !shortage_until_) consider(shortage_over_);
  if (state_ == State::kLive || state_ == State::kDraining) {
    if (!heartbeat_in_flight_ && !losing_) consider(heartbeat_at_);
    if (!losing_) consider(reconcile_at_);
    if (losing_) consider(*drain_until_ + kLossGrace);
    if (state_ == State::kLive && !claim_in_flight_ && trust_.Holds(now) && (RunRoom() > 0 || DispatchRoom() > 0)) consider(pace_.next());
    if (state_ == State::kDraining) {
      for (const SteadyTime at : {*drain_until_, effects_until_, effects_until_ + kStopGrace}) {
        if (at > now) consider(at);
      }
    }
    for (const auto& [id, batch] : batches_) {
      if (!batch.sent) consider(batch.retry_at);
    }
    for (const auto& [subject, aside] : offloading_) {
      if (!aside.sent) consider(aside.retry_at);
    }
    consider(inbox_retry_at_);
    if (!unread_.empty() && !restore_in_flight_) consider(restore_retry_at_);
    consider(look_at_steps_);
    if (waits_a_round_) return now;
    if (OnTheirWay() > 0) return std::max(next, now);  // an answer comes first: no timer is taken before
    if (const auto timer = subjects_.NextTimer()) {
      consider(now + std::max<WallTime::duration>(*timer - trust_.DatabaseTime(now), {}));
    }
  }
  return std::max(next, now);
}

std::vector<Command> WorkerCore::TakeCommands(SteadyTime now) {
  OnTime(now);
  if (state_ == State::kNoSession && Due(now, open_at_)) {
    state_ = State::kOpening;
    commands_.push_back(command::OpenSession{config_.session});
  }
  if (state_ == State::kLive || state_ == State::kDraining) {
    if (!heartbeat_in_flight_ && !losing_ && Due(now, heartbeat_at_)) {
      heartbeat_in_flight_ = true;
      commands_.push_back(command::Heartbeat{session_, config_.session.ttl});
    }
    BeginDispatches(now);
    FormBatch(now);
    SendOffloads(now);
    SendBatches(now);
    ReadGrants();
    if (!losing_ && Due(now, reconcile_at_)) {
      reconcile_at_.reset();
      reconcile_sent_ = now;
      asked_unheard_for_ = std::exchange(unheard_for_, milliseconds(0));
      commands_.push_back(command::Reconcile{
          session_, asked_unheard_for_.count() > 0 ? std::min(asked_unheard_for_, config_.session.ttl) : config_.session.ttl});
      commands_.push_back(command::ReconcileDispatches{session_, config_.session.ttl});
    }
  }
  TellRoom(now);
  for (DispatchReport& report : dispatches_.TakeReports(now)) commands_.push_back(command::FinishDispatch{std::move(report)});
  if (state_ == State::kLive && !claim_in_flight_ && (RunRoom() > 0 || DispatchRoom() > 0) && trust_.Holds(now) && pace_.Due(now))
    Claim(now);
  RestoreNext(now);
  if (losing_ && subjects_.empty() && batches_.empty() && dispatches_.busy() == 0) {
    FinishLoss(now);
  } else if (state_ == State::kDraining && subjects_.empty() && batches_.empty() && !claim_in_flight_ && unrestored_.empty() &&
             grants_read_.empty() &&
             (dispatches_.empty() ||
              now >= (dispatches_.RunsEffect() ? effects_until_ + kStopGrace : std::max(*drain_until_, dispatch_ended_)) + kLossGrace)) {
    dispatches_.ForgetAll();
    state_ = State::kClosing;
    commands_.push_back(command::CloseSession{session_});
  }
  subjects_.Settle();
  return std::exchange(commands_, {});
}

}  // namespace acl
