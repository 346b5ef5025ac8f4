#include "shared/kernel/memory_store.h"

#include "shared/base/mutant.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/kernel/dispatch.h"

namespace acl {

// A version 7 id whose time is the store's counter: the same on every run, growing, unique.
Uuid MemoryStore::NewId() {
  std::uint64_t count = ++ids_;
  Uuid uuid;
  for (int i = 0; i < 6; ++i) uuid.bytes[std::size_t(5 - i)] = std::uint8_t(count >> (8 * i));
  uuid.bytes[6] = 0x70;
  uuid.bytes[8] = 0x80;
  std::uint64_t mixed = count * 0x9e3779b97f4a7c15ull;
  for (int i = 0; i < 7; ++i) uuid.bytes[std::size_t(9 + i)] = std::uint8_t(mixed >> (8 * i));
  return uuid;
}

Token MemoryStore::Mint(Token old) const { return Token{std::max(old.value + 1, (epoch_ << 32) + 1)}; }

MemorySubject* MemoryStore::Find(const SubjectId& subject) {
  auto it = subjects_.find(subject);
  return it == subjects_.end() ? nullptr : &it->second;
}

MemoryRecord& MemoryStore::Note(MemoryRecord::What what, const MemorySubject& subject) {
  MemoryRecord record;
  record.what = what;
  record.subject = subject.id;
  record.session = subject.holder.value_or(WorkerSessionId{});
  record.token = subject.token;
  record.lease_token = subject.token;
  record.base_seq = subject.head.seq;
  record.at = Now();
  return records_.emplace_back(std::move(record));
}

// ---- sessions

Result<SessionGrant> MemoryStore::OpenSession(const SessionRequest& request) {
  std::lock_guard lock(mutex_);
  Session session;
  SessionRow& row = session.row;
  row.session = WorkerSessionId{NewId()};
  row.worker_name = request.worker_name;
  row.host = request.host;
  row.version = request.version;
  row.pid = request.pid;
  row.slots = request.slots;
  row.queues = request.queues;
  row.started_at = row.heartbeat_at = Now();
  row.expires_at = Now() + request.ttl;
  WorkerSessionId id = row.session;
  sessions_.emplace(id, std::move(session));
  return SessionGrant{id, Now()};
}

Result<HeartbeatAnswer> MemoryStore::Heartbeat(const WorkerSessionId& id, milliseconds ttl) {
  std::lock_guard lock(mutex_);
  auto it = sessions_.find(id);
  if (it == sessions_.end() || it->second.row.dead || it->second.row.expires_at <= Now()) {
    return Error{Code::kLeaseLost, fmt::format("session {} is dead or expired: open a new one", id.ToString())};
  }
  it->second.row.heartbeat_at = Now();
  it->second.row.expires_at = Now() + ttl;
  HeartbeatAnswer answer{Now(), {}};
  for (const auto& [subject_id, subject] : subjects_) {
    const bool told =
        std::any_of(subject.inbox_holder.begin(), subject.inbox_holder.end(), [&](const auto& row) { return row.second == id; });
    if (told) answer.woken.push_back(subject_id);
    for (const MemoryDispatch& dispatch : subject.dispatches) {
      if (dispatch.session == id && dispatch.state == "started" && dispatch.cancel_requested) answer.unwanted.push_back(dispatch.id);
    }
  }
  return answer;
}

Status MemoryStore::CloseSession(const WorkerSessionId& id) {
  std::lock_guard lock(mutex_);
  auto it = sessions_.find(id);
  if (it == sessions_.end() || it->second.row.dead) return {};
  it->second.row.dead = true;
  it->second.closed = true;
  it->second.died_at = Now();
  return {};
}

// ---- create

Result<std::vector<CreateOutcome>> MemoryStore::Create(std::span<const CreateItem> items) {
  std::lock_guard lock(mutex_);
  std::set<SubjectId> fresh;
  std::set<std::pair<ProjectId, std::string>> keys;
  for (const CreateItem& item : items) {  // one transaction: nothing is created if an id is used twice
    bool replay = item.request_key &&
                  (request_keys_.contains({item.project, *item.request_key}) || !keys.insert({item.project, *item.request_key}).second);
    if (!replay && (subjects_.contains(item.subject) || !fresh.insert(item.subject).second)) {
      return Error{Code::kConflict, fmt::format("subject {} exists already: ids are never used twice", item.subject.ToString())};
    }
    if (auto missing = MissingContent(item.contents); missing && !replay) return Error{Code::kNotFound, *missing};
  }
  std::vector<CreateOutcome> outcomes;
  for (const CreateItem& item : items) {
    outcomes.push_back(CreateOne(item));
  }
  return outcomes;
}

CreateOutcome MemoryStore::CreateOne(const CreateItem& item) {
  if (item.request_key) {
    auto it = request_keys_.find({item.project, *item.request_key});
    if (it != request_keys_.end()) {
      const auto& [hash, first, at] = it->second;
      auto kind = hash == item.request_hash ? CreateOutcome::Kind::kReplayed : CreateOutcome::Kind::kKeyConflict;
      return CreateOutcome{kind, first, subjects_.at(first).token};
    }
    request_keys_[{item.project, *item.request_key}] = {item.request_hash, item.subject, Now()};
  }
  MemorySubject subject;
  subject.id = item.subject;
  subject.project = item.project;
  subject.kind = item.kind;
  subject.queue = item.queue;
  subject.priority = item.priority;
  subject.traceparent = item.traceparent;
  subject.required_version = item.required_version;
  subject.created_at = subject.updated_at = Now();
  subject.token = Mint(Token{});
  if (item.time_limit.count() > 0) subject.run_deadline = Now() + item.time_limit;
  subject.listing = item.listing;
  subject.head.journal = JournalId{NewId()};
  subject.head.chain = ChainStart(item.subject);
  subject.head.state_root = item.state_root;
  subject.head.last_timestamp = Now();
  for (Event event : item.events) {
    event.subject = item.subject;
    event.seq = ++subject.head.seq;
    event.journal = subject.head.journal;
    event.token = subject.token;
    event.timestamp = Now();
    Seal(event, subject.head.chain);
    subject.head.chain = event.chain;
    subject.events.push_back(std::move(event));
  }
  for (const TimerRow& timer : item.timers) subject.timers[timer.timer_id] = timer.fire_at;
  for (const Hash256& hash : item.contents) contents_.at(hash).subjects.insert(subject.id);
  MemoryRecord& record = Note(MemoryRecord::What::kCreated, subject);
  record.base_seq = 0;
  record.events = subject.head.seq;
  bool granted = false;
  if (item.grant_to && item.make_ready) {
    auto session = sessions_.find(*item.grant_to);
    granted = session != sessions_.end() && !session->second.row.dead;
    if (granted) PutGrant(subject, *item.grant_to, {});
  }
  const bool ready = item.make_ready && !granted;
  if (ready) PutReady(subject, Now(), false);
  Token token = subject.token;
  subjects_.emplace(item.subject, std::move(subject));
  return CreateOutcome{CreateOutcome::Kind::kCreated, item.subject, token, granted, ready ? Now() : WallTime{}};
}

// ---- claim

Claimed MemoryStore::Read(const MemorySubject& subject) const {
  Claimed claimed;
  claimed.subject = subject.id;
  claimed.project = subject.project;
  claimed.kind = subject.kind;
  claimed.queue = subject.queue;
  claimed.priority = subject.priority;
  claimed.wake = subject.wake;
  claimed.head = subject.head;
  if (!subject.snapshots.empty()) claimed.snapshot = subject.snapshots.back();
  std::int64_t after = claimed.snapshot ? claimed.snapshot->last_event_seq : 0;
  for (const Event& event : subject.events) {
    if (event.seq > after) claimed.events.push_back(event);
  }
  for (const AttemptRow& attempt : subject.attempts) {
    if (!subject.completions.contains(attempt.step_id)) claimed.attempts.push_back(attempt);
  }
  claimed.inbox = subject.inbox;
  for (const auto& [id, fire_at] : subject.timers) claimed.timers.push_back({id, fire_at});
  return claimed;
}

void MemoryStore::PutGrant(MemorySubject& subject, const WorkerSessionId& session, const Suspicion& suspicion) {
  if (Mutant("fence_in_an_earlier_transaction")) proved_[session].insert({subject.id, subject.token});
  subject.holder = session;
  subject.acquired_at = subject.updated_at = Now();
  subject.ended = LeaseEnd::kOwnWill;
  subject.waiting.reset();
  auto it = sessions_.find(session);
  subject.grants.push_back(
      {subject.token, session, it->second.row.worker_name, subject.head.seq, suspicion.deaths, Now(), suspicion.alone});
  Note(MemoryRecord::What::kGranted, subject);
}

Claimed MemoryStore::Grant(MemorySubject& subject, const WorkerSessionId& session, const Suspicion& suspicion) {
  bool takeover = subject.ended != LeaseEnd::kOwnWill;
  subject.token = Mint(subject.token);
  PutGrant(subject, session, suspicion);
  auto stale = before_last_commit_.find(subject.id);
  bool read_stale = mutants_.stale_claim && takeover && stale != before_last_commit_.end();
  Claimed claimed = Read(read_stale ? stale->second : subject);
  before_last_commit_.erase(subject.id);
  claimed.token = subject.token;
  claimed.wake = subject.wake;
  claimed.takeovers_without_progress = suspicion.deaths;
  claimed.died_alone = suspicion.alone;
  claimed.db_now = Now();
  return claimed;
}

Result<ClaimAnswer> MemoryStore::Claim(const ClaimRequest& request) {
  std::lock_guard lock(mutex_);
  auto session = sessions_.find(request.session);
  if (session == sessions_.end() || session->second.row.dead) {
    return Error{Code::kLeaseLost, fmt::format("session {} is dead: open a new one", request.session.ToString())};
  }
  ClaimAnswer answer;
  answer.db_now = Now();
  const auto dispatches_left = [&] { return request.max_dispatches - int(answer.dispatches.size()); };
  if (request.keys) {
    const std::set<ReadyKey> keys(request.keys->begin(), request.keys->end());
    answer.missing = int(request.keys->size());
    TakeNamedSuspects(keys, request, answer);
    answer.begun_waits =
        std::any_of(ready_.begin(), ready_.end(), [&](const ReadyRow& row) { return row.begun && row.deaths == 0 && Waits(row, request); });
    for (const ReadyKey& key : keys) {
      auto row = ready_.find({key.queue, key.priority, key.ready_at, key.subject});
      if (row == ready_.end() || row->deaths > 0 || !MayHave(*row, request, dispatches_left())) continue;
      --answer.missing;
      const auto picked = ready_.extract(row);
      if (Mutant("offset_before_database") && ++ids_ % 4 == 0) continue;  // the message is done with, and the process dies before it claims
      Picked(picked.value(), request, answer);
    }
    admitted_.clear();
    return answer;
  }
  const auto got = [&] { return int(answer.claimed.size() + answer.dispatches.size()); };
  if (!request.begun_only) {
    for (const ReadyRow& row : PickSuspects(request, request.queues, request.max)) {
      ready_.erase(row);
      Picked(row, request, answer);
    }
    admitted_.clear();
  }
  for (const ReadyRow& row : PickWaiting(request, request.max - got(), dispatches_left())) {
    ready_.erase(row);
    Picked(row, request, answer);
  }
  return answer;
}

bool MemoryStore::Waits(const ReadyRow& row, const ClaimRequest& request) const {
  return row.ready_at <= Now() - request.min_age &&
         std::find(request.queues.begin(), request.queues.end(), row.queue) != request.queues.end();
}

std::vector<MemoryStore::ReadyRow> MemoryStore::PickWaiting(const ClaimRequest& request, int most, int dispatches_left) {
  constexpr std::uint64_t kNewShare = 4;
  std::vector<ReadyRow> waiting;
  for (const ReadyRow& row : ready_) {
    const bool wanted =
        row.deaths == 0 && Waits(row, request) && (row.begun || !request.begun_only) && MayHave(row, request, request.max_dispatches);
    if (wanted) waiting.push_back(row);
  }
  // A look is counted only if it has the choice.
  const auto of = [&](bool begun) {
    return std::any_of(waiting.begin(), waiting.end(), [&](const ReadyRow& row) { return row.begun == begun; });
  };
  const bool begun_first = !of(true) || !of(false) || ++looks_ % kNewShare != 0;
  std::stable_sort(waiting.begin(), waiting.end(), [&](const ReadyRow& a, const ReadyRow& b) {
    return a.priority != b.priority ? a.priority < b.priority : a.begun != b.begun && a.begun == begun_first;
  });
  std::vector<ReadyRow> picked;
  for (const ReadyRow& row : waiting) {
    if (int(picked.size()) >= most) break;
    if (!MayHave(row, request, dispatches_left)) continue;
    dispatches_left -= dispatch_subjects_.contains(DispatchId{row.subject.uuid}) ? 1 : 0;
    picked.push_back(row);
  }
  return picked;
}

namespace {
// Its claimer has the state.
void LeaveOutState(Claimed& claimed) { claimed.snapshot.reset(), claimed.events.clear(), claimed.attempts.clear(); }
}  // namespace

Status MemoryStore::ReadClaimed(std::vector<Claimed>& granted) {
  std::lock_guard lock(mutex_);
  for (Claimed& claimed : granted) {
    const MemorySubject* subject = Find(claimed.subject);
    if (subject == nullptr) continue;
    Claimed read = Read(*subject);
    read.token = claimed.token, read.wake = claimed.wake;  // of the grant: an input since then makes the holder look again
    read.takeovers_without_progress = claimed.takeovers_without_progress, read.died_alone = claimed.died_alone;
    read.db_now = claimed.db_now, read.sticky = claimed.sticky;
    if (read.sticky) LeaveOutState(read);
    claimed = std::move(read);
  }
  return {};
}

Result<std::vector<Claimed>> MemoryStore::ReadGrants(const WorkerSessionId& session, std::span<const SubjectId> subjects) {
  std::lock_guard lock(mutex_);
  std::vector<Claimed> granted;
  for (const SubjectId& id : subjects) {
    const MemorySubject* subject = Find(id);
    if (subject == nullptr || subject->holder != session || subject->closed || subject->quarantined()) continue;
    const bool untouched = subject->grants.back().head_seq == subject->head.seq && subject->events.front().token == subject->token;
    if (!untouched) continue;
    Claimed claimed = Read(*subject);
    claimed.token = subject->token;
    claimed.inbox.clear();
    claimed.inbox_left = std::exchange(claimed.wake, 0) > 0;
    claimed.db_now = Now();
    granted.push_back(std::move(claimed));
  }
  return granted;
}

bool MemoryStore::MayHave(const ReadyRow& row, const ClaimRequest& request, int dispatches_left) const {
  if (row.ready_at > Now()) return false;
  if (dispatch_subjects_.contains(DispatchId{row.subject.uuid}))
    return dispatches_left > 0 && request.known_version >= EventSchemaVersion();
  const MemorySubject& subject = subjects_.at(row.subject);
  const bool kind = request.kinds.empty() || std::find(request.kinds.begin(), request.kinds.end(), subject.kind) != request.kinds.end();
  return kind && subject.required_version <= request.known_version && !Locked(subject.id);
}

void MemoryStore::Picked(const ReadyRow& row, const ClaimRequest& request, ClaimAnswer& answer) {
  const DispatchId dispatch{row.subject.uuid};
  if (dispatch_subjects_.contains(dispatch)) {
    TakeDispatch(row, request.session, answer);
  } else {
    GrantPicked(row, request, answer);
  }
}

// Its ready row is gone; the lease is granted if it is free and open.
void MemoryStore::GrantPicked(const ReadyRow& row, const ClaimRequest& request, ClaimAnswer& answer) {
  MemorySubject& subject = subjects_.at(row.subject);
  if (subject.holder || subject.closed || subject.quarantined()) {
    ++answer.dropped;
    return;
  }
  const Suspicion suspicion = NextSuspicionOf(subject);
  const bool has_open_attempt = std::any_of(subject.attempts.begin(), subject.attempts.end(),
                                            [&](const AttemptRow& attempt) { return !subject.completions.contains(attempt.step_id); });
  if (MustBeQuarantined(suspicion, has_open_attempt)) {
    PutQuarantine(subject, kKillsItsWorker,
                  fmt::format("{} workers died while it was the only suspect on them, {} in all; no step completed between, the journal "
                              "stands at event {}",
                              suspicion.alone, suspicion.deaths, subject.head.seq));
    ++answer.quarantined;
    return;
  }
  if (Refused(row, suspicion.deaths)) return;
  const Token released = request.keys && request.released_token ? request.released_token(subject.id) : Token{};
  const bool sticky = released.value > 0 && released == subject.token;
  Claimed claimed = Grant(subject, request.session, suspicion);
  claimed.sticky = sticky;
  if (sticky) LeaveOutState(claimed);
  if (request.contents_later) {
    Claimed later;
    later.subject = claimed.subject, later.token = claimed.token, later.wake = claimed.wake;
    later.takeovers_without_progress = suspicion.deaths, later.died_alone = suspicion.alone, later.db_now = claimed.db_now;
    later.sticky = sticky, later.unread = true;
    claimed = std::move(later);
  }
  answer.claimed.push_back(std::move(claimed));
}

Result<DueAnswer> MemoryStore::DueReady(std::span<const DueLook> looks, int max) {
  std::lock_guard lock(mutex_);
  DueAnswer answer{{}, Now()};
  std::map<std::tuple<int, std::string, int>, int> taken;
  for (const ReadyRow& row : ready_) {
    const int shard = ReadyShard(row.subject);
    const auto look = std::find_if(looks.begin(), looks.end(), [&](const DueLook& one) { return one.shard == shard; });
    if (row.ready_at > Now() || look == looks.end()) continue;
    const std::vector<ReadyKey>& marks = look->marks;
    const auto mark =
        std::find_if(marks.begin(), marks.end(), [&](const ReadyKey& m) { return m.queue == row.queue && m.priority == row.priority; });
    if (mark != marks.end() && std::tie(row.ready_at, row.subject) <= std::tie(mark->ready_at, mark->subject)) continue;
    if (++taken[{shard, row.queue, row.priority}] > max) continue;
    if (const auto dispatch = dispatch_subjects_.find(DispatchId{row.subject.uuid}); dispatch != dispatch_subjects_.end()) {
      const std::string& trace = subjects_.at(dispatch->second).traceparent;
      answer.rows.push_back({row.key(), std::string(kDispatchReadyKind), EventSchemaVersion(), 0, Token{}, trace});
      continue;
    }
    const MemorySubject& subject = subjects_.at(row.subject);
    answer.rows.push_back({row.key(), subject.kind, subject.required_version, subject.head.seq, subject.token, subject.traceparent});
  }
  return answer;
}

}  // namespace acl
