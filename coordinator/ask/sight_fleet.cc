// ACL's own processes and queues, as the database has them: tools of sight_tools.h. Counts and names of queues; no ids of runs, which may
// be of another project than the one that asks.
#include <algorithm>
#include <set>

#include "coordinator/ask/sight_readings.h"

namespace acl::coordinator {

namespace {

constexpr std::chrono::milliseconds kAnnouncedWithin{35'000};  // coordinators say every 10 seconds that they live
constexpr int kMostLeases = 1'000;
constexpr std::size_t kQueuesNamed = 20;

// In whole thousandths.
double SecondsOf(std::chrono::microseconds time) {
  const std::int64_t thousandths = time.count() / 1000;
  return double(thousandths) / 1000;
}

void UnknownAll(Reading& out, std::initializer_list<const char*> names, const Error& error) {
  for (const char* name : names) out.Unknown(name, error.message);
}

void PutCoordinators(Reading& out, const FleetSources& fleet) {
  if (fleet.coordinators == nullptr) return out.Unknown("coordinators_alive", "coordinators are not announced here");
  const auto living = fleet.coordinators->Living(kAnnouncedWithin);
  if (!living) return out.Unknown("coordinators_alive", living.message());
  out.Value("coordinators_alive", std::int64_t(living->size()));
}

struct Unserved {
  std::int64_t queues = 0, ready = 0;
};
Unserved CountUnserved(const Backlog& backlog) {
  Unserved found;
  for (const auto& [name, queue] : backlog.queues) {
    if (queue.workers > 0 || queue.ready == 0) continue;
    ++found.queues;
    found.ready += queue.ready;
  }
  return found;
}

void PutReady(Reading& out, const Backlog& backlog) {
  std::int64_t ready = 0;
  std::chrono::milliseconds oldest{0};
  for (const auto& [name, queue] : backlog.queues) {
    ready += queue.ready;
    oldest = std::max(oldest, queue.oldest);
  }
  out.Value("ready", ready);
  out.Value("ready_oldest_s", SecondsOf(oldest));
  out.Value("queues_unserved", CountUnserved(backlog).queues);
}

}  // namespace

Result<Reading> ReadServices(const FleetSources& fleet, WallTime now) {
  Reading out;
  PutCoordinators(out, fleet);
  const auto sessions = fleet.queries.Sessions(true);
  if (!sessions) {
    UnknownAll(out, {"workers_alive", "workers_late", "workers_dead", "heartbeat_oldest_s"}, sessions.error());
    return std::move(out).OrError();
  }
  std::int64_t alive = 0, late = 0, dead = 0;
  std::optional<WallTime> oldest;
  for (const SessionRow& session : *sessions) {
    if (session.dead) {
      ++dead;
      continue;
    }
    ++alive;
    if (session.expires_at < now) ++late;
    if (!oldest || session.heartbeat_at < *oldest) oldest = session.heartbeat_at;
  }
  out.Value("workers_alive", alive);
  out.Value("workers_late", late);
  out.Value("workers_dead", dead);
  if (oldest) {
    out.Value("heartbeat_oldest_s", SecondsOf(std::max(now - *oldest, WallTime::duration(0))));
  } else {
    out.Unknown("heartbeat_oldest_s", "no worker lives");
  }
  return std::move(out).OrError();
}

Result<Reading> ReadFleetHealth(const FleetSources& fleet) {
  Reading out;
  PutCoordinators(out, fleet);
  if (const auto sessions = fleet.queries.Sessions(false)) {
    std::int64_t slots = 0, held = 0;
    for (const SessionRow& session : *sessions) {
      slots += session.slots;
      held += session.leases_held;
    }
    out.Value("workers_alive", std::int64_t(sessions->size()));
    out.Value("slots", slots);
    out.Value("leases_held", held);
  } else {
    UnknownAll(out, {"workers_alive", "slots", "leases_held"}, sessions.error());
  }
  if (const auto backlog = fleet.queries.ReadBacklog()) {
    PutReady(out, *backlog);
    out.Value("outbox_oldest_s", SecondsOf(backlog->outbox_oldest));
  } else {
    UnknownAll(out, {"ready", "ready_oldest_s", "queues_unserved", "outbox_oldest_s"}, backlog.error());
  }
  if (const auto quarantined = fleet.queries.Quarantined(false)) {
    out.Value("quarantined", std::int64_t(quarantined->size()));
  } else {
    UnknownAll(out, {"quarantined"}, quarantined.error());
  }
  return std::move(out).OrError();
}

Result<Reading> ReadQueueDepth(const FleetSources& fleet) {
  const auto backlog = fleet.queries.ReadBacklog();
  if (!backlog) return backlog.error();
  Reading out;
  PutReady(out, *backlog);
  std::vector<std::pair<std::int64_t, std::string>> waiting;
  for (const auto& [name, queue] : backlog->queues) {
    if (queue.ready > 0) waiting.emplace_back(-queue.ready, name);
  }
  out.Value("queues_ready", std::int64_t(waiting.size()));
  std::sort(waiting.begin(), waiting.end());
  if (waiting.size() > kQueuesNamed) waiting.resize(kQueuesNamed);
  Json queues = Json::object();
  for (const auto& [ready, name] : waiting) {
    const Backlog::Queue& queue = backlog->queues.at(name);
    queues[name] = {{"ready", queue.ready}, {"oldest_s", SecondsOf(queue.oldest)}, {"workers", queue.workers}};
  }
  out.Value("queues", std::move(queues));
  return std::move(out).OrError();
}

Result<Reading> ReadStuckRuns(const FleetSources& fleet, WallTime now) {
  Reading out;
  if (const auto quarantined = fleet.queries.Quarantined(false)) {
    WallTime oldest = now;
    for (const QuarantineView& one : *quarantined) oldest = std::min(oldest, one.at);
    out.Value("quarantined", std::int64_t(quarantined->size()));
    out.Value("quarantined_oldest_s", SecondsOf(now - oldest));
  } else {
    UnknownAll(out, {"quarantined", "quarantined_oldest_s"}, quarantined.error());
  }
  if (const auto backlog = fleet.queries.ReadBacklog()) {
    out.Value("suspects_waiting", backlog->suspects_waiting);
    out.Value("suspects_held", backlog->suspects_held);
    out.Value("ready_unserved", CountUnserved(*backlog).ready);
  } else {
    UnknownAll(out, {"suspects_waiting", "suspects_held", "ready_unserved"}, backlog.error());
  }
  const auto leases = fleet.queries.Leases(kMostLeases);
  if (!leases) {
    UnknownAll(out, {"leases_expired"}, leases.error());
  } else if (int(leases->size()) >= kMostLeases) {
    out.Unknown("leases_expired", "there are more leases than are read at once");
  } else {
    out.Value("leases_expired",
              std::int64_t(std::count_if(leases->begin(), leases->end(), [&](const LeaseView& one) { return one.expires_at < now; })));
  }
  out.Unknown("needs_person", "it is counted by project only");
  return std::move(out).OrError();
}

}  // namespace acl::coordinator
