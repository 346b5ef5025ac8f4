#include "coordinator/relay.h"

#include <mutex>

#include "shared/base/fail_point.h"
#include "shared/queue/relay_book.h"
#include "shared/telemetry/names.h"

namespace acl::coordinator {
namespace {

constexpr int kRowsAtOnce = 1'000;  // of each queue and band

StepMessage MessageFor(const DueRow& row) {
  StepMessage message;
  message.key = row.key;
  message.kind = row.kind;
  message.required_version = row.required_version;
  message.event_seq = row.event_seq;
  message.traceparent = row.traceparent;
  message.token = row.token;
  return message;
}

// What sends that failed leave for the duty's thread; outlives the relay, as answers may come late.
struct Failures {
  std::mutex mutex;
  std::vector<ReadyKey> keys;
};

// On the duty's thread.
class RelayOfShard {
 public:
  RelayOfShard(const TurnContext& context, RelayOptions options)
      : context_(context),
        options_(std::move(options)),
        wait_(options_.poll_min),
        first_(context.metrics.counter(names::kRelaySent, {{"outcome", "sent"}})),
        again_(context.metrics.counter(names::kRelaySent, {{"outcome", "again"}})),
        failed_(context.metrics.counter(names::kRelaySent, {{"outcome", "failed"}})),
        out_(context.metrics.gauge(names::kRelayOut, {{"shard", std::to_string(options_.shard)}})) {
    Forget();
  }

  Result<milliseconds> Turn() {
    const SteadyTime now = context_.clock.Steady();
    TakeFailures(now);
    bool more = false, found = false;
    if (book_->room()) {
      auto due = context_.store.DueReady(options_.shard, book_->Marks(now), kRowsAtOnce);
      if (!due) return due.error();
      if (!due->rows.empty()) book_->Heard(now, due->db_now);
      const std::int64_t before = sends_;
      more = Look(now, due->rows);
      book_->Looked(now, context_.clock.Steady());
      found = sends_ > before;
    }
    if (book_->SweepDue(now)) book_->BeginSweep(now);
    if (book_->sweeping()) {
      auto due = context_.store.DueReady(options_.shard, book_->SweepMarks(), kRowsAtOnce);
      if (!due) return due.error();
      if (!due->rows.empty()) book_->Heard(now, due->db_now);  // the database's clock may have been set back behind all marks
      Sweep(now, due->rows);
    }
    out_.Set(double(book_->out()));
    if (more || book_->sweeping()) return milliseconds(0);
    wait_ = found ? options_.poll_min : std::min(options_.poll_max, wait_ * 2);
    if (book_->MayBeLate(now)) wait_ = std::min(wait_, book_->late_every());
    return wait_;
  }

  void Forget() {
    book_ = std::make_unique<RelayBook>();
    out_.Set(0);
  }

 private:
  // True: there may be more behind these.
  bool Look(SteadyTime now, const std::vector<DueRow>& rows) {
    std::set<std::pair<std::string, int>> stuck;  // lanes whose mark stays, because a row could not be sent
    std::map<std::pair<std::string, int>, int> pages;
    book_->BeginPage();
    bool more = false;
    for (const DueRow& row : rows) {
      const std::pair lane(row.key.queue, row.key.band);
      if (stuck.contains(lane)) continue;
      const int times = book_->Wanted(now, row.key);
      if ((times > 0 && !Send(now, row, times)) || (times == 0 && !book_->room())) {
        stuck.insert(lane);
      } else {
        book_->Moved(row.key);
        if (++pages[lane] < kRowsAtOnce) continue;
        book_->GoOnBehind(row.key);
        more = true;
      }
    }
    return more;
  }

  void Sweep(SteadyTime now, const std::vector<DueRow>& rows) {
    bool any = false, sending = true;
    for (const DueRow& row : rows) {
      if (!book_->Seen(row.key)) continue;
      any = true;
      const int times = sending ? book_->Wanted(now, row.key) : 0;
      if (times > 0) sending = Send(now, row, times);
    }
    if (!any) book_->EndSweep(now);
  }

  bool Send(SteadyTime now, const DueRow& row, int times) {
    Counter counted = times == 1 ? first_ : again_;
    FailPoint("outbox.before_publish");
    const Status taken = options_.send(MessageFor(row), times, [failures = failures_, key = row.key, counted](const Status& sent) mutable {
      if (sent) return counted.Add();
      std::lock_guard lock(failures->mutex);
      failures->keys.push_back(key);
    });
    FailPoint("outbox.after_publish");
    if (!taken) {
      failed_.Add();
      return false;
    }
    book_->Sent(now, row.key);
    ++sends_;
    return true;
  }

  void TakeFailures(SteadyTime now) {
    std::vector<ReadyKey> failed;
    {
      std::lock_guard lock(failures_->mutex);
      failed.swap(failures_->keys);
    }
    failed_.Add(double(failed.size()));
    for (const ReadyKey& key : failed) book_->Failed(now, key);
  }

  const TurnContext context_;
  const RelayOptions options_;
  const std::shared_ptr<Failures> failures_ = std::make_shared<Failures>();
  std::unique_ptr<RelayBook> book_;
  milliseconds wait_;
  std::int64_t sends_ = 0;
  Counter first_, again_, failed_;
  Gauge out_;
};

}  // namespace

Relay MakeRelay(const TurnContext& context, RelayOptions options) {
  auto relay = std::make_shared<RelayOfShard>(context, std::move(options));
  return {[relay] { return relay->Turn(); }, [relay] { relay->Forget(); }};
}

}  // namespace acl::coordinator
