// MemoryStore: inbox, timers, reap, reconciliation, quarantine, contents, loop leases.

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/mutant.h"
#include "shared/base/sha256.h"
#include "shared/kernel/memory_store.h"
#include "shared/kernel/post.h"
#include "shared/kernel/subject_part.h"

namespace acl {

// ---- inbox and timers

void MemoryStore::PutInbox(MemorySubject& subject, InboxRow row) {
  ++subject.wake;
  if (subject.token.value >> 32 < epoch_) subject.wake = std::max(subject.wake, epoch_ << 32);  // met by no holder of before
  if (subject.holder) subject.inbox_holder[row.id] = *subject.holder;
  subject.inbox.push_back(std::move(row));
  if (!subject.holder) PutReady(subject, Now());
}

Result<KernelStore::InboxView> MemoryStore::ReadInbox(const SubjectId& id, Token token) {
  std::lock_guard lock(mutex_);
  const MemorySubject* subject = Find(id);
  if (subject == nullptr || !subject->holder || subject->token != token) {
    return Error{Code::kLeaseLost, fmt::format("token {} does not hold subject {}", token.value, id.ToString())};
  }
  return InboxView{subject->inbox, subject->wake};
}

Result<PostAnswer> MemoryStore::Post(const InboxPost& post) {
  std::lock_guard lock(mutex_);
  MemorySubject* subject = Find(post.subject);
  if (subject == nullptr) return Error{Code::kNotFound, NoSuchRun(post.subject.ToString())};
  PostAnswer answer{false, subject->holder, subject->queue};
  std::string key = post.request_key.value_or(post.id.ToString());
  Hash256 hash = Sha256({post.kind, std::string_view("\0", 1), post.payload});
  auto known = subject->post_keys.find(key);
  if (known != subject->post_keys.end()) {
    if (known->second.hash != hash) {
      return Error{Code::kConflict,
                   fmt::format("the request key \"{}\" was used for another input of subject {}", key, post.subject.ToString())};
    }
    answer.replayed = true;
    return answer;
  }
  if (subject->closed) {
    return Error{Code::kConflict, fmt::format("subject {} is closed: it takes no more inputs", post.subject.ToString())};
  }
  subject->post_keys[key] = {hash, Now()};
  PutInbox(*subject, {post.id, post.kind, post.payload, Now()});
  return answer;
}

Result<DeliverAnswer> MemoryStore::DeliverPosts(int max) {
  std::lock_guard lock(mutex_);
  DeliverAnswer answer;
  for (auto row = outbox_.begin(); row != outbox_.end();) {
    const auto asked_for = [&](const SentRow& other) { return other.row.topic.starts_with(kCreateTopic) && other.row.key == row->row.key; };
    if (!row->row.topic.starts_with(kPostTopic) || std::any_of(outbox_.begin(), outbox_.end(), asked_for)) {
      ++row;
      continue;
    }
    if (max-- <= 0) {
      answer.more = true;
      break;
    }
    const auto id = SubjectId::Parse(row->row.key);
    MemorySubject* subject = id ? Find(*id) : nullptr;
    if (subject == nullptr || subject->closed) {
      ++answer.dropped;
    } else {
      const Head& head = subjects_.at(row->sender).head;
      auto said = ParseJson(row->row.payload, kStoredJson);
      Json payload = {{"from", row->sender.ToString()},
                      {"head_seq", head.seq},
                      {"state_root", ToHex(head.state_root)},
                      {"said", said ? std::move(*said) : Json::object()}};
      answer.posted.emplace_back(*id, PostAnswer{false, subject->holder, subject->queue});
      PutInbox(*subject, {InboxId{NewId()}, row->row.topic.substr(kPostTopic.size()), DumpJson(payload), Now()});
    }
    row = outbox_.erase(row);
  }
  return answer;
}

Result<std::vector<AskedSubject>> MemoryStore::AskedSubjects(int max) {
  std::lock_guard lock(mutex_);
  std::vector<AskedSubject> asked;
  for (const SentRow& sent : outbox_) {
    if (!sent.row.topic.starts_with(kCreateTopic)) continue;
    if (int(asked.size()) >= max) break;
    const auto id = SubjectId::Parse(sent.row.key);
    if (!id) continue;
    asked.push_back(
        {sent.id, sent.sender, *id, subjects_.at(sent.sender).project, sent.row.topic.substr(kCreateTopic.size()), sent.row.payload});
  }
  return asked;
}

Status MemoryStore::ForgetAsked(std::span<const std::int64_t> outbox_ids) {
  std::lock_guard lock(mutex_);
  std::erase_if(outbox_, [&](const SentRow& sent) { return std::find(outbox_ids.begin(), outbox_ids.end(), sent.id) != outbox_ids.end(); });
  return {};
}

Result<FireAnswer> MemoryStore::FireTimers(int max) {
  std::lock_guard lock(mutex_);
  std::vector<std::tuple<WallTime, SubjectId, std::string>> timers;
  for (const auto& [id, subject] : subjects_) {
    for (const auto& [timer_id, fire_at] : subject.timers) timers.emplace_back(fire_at, id, timer_id);
  }
  std::sort(timers.begin(), timers.end());
  FireAnswer answer;
  for (const auto& [fire_at, id, timer_id] : timers) {
    bool due = fire_at <= Now() && !Locked(id);
    if (!due || answer.fired >= max) {
      answer.more = answer.more || due;
      if (!answer.next_fire) answer.next_fire = fire_at;
      continue;
    }
    MemorySubject& subject = subjects_.at(id);
    subject.timers.erase(timer_id);
    Json payload{{"timer_id", timer_id}, {"fire_at", FormatWallTime(fire_at)}};
    PutInbox(subject, {InboxId{NewId()}, "timer", DumpJson(payload), Now()});
    ++answer.fired;
  }
  return answer;
}

// ---- reap and reconciliation

Result<ReapAnswer> MemoryStore::Reap(int max_leases) {
  std::lock_guard lock(mutex_);
  ReapAnswer answer;
  int live = 0;
  std::vector<Session*> dying;
  for (auto& [id, session] : sessions_) {
    if (session.row.dead) continue;
    ++live;
    if (session.row.expires_at <= Now() && !locked_sessions_.contains(id)) dying.push_back(&session);
    const auto left = std::max(std::chrono::ceil<milliseconds>(session.row.expires_at - Now()), milliseconds(0));
    answer.next_death = std::min(answer.next_death.value_or(left), left);
  }
  answer.sessions_died = int(dying.size());
  for (Session* session : dying) {
    session->row.dead = true;
    session->died_at = Now();
    session->died_with_fleet = dying.size() > 1 && int(dying.size()) * 2 > live;
  }
  for (Session* session : dying) session->blamed = BlameOf(*session);
  const ReapedDispatches settled = ReapNow(std::nullopt, max_leases);
  answer.dispatches_lost = settled.lost;
  answer.dispatches_withdrawn = settled.withdrawn;
  answer.more = settled.more;
  for (auto& [id, subject] : subjects_) {
    if (!subject.holder) continue;
    const Session& session = sessions_.at(*subject.holder);
    bool dead = session.row.dead;
    if (Mutant("reap_by_an_earlier_look")) dead = std::exchange(seen_dead_[id], dead);
    if (!dead || Locked(id)) continue;
    if (answer.leases_freed == max_leases) {
      answer.more = true;
      break;
    }
    ++answer.leases_freed;
    subject.token = Mint(subject.token);
    subject.ended = EndOf(session, id.uuid);
    Note(MemoryRecord::What::kReaped, subject).held = !session.row.dead;
    subject.holder.reset();
    subject.updated_at = Now();
    if (Mutant("no_ready_row_with_the_reap")) continue;
    const int deaths = NextSuspicionOf(subject).deaths;
    PutReady(subject, Now() + (subject.ended == LeaseEnd::kUncounted ? milliseconds(0) : TakeoverDelay(deaths)), HasBegun(subject),
             IsSuspect(deaths) ? deaths : 0);
  }
  return answer;
}

Result<std::vector<std::pair<SubjectId, Token>>> MemoryStore::HeldBy(const WorkerSessionId& session, milliseconds older_than) {
  std::lock_guard lock(mutex_);
  std::vector<std::pair<SubjectId, Token>> held;
  for (const auto& [id, subject] : subjects_) {
    if (subject.holder == session && subject.acquired_at + older_than <= Now()) held.emplace_back(id, subject.token);
  }
  return held;
}

Status MemoryStore::ReleaseLease(const SubjectId& id, const WorkerSessionId& session, Token token) {
  std::lock_guard lock(mutex_);
  MemorySubject* subject = Find(id);
  if (subject == nullptr || subject->holder != session || subject->token != token) return {};
  Note(MemoryRecord::What::kReleased, *subject);
  subject->holder.reset();
  subject->ended = LeaseEnd::kUncounted;  // nothing of it ran: what it was suspected of it is
  subject->updated_at = Now();
  PutReady(*subject, Now(), HasBegun(*subject));
  return {};
}

// ---- quarantine

void MemoryStore::PutQuarantine(MemorySubject& subject, const std::string& reason, const std::string& detail) {
  Note(MemoryRecord::What::kQuarantined, subject);
  subject.quarantines.push_back({subject.id, reason, detail, Now(), std::nullopt, {}});
  subject.holder.reset();
  subject.ended = LeaseEnd::kOwnWill;
  subject.updated_at = Now();
}

Status MemoryStore::Quarantine(const SubjectId& id, const WorkerSessionId& session, Token token, const std::string& reason,
                               const std::string& detail) {
  std::lock_guard lock(mutex_);
  MemorySubject* subject = Find(id);
  if (subject == nullptr || subject->holder != session || subject->token != token) {
    return Error{Code::kLeaseLost, fmt::format("token {} does not hold subject {}", token.value, id.ToString())};
  }
  PutQuarantine(*subject, reason, detail);
  return {};
}

Status MemoryStore::ReleaseQuarantine(const SubjectId& id, const std::string& by) {
  std::lock_guard lock(mutex_);
  MemorySubject* subject = Find(id);
  if (subject == nullptr || !subject->quarantined()) {
    return Error{Code::kNotFound, fmt::format("subject {} is not quarantined", id.ToString())};
  }
  subject->quarantines.back().released_at = Now();
  subject->quarantines.back().released_by = by;
  subject->ended = LeaseEnd::kOwnWill;
  Json payload{{"reason", subject->quarantines.back().reason}, {"by", by}};
  PutInbox(*subject, {InboxId{NewId()}, "quarantine_released", DumpJson(payload), Now()});
  return {};
}

// ---- contents and loops

Status MemoryStore::PutContents(std::span<const std::pair<Hash256, std::string>> contents) {
  std::lock_guard lock(mutex_);
  for (const auto& [hash, bytes] : contents) {
    if (Sha256(bytes) != hash) return Error{Code::kInvalid, fmt::format("content {}: the bytes have another hash", ToHex(hash))};
  }
  for (const auto& [hash, bytes] : contents) contents_.try_emplace(hash, StoredContent{bytes, {}, {}, {}}).first->second.used_at = Now();
  return {};
}

Result<std::string> MemoryStore::GetContent(const Hash256& hash) {
  std::lock_guard lock(mutex_);
  auto it = contents_.find(hash);
  if (it == contents_.end()) return Error{Code::kNotFound, fmt::format("no content {}", ToHex(hash))};
  return it->second.bytes;
}

std::optional<std::string> MemoryStore::MissingContent(const std::vector<Hash256>& hashes) const {
  for (const Hash256& hash : hashes) {
    if (!contents_.contains(hash)) return fmt::format("content {} is not stored (any more)", ToHex(hash));
  }
  return std::nullopt;
}

Result<CollectAnswer> MemoryStore::CollectContents(milliseconds grace, const ContentMark& from, int max) {
  std::lock_guard lock(mutex_);
  CollectAnswer answer;
  answer.next = from;
  std::map<std::pair<WallTime, Hash256>, bool> old;
  for (const auto& [hash, content] : contents_) {
    const std::pair place(content.used_at, hash);
    if (content.used_at < Now() - grace && place > std::pair(from.at, from.hash))
      old[place] = content.subjects.empty() && content.snapshots.empty();
  }
  int looked = 0;
  for (const auto& [place, free] : old) {
    if (looked == max) break;
    ++looked;
    answer.next.at = place.first, answer.next.hash = place.second;
    if (free) answer.contents += std::int64_t(contents_.erase(place.second));
  }
  answer.more = looked == max;
  return answer;
}

Result<RetainAnswer> MemoryStore::Retain(milliseconds sessions, milliseconds request_keys, int max) {
  std::lock_guard lock(mutex_);
  RetainAnswer answer;
  for (auto it = sessions_.begin(); it != sessions_.end() && answer.sessions < max;) {
    const bool old = it->second.row.dead && it->second.died_at < Now() - sessions;
    const bool named = std::any_of(subjects_.begin(), subjects_.end(), [&](const auto& entry) {
      const MemorySubject& subject = entry.second;
      return subject.holder == it->first ||
             std::any_of(subject.dispatches.begin(), subject.dispatches.end(),
                         [&](const MemoryDispatch& dispatch) { return dispatch.session == it->first && dispatch.state == "started"; });
    });
    it = old && !named ? (++answer.sessions, sessions_.erase(it)) : std::next(it);
  }
  const auto prune = [&](auto& keys) {
    for (auto it = keys.begin(); it != keys.end() && answer.request_keys < max;) {
      it = it->second.at < Now() - request_keys ? (++answer.request_keys, keys.erase(it)) : std::next(it);
    }
  };
  prune(request_keys_);
  for (auto& [id, subject] : subjects_) prune(subject.post_keys);
  answer.dispatches = RetainDispatches(sessions, max);
  return answer;
}

Result<DropAnswer> MemoryStore::DropSegments(milliseconds keep, int max) {
  if (keep < least_journal_retention_) return TooYoungToDrop(keep);
  std::lock_guard lock(mutex_);
  DropAnswer answer;
  for (auto& [id, subject] : subjects_) {
    if (subject.quarantined() || Locked(id)) continue;
    // What is dropped is behind the newest beginning that is old enough.
    for (const MemorySubject::Segment segment : std::vector(subject.segments)) {
      const auto closing = std::find_if(subject.snapshots.begin(), subject.snapshots.end(),
                                        [&](const Snapshot& one) { return one.last_event_seq == segment.first_seq - 1; });
      const bool first = subject.events.front().seq == segment.first_seq;  // what was before it is gone
      if (first || segment.began_at >= Now() - keep || (closing == subject.snapshots.end() && !mutants_.closing_snapshot_lost)) continue;
      if (answer.segments == max) {
        answer.more = true;
        return answer;
      }
      ++answer.segments;
      const auto kept =
          std::find_if(subject.events.begin(), subject.events.end(), [&](const Event& event) { return event.seq == segment.first_seq; });
      answer.events += kept - subject.events.begin();
      subject.dropped.insert(subject.dropped.end(), subject.events.begin(), kept);
      subject.events.erase(subject.events.begin(), kept);
      std::erase_if(subject.segments, [&](const MemorySubject::Segment& old) { return old.first_seq < segment.first_seq; });
      RemoveSnapshots(subject, [&](const Snapshot& one) { return one.last_event_seq < segment.first_seq - 1; });
    }
  }
  return answer;
}

Result<std::vector<std::optional<LeaderLease>>> MemoryStore::HoldLeaderLeases(std::span<const std::string> names,
                                                                              const WorkerSessionId& session, milliseconds ttl) {
  std::lock_guard lock(mutex_);
  std::vector<std::optional<LeaderLease>> held;
  for (const std::string& name : names) held.push_back(HoldOne(name, session, ttl));
  return held;
}

std::optional<LeaderLease> MemoryStore::HoldOne(const std::string& name, const WorkerSessionId& session, milliseconds ttl) {
  auto [it, fresh] = loops_.try_emplace(name);
  LeaderRow& loop = it->second;
  auto holder = sessions_.find(loop.session);  // a coordinator's session is of its jobs alone and has no row
  bool free = fresh || loop.lease.expires_at <= Now() || (holder != sessions_.end() && holder->second.row.dead);
  if (!free && loop.session != session) return std::nullopt;
  loop.session = session;
  loop.lease.name = name;
  if (free) loop.lease.token = Mint(loop.lease.token);
  loop.lease.expires_at = Now() + ttl;
  return loop.lease;
}

// ---- for simulator and checkers

void MemoryStore::SetEpoch(std::int64_t epoch) {
  std::lock_guard lock(mutex_);
  epoch_ = std::max(epoch_, epoch);
}

void MemoryStore::LockLease(const SubjectId& subject) {
  std::lock_guard lock(mutex_);
  locked_.insert(subject);
}

void MemoryStore::UnlockLease(const SubjectId& subject) {
  std::lock_guard lock(mutex_);
  locked_.erase(subject);
}

void MemoryStore::LockSession(const WorkerSessionId& session) {
  std::lock_guard lock(mutex_);
  locked_sessions_.insert(session);
}

void MemoryStore::UnlockSession(const WorkerSessionId& session) {
  std::lock_guard lock(mutex_);
  locked_sessions_.erase(session);
}

std::vector<SubjectId> MemoryStore::Subjects() const {
  std::lock_guard lock(mutex_);
  std::vector<SubjectId> ids;
  for (const auto& [id, subject] : subjects_) ids.push_back(id);
  return ids;
}

std::optional<MemorySubject> MemoryStore::Inspect(const SubjectId& id) const {
  std::lock_guard lock(mutex_);
  auto it = subjects_.find(id);
  if (it == subjects_.end()) return std::nullopt;
  return it->second;
}

bool MemoryStore::IsOpen(const SubjectId& id) const {
  std::lock_guard lock(mutex_);
  auto it = subjects_.find(id);
  return it != subjects_.end() && !it->second.closed;
}

bool MemoryStore::AnyOpen() const {
  std::lock_guard lock(mutex_);
  return std::any_of(subjects_.begin(), subjects_.end(), [](const auto& one) { return !one.second.closed; });
}

std::vector<MemoryRecord> MemoryStore::Records() const {
  std::lock_guard lock(mutex_);
  return records_;
}

std::vector<OutboxRow> MemoryStore::Outbox() const {
  std::lock_guard lock(mutex_);
  std::vector<OutboxRow> rows;
  for (const SentRow& sent : outbox_) rows.push_back(sent.row);
  return rows;
}

std::optional<WallTime> MemoryStore::OutboxSince() const {
  std::lock_guard lock(mutex_);
  return outbox_since_;
}

std::vector<MemoryStore::ReadyRow> MemoryStore::Ready() const {
  std::lock_guard lock(mutex_);
  return {ready_.begin(), ready_.end()};
}

std::optional<MemoryStore::LeaderRow> MemoryStore::LeaderOf(const std::string& name) const {
  std::lock_guard lock(mutex_);
  auto it = loops_.find(name);
  return it == loops_.end() ? std::nullopt : std::optional(it->second);
}

void MemoryStore::ExpireLeaders() {
  std::lock_guard lock(mutex_);
  for (auto& [name, loop] : loops_) loop.lease.expires_at = std::min(loop.lease.expires_at, Now());
}

bool MemoryStore::HasRequestKey(const std::string& key) const {
  std::lock_guard lock(mutex_);
  return request_keys_.contains({kDefaultProject, key});
}

std::vector<SessionRow> MemoryStore::SessionRows() const {
  std::lock_guard lock(mutex_);
  std::vector<SessionRow> rows;
  for (const auto& [id, session] : sessions_) {
    SessionRow row = session.row;
    row.leases_held = std::count_if(subjects_.begin(), subjects_.end(),
                                    [&session_id = id](const auto& entry) { return entry.second.holder == session_id; });
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<WallTime> MemoryStore::NextDue() const {
  std::lock_guard lock(mutex_);
  std::optional<WallTime> due;
  auto offer = [&](WallTime at) { due = due ? std::min(*due, at) : at; };
  for (const ReadyRow& row : ready_) offer(std::max(row.ready_at, Now()));
  for (const auto& [id, subject] : subjects_) {
    for (const auto& [timer, fire_at] : subject.timers) offer(std::max(fire_at, Now()));
  }
  for (const auto& [id, session] : sessions_) {
    if (!session.row.dead) offer(std::max(session.row.expires_at, Now()));
  }
  return due;
}

}  // namespace acl
