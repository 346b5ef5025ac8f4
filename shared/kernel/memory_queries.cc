#include "shared/kernel/memory_queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "shared/kernel/subject_part.h"

namespace acl {

Result<MemorySubject> MemoryQueries::Get(const SubjectId& id) const {
  auto subject = store_.Inspect(id);
  if (!subject) return Error{Code::kNotFound, NoSuchRun(id.ToString())};
  return *std::move(subject);
}

SubjectView MemoryQueries::View(const MemorySubject& subject) const {
  SubjectView view;
  view.subject = subject.id;
  view.project = subject.project;
  view.kind = subject.kind;
  view.queue = subject.queue;
  view.priority = subject.priority;
  view.listing = subject.listing;
  view.error_message = subject.error_message;
  view.created_at = subject.created_at;
  view.updated_at = subject.updated_at;
  view.started_at = subject.started_at;
  view.completed_at = subject.completed_at;
  view.head = subject.head;
  view.token = subject.token;
  view.holder = subject.holder;
  if (subject.holder && IsSuspect(subject.grants.back().takeovers_without_progress))
    view.worker_deaths = subject.grants.back().takeovers_without_progress;
  for (const SessionRow& row : store_.SessionRows()) {
    if (row.session == subject.holder) view.holder_name = row.worker_name;
  }
  std::optional<WallTime> ready_at;
  for (const auto& row : store_.Ready()) {
    if (row.subject == subject.id && (!ready_at || row.ready_at < *ready_at)) ready_at = row.ready_at;
    if (row.subject == subject.id && !subject.holder) view.worker_deaths = std::max(view.worker_deaths, row.deaths);
  }
  for (const auto& [timer, fire_at] : subject.timers) {
    if (!view.next_wake || fire_at < *view.next_wake) view.next_wake = fire_at;
  }
  if (subject.waiting) view.waiting_reason = subject.waiting->reason;
  if (subject.waiting && subject.waiting->next_wake && !view.next_wake) view.next_wake = subject.waiting->next_wake;
  if (subject.closed) {
    view.state = OpenState::kClosed;
    view.since = subject.updated_at;
  } else if (subject.quarantined()) {
    view.state = OpenState::kQuarantined;
    view.since = subject.quarantines.back().at;
  } else if (subject.holder) {
    view.state = OpenState::kLeased;
    view.since = subject.acquired_at;
  } else if (subject.waiting && subject.waiting->reason == "paused") {
    view.state = OpenState::kPaused;
    view.since = subject.waiting_since;
  } else if (view.waiting_reason == "memory") {
    view.state = OpenState::kWaiting;
    view.since = subject.waiting_since;
    if (ready_at) view.next_wake = ready_at;
  } else if (ready_at) {
    view.state = OpenState::kReady;
    view.since = ready_at;
  } else if (!subject.timers.empty() || subject.waiting) {
    view.state = OpenState::kWaiting;
    view.since = subject.waiting_since;
  } else if (IsCommanded(subject.queue)) {
    view.state = OpenState::kWaiting;
    view.waiting_reason = "command";
    view.since = subject.head.last_timestamp;
  }
  return view;
}

Result<SubjectView> MemoryQueries::GetSubject(const SubjectId& id) {
  auto subject = Get(id);
  if (!subject) return subject.error();
  return View(*subject);
}

Result<std::vector<EndView>> MemoryQueries::Ends(std::span<const SubjectId> subjects) {
  std::vector<EndView> ends;
  for (const SubjectId& id : subjects) {
    if (auto subject = store_.Inspect(id)) {
      ends.push_back({id, subject->closed, subject->listing ? subject->listing->status : "", subject->error_message});
    }
  }
  return ends;
}

Result<std::vector<SubjectId>> MemoryQueries::FindByPart(const std::string& text) {
  const auto part = SubjectPart(text);
  if (!part) return Error{Code::kInvalid, "'" + text + "' can be no part of an id"};
  std::vector<SubjectId> found;
  const std::vector<SubjectId> ids = store_.Subjects();
  for (auto id = ids.rbegin(); id != ids.rend() && int(found.size()) < kMostIdCandidates; ++id) {
    if (SubjectPart(id->ToString())->find(*part) != std::string::npos) found.push_back(*id);
  }
  return found;
}

Result<std::vector<SubjectView>> MemoryQueries::List(const ListFilter& filter) {
  std::vector<SubjectView> found;
  std::vector<SubjectId> ids = store_.Subjects();
  for (auto id = ids.rbegin(); id != ids.rend() && int(found.size()) < filter.limit; ++id) {
    if (filter.before && !(*id < *filter.before)) continue;
    MemorySubject subject = *store_.Inspect(*id);
    bool fits = subject.listing && subject.project == filter.project && (!filter.kind || subject.kind == *filter.kind) &&
                (!filter.status || subject.listing->status == *filter.status) && (!filter.name || subject.listing->name == *filter.name);
    const Json labels = fits ? ParseJson(subject.listing->labels_json).value() : Json();
    for (const auto& [name, value] : filter.labels) fits = fits && labels.contains(name) && labels[name] == value;
    fits = fits && subject.error_message.starts_with(filter.error_prefix);
    if (!fits) continue;
    SubjectView view = View(subject);
    const bool person = view.state == OpenState::kQuarantined ||
                        (view.state == OpenState::kWaiting && (view.waiting_reason == "uncertain" || view.waiting_reason == "memory"));
    if (!filter.needs_person || person) found.push_back(std::move(view));
  }
  return found;
}

Result<std::vector<Event>> MemoryQueries::Events(const SubjectId& id, std::int64_t after_seq, int limit, std::size_t most_bytes) {
  auto subject = Get(id);
  if (!subject) return subject.error();
  std::vector<Event> page;
  std::size_t bytes = 0;
  for (const Event& event : subject->events) {
    if (event.seq <= after_seq) continue;
    if (int(page.size()) >= limit || bytes > most_bytes) break;
    bytes += event.payload ? event.payload->size() : 0;
    page.push_back(event);
  }
  return page;
}

Result<std::optional<Snapshot>> MemoryQueries::SnapshotUpTo(const SubjectId& id, std::int64_t seq) {
  auto subject = Get(id);
  if (!subject) return subject.error();
  const auto newest = std::find_if(subject->snapshots.rbegin(), subject->snapshots.rend(),
                                   [&](const Snapshot& snapshot) { return snapshot.last_event_seq <= seq; });
  return newest == subject->snapshots.rend() ? std::optional<Snapshot>() : std::optional<Snapshot>(*newest);
}

Result<std::vector<AttemptView>> MemoryQueries::Attempts(const SubjectId& id) {
  auto subject = Get(id);
  if (!subject) return subject.error();
  std::vector<AttemptView> views;
  for (const AttemptRow& row : subject->attempts) {
    AttemptView view{row.step_id, row.attempt_id, row.token, row.started_at, std::nullopt};
    auto done = subject->completions.find(row.step_id);
    if (done != subject->completions.end() && done->second.attempt_id == row.attempt_id) view.completed_at = done->second.completed_at;
    views.push_back(std::move(view));
  }
  return views;
}

Result<std::vector<DispatchView>> MemoryQueries::Dispatches(const SubjectId& id) {
  auto subject = Get(id);
  if (!subject) return subject.error();
  return std::vector<DispatchView>(subject->dispatches.begin(), subject->dispatches.end());
}

Result<std::vector<CompensationRow>> MemoryQueries::Compensations(const SubjectId& id) {
  auto subject = Get(id);
  if (!subject) return subject.error();
  return subject->compensations;
}

Result<std::vector<GrantView>> MemoryQueries::Grants(const SubjectId& id) {
  auto subject = Get(id);
  if (!subject) return subject.error();
  auto& grants = subject->grants;
  if (grants.size() > kMaxGrants) grants.erase(grants.begin(), grants.end() - kMaxGrants);
  return std::move(grants);
}

Result<std::vector<LeaseView>> MemoryQueries::Leases(int limit) {
  std::vector<LeaseView> leases;
  std::map<WorkerSessionId, SessionRow> sessions;
  for (SessionRow& row : store_.SessionRows()) sessions[row.session] = row;
  for (const SubjectId& id : store_.Subjects()) {
    MemorySubject subject = *store_.Inspect(id);
    if (!subject.holder || int(leases.size()) >= limit) continue;
    const SessionRow& session = sessions[*subject.holder];
    leases.push_back({id, *subject.holder, session.worker_name, subject.token, subject.acquired_at, session.expires_at});
  }
  return leases;
}

Result<std::vector<SessionRow>> MemoryQueries::Sessions(bool include_dead) {
  std::vector<SessionRow> rows = store_.SessionRows();
  if (!include_dead) std::erase_if(rows, [](const SessionRow& row) { return row.dead; });
  return rows;
}

Result<std::vector<QuarantineView>> MemoryQueries::Quarantined(bool include_released) {
  std::vector<QuarantineView> views;
  for (const SubjectId& id : store_.Subjects()) {
    MemorySubject subject = *store_.Inspect(id);
    for (const QuarantineView& view : subject.quarantines) {
      if (include_released || !view.released_at) views.push_back(view);
    }
  }
  return views;
}

Result<std::vector<TimerRow>> MemoryQueries::Timers(const SubjectId& id) {
  auto subject = Get(id);
  if (!subject) return subject.error();
  std::vector<TimerRow> timers;
  for (const auto& [timer_id, fire_at] : subject->timers) timers.push_back({timer_id, fire_at});
  std::sort(timers.begin(), timers.end(), [](const TimerRow& a, const TimerRow& b) { return a.fire_at < b.fire_at; });
  return timers;
}

Result<std::vector<std::string>> MemoryQueries::ReadyQueues() {
  std::set<std::string> queues;
  for (const auto& row : store_.Ready()) queues.insert(row.queue);
  return std::vector<std::string>(queues.begin(), queues.end());
}

Result<Backlog> MemoryQueries::ReadBacklog() {
  Backlog backlog;
  const WallTime now = clock_.Wall();
  const auto age = [now](WallTime since) { return std::max(std::chrono::duration_cast<milliseconds>(now - since), milliseconds(0)); };
  std::set<std::pair<std::string, SubjectId>> ready;
  for (const auto& row : store_.Ready()) {
    Backlog::Queue& queue = backlog.queues[row.queue];
    ++queue.rows;
    backlog.suspects_waiting += row.deaths > 0;
    const auto subject = store_.Inspect(row.subject);  // none: a dispatch's row
    if ((subject && subject->holder) || row.ready_at > now) continue;
    if (ready.insert({row.queue, row.subject}).second) ++queue.ready;
    queue.oldest = std::max(queue.oldest, age(row.ready_at));
  }
  for (const SubjectId& id : store_.Subjects()) {
    const auto subject = store_.Inspect(id);
    backlog.suspects_held += subject->holder && IsSuspect(subject->grants.back().takeovers_without_progress);
    for (const MemoryDispatch& dispatch : subject->dispatches)
      backlog.suspects_held += dispatch.state == "started" && IsSuspect(dispatch.deaths);
  }
  for (auto& [name, queue] : backlog.queues) {
    for (const SessionRow& row : store_.SessionRows()) {
      queue.workers += !row.dead && std::find(row.queues.begin(), row.queues.end(), name) != row.queues.end() ? 1 : 0;
    }
  }
  if (auto since = store_.OutboxSince()) backlog.outbox_oldest = age(*since);
  return backlog;
}

Result<std::vector<std::string>> MemoryQueries::ServedQueues() {
  std::set<std::string> queues;
  for (const SessionRow& row : store_.SessionRows()) {
    if (!row.dead) queues.insert(row.queues.begin(), row.queues.end());
  }
  return std::vector<std::string>(queues.begin(), queues.end());
}

Result<std::vector<Undecided>> MemoryQueries::FindUndecided(std::span<const std::string> queues, const std::string& kind, int max) {
  std::map<SubjectId, std::vector<ReadyKey>> ready;
  for (const auto& row : store_.Ready()) {
    if (row.ready_at <= clock_.Wall() && row.deaths == 0 && std::find(queues.begin(), queues.end(), row.queue) != queues.end())
      ready[row.subject].push_back(row.key());
  }
  std::vector<Undecided> asked, late;
  for (auto& [id, rows] : ready) {
    const auto subject = store_.Inspect(id);
    if (!subject || subject->kind != kind || subject->holder || subject->closed || subject->quarantined()) continue;
    if (subject->required_version > EventSchemaVersion()) continue;
    const bool begun = subject->head.seq > 1;
    const bool told =
        std::any_of(subject->inbox.begin(), subject->inbox.end(), [&](const InboxRow& r) { return begun || r.kind == "cancel"; });
    const bool over = !begun && subject->run_deadline && *subject->run_deadline <= clock_.Wall();
    if (told && int(asked.size()) < max) asked.push_back({id, rows, over});
    if (!told && over && int(late.size()) < max) late.push_back({id, rows, over});
  }
  std::move(late.begin(), late.end(), std::back_inserter(asked));
  return asked;
}

}  // namespace acl
