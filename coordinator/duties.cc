#include "coordinator/duties.h"

#include "shared/base/mutant.h"
#include "shared/telemetry/log.h"
#include "shared/telemetry/names.h"

namespace acl::coordinator {
namespace {

using std::chrono::milliseconds;

constexpr int kTimersAtOnce = 256;
constexpr int kLeasesAtOnce = 256;
constexpr int kPrunedAtOnce = 1'000;
constexpr int kContentsAtOnce = 500;
constexpr milliseconds kSoonestDeath{20};  // what is over and still there is in somebody's hands: its heartbeat's, or a grant's
constexpr milliseconds kRetentionPeriod{3'600'000}, kRetentionPause{200};

void RingReady(const TurnContext& context, const std::function<void(const std::string&)>& ring) {
  if (!ring) return;
  const auto queues = context.queries.ReadyQueues();
  if (!queues) return;  // the ready duty counts, and says what is wrong
  for (const std::string& queue : *queues) ring(queue);
}

}  // namespace

Turn TimersTurn(const TurnContext& context, milliseconds longest) {
  Counter fired = context.metrics.counter(names::kTimersFired);
  return [context, longest, fired]() mutable -> Result<milliseconds> {
    auto answer = context.store.FireTimers(kTimersAtOnce);
    if (!answer) return answer.error();
    fired.Add(answer->fired);
    if (answer->fired > 0) RingReady(context, context.ring);
    if (answer->more) return milliseconds(0);
    if (!answer->next_fire) return longest;
    // By this machine's wall clock: if it is wrong, a timer is late by `longest` at most, never early (the database judges).
    const auto left = std::chrono::ceil<milliseconds>(*answer->next_fire - context.clock.Wall());
    if (Mutant("timers_sleep_until_the_next")) return std::max(left, milliseconds(5));
    return std::clamp(left, milliseconds(5), longest);
  };
}

Turn ReaperTurn(const TurnContext& context, milliseconds longest) {
  Counter reaps = context.metrics.counter(names::kReaps), died = context.metrics.counter(names::kSessionsDied);
  Counter lost = context.metrics.counter(names::kTasks, {{"outcome", "lost"}});
  Counter withdrawn = context.metrics.counter(names::kTasks, {{"outcome", "withdrawn"}});
  const Logger log("reaper");
  return [context, longest, reaps, died, lost, withdrawn, log]() mutable -> Result<milliseconds> {
    auto answer = context.store.Reap(kLeasesAtOnce);
    if (!answer) return answer.error();
    reaps.Add(answer->leases_freed);
    died.Add(answer->sessions_died);
    lost.Add(answer->tasks_lost);
    withdrawn.Add(answer->tasks_withdrawn);
    if (answer->sessions_died > 0 || answer->leases_freed > 0 || answer->tasks_lost > 0) {
      log.Warn("sessions died",
               {{"sessions", answer->sessions_died}, {"leases_freed", answer->leases_freed}, {"tasks_lost", answer->tasks_lost}});
    }
    if (answer->leases_freed > 0 || answer->tasks_lost > 0 || answer->tasks_withdrawn > 0) {
      RingReady(context, context.look ? context.look : context.ring);
    }
    if (answer->more) return milliseconds(0);
    return answer->next_death ? std::clamp(*answer->next_death, kSoonestDeath, longest) : longest;
  };
}

Turn RetentionTurn(const TurnContext& context, Retention keep) {
  const Logger log("retention");
  return [context, keep, log]() -> Result<milliseconds> {
    auto answer = context.store.Retain(keep.sessions, keep.request_keys, kPrunedAtOnce);
    if (!answer) return answer.error();
    const auto most = std::max({answer->sessions, answer->request_keys, answer->tasks});
    if (most > 0) {
      log.Info("removed what was kept long enough",
               {{"sessions", answer->sessions}, {"request_keys", answer->request_keys}, {"tasks", answer->tasks}});
    }
    const bool more = most >= kPrunedAtOnce;
    return more ? kRetentionPause : kRetentionPeriod;  // other work goes between two batches
  };
}

Turn ContentsTurn(const TurnContext& context, milliseconds grace) {
  const Logger log("contents");
  Counter contents = context.metrics.counter(names::kContentsCollected, {{"kind", "content"}}),
          objects = context.metrics.counter(names::kContentsCollected, {{"kind", "object"}});
  auto mark = std::make_shared<ContentMark>();  // on the duty's thread only
  return [context, grace, log, contents, objects, mark]() mutable -> Result<milliseconds> {
    auto answer = context.store.CollectContents(grace, *mark, kContentsAtOnce);
    if (!answer) {
      *mark = {};  // from the beginning, when whatever is wrong is over
      return answer.error();
    }
    contents.Add(double(answer->contents));
    objects.Add(double(answer->objects));
    if (answer->contents > 0 || answer->objects > 0) {
      log.Info("removed contents that no run refers to", {{"contents", answer->contents}, {"objects", answer->objects}});
    }
    *mark = answer->more ? answer->next : ContentMark{};
    return answer->more ? kRetentionPause : kRetentionPeriod;
  };
}

ReadyCount CountReady(const TurnContext& context, milliseconds period) {
  struct Gauges {
    Gauge ready, rows, oldest, unserved;
    void Clear() {
      for (Gauge* gauge : {&ready, &rows, &oldest, &unserved}) gauge->Set(0);
    }
  };
  struct Seen {
    std::map<std::string, Gauges> queues;
    Gauge outbox, suspects_waiting, suspects_held;
  };
  auto seen = std::make_shared<Seen>();  // both functions run on the duty's thread
  seen->outbox = context.metrics.gauge(names::kOutboxOldest);
  seen->suspects_waiting = context.metrics.gauge(names::kSuspects, {{"state", "waiting"}});
  seen->suspects_held = context.metrics.gauge(names::kSuspects, {{"state", "held"}});
  const auto turn = [context, period, seen]() -> Result<milliseconds> {
    const auto seconds = [](milliseconds time) { return std::chrono::duration<double>(time).count(); };
    auto backlog = context.queries.ReadBacklog();
    if (!backlog) return backlog.error();
    for (auto& [queue, gauges] : seen->queues) {
      if (backlog->queues.contains(queue)) continue;
      gauges.Clear();
    }
    for (const auto& [queue, found] : backlog->queues) {
      auto it = seen->queues.find(queue);
      if (it == seen->queues.end()) {
        const MetricLabels labels = {{"queue", queue}};
        const Gauges fresh{context.metrics.gauge(names::kReadyDepth, labels), context.metrics.gauge(names::kReadyRows, labels),
                           context.metrics.gauge(names::kReadyOldest, labels), context.metrics.gauge(names::kReadyUnserved, labels)};
        it = seen->queues.emplace(queue, fresh).first;
      }
      it->second.ready.Set(double(found.ready));
      it->second.rows.Set(double(found.rows));
      it->second.oldest.Set(seconds(found.oldest));
      it->second.unserved.Set(found.workers > 0 ? 0.0 : double(found.rows));
      if (found.rows > 0 && context.ring) context.ring(queue);
    }
    seen->outbox.Set(seconds(backlog->outbox_oldest));
    seen->suspects_waiting.Set(double(backlog->suspects_waiting));
    seen->suspects_held.Set(double(backlog->suspects_held));
    return period;
  };
  return {turn, [seen] {
            for (auto& [queue, gauges] : seen->queues) {
              gauges.Clear();
            }
            seen->outbox.Set(0);
            seen->suspects_waiting.Set(0);
            seen->suspects_held.Set(0);
          }};
}

}  // namespace acl::coordinator
