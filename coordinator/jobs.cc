#include "coordinator/jobs.h"

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
constexpr int kJournalsAtOnce = 20;        // the leases of their subjects are locked meanwhile
constexpr milliseconds kSoonestDeath{20};  // what is over and still there is in somebody's hands: its heartbeat's, or a grant's
constexpr milliseconds kRetentionPeriod{3'600'000}, kRetentionPause{200};

void RingReady(const JobContext& context, const std::function<void(const std::string&)>& ring) {
  if (!ring) return;
  const auto queues = context.queries.ReadyQueues();
  if (!queues) return;  // the ready job counts, and says what is wrong
  for (const std::string& queue : *queues) ring(queue);
}

}  // namespace

Tick TimersJob(const JobContext& context, milliseconds longest) {
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

Tick ReaperJob(const JobContext& context, milliseconds longest) {
  Counter reaps = context.metrics.counter(names::kReaps), died = context.metrics.counter(names::kSessionsDied);
  Counter lost = context.metrics.counter(names::kDispatches, {{"outcome", "lost"}});
  Counter withdrawn = context.metrics.counter(names::kDispatches, {{"outcome", "withdrawn"}});
  const Logger log("reaper");
  return [context, longest, reaps, died, lost, withdrawn, log]() mutable -> Result<milliseconds> {
    auto answer = context.store.Reap(kLeasesAtOnce);
    if (!answer) return answer.error();
    reaps.Add(answer->leases_freed);
    died.Add(answer->sessions_died);
    lost.Add(answer->dispatches_lost);
    withdrawn.Add(answer->dispatches_withdrawn);
    if (answer->sessions_died > 0 || answer->leases_freed > 0 || answer->dispatches_lost > 0) {
      log.Warn("sessions died",
               {{"sessions", answer->sessions_died}, {"leases_freed", answer->leases_freed}, {"dispatches_lost", answer->dispatches_lost}});
    }
    if (answer->leases_freed > 0 || answer->dispatches_lost > 0 || answer->dispatches_withdrawn > 0) {
      RingReady(context, context.look ? context.look : context.ring);
    }
    if (answer->more) return milliseconds(0);
    return answer->next_death ? std::clamp(*answer->next_death, kSoonestDeath, longest) : longest;
  };
}

Tick RetentionJob(const JobContext& context, Retention keep) {
  const Logger log("retention");
  return [context, keep, log]() -> Result<milliseconds> {
    auto answer = context.store.Retain(keep.sessions, keep.request_keys, kPrunedAtOnce);
    if (!answer) return answer.error();
    const auto most = std::max({answer->sessions, answer->request_keys, answer->dispatches});
    if (most > 0) {
      log.Info("removed what was kept long enough",
               {{"sessions", answer->sessions}, {"request_keys", answer->request_keys}, {"dispatches", answer->dispatches}});
    }
    const bool more = most >= kPrunedAtOnce;
    return more ? kRetentionPause : kRetentionPeriod;  // other work goes between two batches
  };
}

Tick JournalsJob(const JobContext& context, milliseconds keep, milliseconds look) {
  const Logger log("journals");
  Counter dropped = context.metrics.counter(names::kJournalsDropped);
  return [context, keep, look, log, dropped]() mutable -> Result<milliseconds> {
    auto answer = context.store.DropSegments(keep, kJournalsAtOnce);
    if (!answer) return answer.error();
    dropped.Add(double(answer->segments));
    if (answer->segments > 0)
      log.Info("dropped journals that were kept long enough", {{"journals", answer->segments}, {"events", answer->events}});
    return answer->more ? kRetentionPause : look;
  };
}

Tick ContentsJob(const JobContext& context, milliseconds grace) {
  const Logger log("contents");
  Counter contents = context.metrics.counter(names::kContentsCollected, {{"kind", "content"}}),
          objects = context.metrics.counter(names::kContentsCollected, {{"kind", "object"}});
  auto mark = std::make_shared<ContentMark>();  // on the job's thread only
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

namespace {

// Gauges by queue. Authors name queues, and a series stays as long as the process: so they are a bounded number, and the rest is counted
// together. A queue that a worker serves has an operator behind it, and is one of very many more.
class QueueGauges {
 public:
  explicit QueueGauges(Metrics& metrics) : metrics_(metrics) {}

  void Set(const std::map<std::string, Backlog::Queue>& queues) {
    std::map<std::string, Backlog::Queue> said;
    std::map<std::string, std::int64_t> unserved;
    for (const auto& [queue, found] : queues) {
      const std::string label = LabelOf(queue, found.workers > 0);
      Backlog::Queue& sum = said[label];
      sum.rows += found.rows;
      sum.ready += found.ready;
      sum.oldest = std::max(sum.oldest, found.oldest);
      if (found.workers == 0) unserved[label] += found.ready;
    }
    for (auto& [label, gauges] : shown_) {
      const Backlog::Queue& found = said[label];
      gauges.ready.Set(double(found.ready));
      gauges.rows.Set(double(found.rows));
      gauges.oldest.Set(std::chrono::duration<double>(found.oldest).count());
      gauges.unserved.Set(double(unserved[label]));
    }
  }
  void Clear() { Set({}); }

 private:
  struct Gauges {
    Gauge ready, rows, oldest, unserved;
  };
  static constexpr std::size_t kMostServed = 200, kMostUnserved = 50;
  static constexpr const char* kOther = "other";

  std::string LabelOf(const std::string& queue, bool served) {
    if (shown_.contains(queue)) return queue;
    std::size_t& taken = served ? served_ : unserved_shown_;
    const bool fits = taken < (served ? kMostServed : kMostUnserved);
    if (!fits && shown_.contains(kOther)) return kOther;
    if (fits) ++taken;
    const std::string label = fits ? queue : kOther;
    const MetricLabels labels = {{"queue", label}};
    shown_.emplace(label, Gauges{metrics_.gauge(names::kReadyDepth, labels), metrics_.gauge(names::kReadyRows, labels),
                                 metrics_.gauge(names::kReadyOldest, labels), metrics_.gauge(names::kReadyUnserved, labels)});
    return label;
  }

  Metrics& metrics_;
  std::map<std::string, Gauges> shown_;
  std::size_t served_ = 0, unserved_shown_ = 0;
};

}  // namespace

ReadyCount CountReady(const JobContext& context, milliseconds period) {
  struct Seen {
    explicit Seen(Metrics& metrics) : queues(metrics) {}
    QueueGauges queues;
    Gauge outbox, suspects_waiting, suspects_held;
  };
  auto seen = std::make_shared<Seen>(context.metrics);  // both functions run on the job's thread
  seen->outbox = context.metrics.gauge(names::kOutboxOldest);
  seen->suspects_waiting = context.metrics.gauge(names::kSuspects, {{"state", "waiting"}});
  seen->suspects_held = context.metrics.gauge(names::kSuspects, {{"state", "held"}});
  const auto tick = [context, period, seen]() -> Result<milliseconds> {
    auto backlog = context.queries.ReadBacklog();
    if (!backlog) return backlog.error();
    seen->queues.Set(backlog->queues);
    for (const auto& [queue, found] : backlog->queues) {
      if (found.rows > 0 && context.ring) context.ring(queue);
    }
    seen->outbox.Set(std::chrono::duration<double>(backlog->outbox_oldest).count());
    seen->suspects_waiting.Set(double(backlog->suspects_waiting));
    seen->suspects_held.Set(double(backlog->suspects_held));
    return period;
  };
  return {tick, [seen] {
            seen->queues.Clear();
            seen->outbox.Set(0);
            seen->suspects_waiting.Set(0);
            seen->suspects_held.Set(0);
          }};
}

}  // namespace acl::coordinator
