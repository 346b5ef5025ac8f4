// MemoryStore: suspects (suspicion.h).

#include <algorithm>

#include "shared/base/mutant.h"
#include "shared/kernel/memory_store.h"

namespace acl {

namespace {

bool ProgressedSince(const MemorySubject& subject, std::int64_t seq) {
  return std::any_of(subject.completions.begin(), subject.completions.end(), [&](const auto& one) { return one.second.event_seq > seq; });
}

}  // namespace

Suspicion MemoryStore::NextSuspicionOf(const MemorySubject& subject) const {
  if (subject.grants.empty()) return {};
  const GrantView& last = subject.grants.back();
  return NextSuspicion({last.takeovers_without_progress, last.died_alone}, subject.ended, ProgressedSince(subject, last.head_seq));
}

std::vector<Suspect> MemoryStore::SuspectsOf(const WorkerSessionId& session) const {
  std::vector<Suspect> suspects;
  for (const auto& [id, subject] : subjects_) {
    if (subject.holder == session && IsSuspect(subject.grants.back().takeovers_without_progress) &&
        !ProgressedSince(subject, subject.grants.back().head_seq)) {
      suspects.push_back({id.uuid, subject.grants.back().takeovers_without_progress, subject.acquired_at});
    }
    for (const MemoryDispatch& dispatch : subject.dispatches) {
      if (dispatch.state == "started" && dispatch.session == session && IsSuspect(dispatch.deaths)) {
        suspects.push_back({dispatch.id.uuid, dispatch.deaths, *dispatch.started_at});
      }
    }
  }
  return suspects;
}

bool MemoryStore::HasSuspectOnTrial(const WorkerSessionId& session) const {
  const auto suspects = SuspectsOf(session);
  const milliseconds ttl = sessions_.at(session).ttl();
  return std::any_of(suspects.begin(), suspects.end(), [&](const Suspect& one) { return one.since + TrialTime(ttl, one.deaths) > Now(); });
}

int MemoryStore::SuspectsAdmittedTo(const WorkerSessionId& id, int worst) const {
  const Session& session = sessions_.at(id);
  TrialBench bench;
  bench.slots = session.row.slots;
  bench.lease_ttl = session.ttl();
  bench.age = std::chrono::duration_cast<milliseconds>(Now() - session.row.started_at);
  for (const Suspect& suspect : SuspectsOf(id)) {
    if (suspect.since + TrialTime(bench.lease_ttl, suspect.deaths) <= Now()) continue;
    ++bench.on_trial;
    bench.most_deaths = std::max(bench.most_deaths, suspect.deaths);
  }
  bench.alive = 0;
  for (const auto& [other, row] : sessions_) {
    if (row.row.dead) continue;
    ++bench.alive;
    bench.others += other != id && HasSuspectOnTrial(other);
  }
  return SuspectsAdmitted(bench, worst);
}

// A message that names a suspect brings as many as it names, the worst that wait first, if this session may have them now.
void MemoryStore::TakeNamedSuspects(const std::set<ReadyKey>& keys, const ClaimRequest& request, ClaimAnswer& answer) {
  std::set<std::string> queues;
  int named = 0;
  for (const ReadyKey& key : keys) {
    queues.insert(key.queue);
    const auto row = ready_.find({key.queue, key.priority, key.ready_at, key.subject});
    named += row != ready_.end() && row->deaths > 0 && MayHave(*row, request, request.max_dispatches);
  }
  if (named == 0) return;
  for (const ReadyRow& row : PickSuspects(request, {queues.begin(), queues.end()}, named)) {
    ready_.erase(row);
    Picked(row, request, answer);
  }
}

std::vector<MemoryStore::ReadyRow> MemoryStore::PickSuspects(const ClaimRequest& request, const std::vector<std::string>& queues,
                                                             int limit) {
  std::vector<ReadyRow> waiting;
  for (const ReadyRow& row : ready_) {
    const bool served = std::find(queues.begin(), queues.end(), row.queue) != queues.end();
    const milliseconds age = request.keys ? milliseconds(0) : request.min_age;
    if (row.deaths > 0 && served && MayHave(row, request, request.max_dispatches) && row.ready_at <= Now() - age) {
      waiting.push_back(row);
    }
  }
  if (waiting.empty()) return {};
  std::stable_sort(waiting.begin(), waiting.end(), [](const ReadyRow& a, const ReadyRow& b) {
    return std::tie(b.deaths, a.ready_at, a.subject) < std::tie(a.deaths, b.ready_at, b.subject);
  });
  const int most = std::min(SuspectsAdmittedTo(request.session, waiting.front().deaths), limit);
  std::vector<ReadyRow> picked;
  int dispatches = 0;
  for (const ReadyRow& row : waiting) {
    if (int(picked.size()) >= most) break;
    if (dispatch_subjects_.contains(DispatchId{row.subject.uuid}) && ++dispatches > request.max_dispatches) continue;
    picked.push_back(row);
    admitted_.insert(row.subject.uuid);
  }
  return picked;
}

bool MemoryStore::Refused(ReadyRow row, int deaths) {
  if (!IsSuspect(deaths) || admitted_.contains(row.subject.uuid)) return false;
  row.deaths = deaths;
  ready_.erase(row);
  ready_.insert(std::move(row));
  return true;
}

std::optional<Uuid> MemoryStore::BlameOf(const Session& session) const {
  if (session.died_with_fleet || session.closed) return std::nullopt;
  const auto suspects = SuspectsOf(session.row.session);
  if (suspects.size() != 1) return std::nullopt;
  WorkerDeath death{session.row.expires_at, session.ttl()};
  for (const auto& [id, other] : sessions_) {
    if (id == session.row.session) continue;
    death.others_alive += !other.row.dead;
    death.others_died += other.row.dead && !other.closed && other.died_at > suspects.front().since;
  }
  return Blame(suspects, death);
}

LeaseEnd MemoryStore::EndOf(const Session& session, const Uuid& held) const {
  if (session.closed || session.died_with_fleet) return LeaseEnd::kUncounted;
  return session.blamed == held ? LeaseEnd::kDiedAlone : LeaseEnd::kDied;
}

}  // namespace acl
