#include "coordinator/relay.h"

#include <array>
#include <mutex>

#include "shared/base/fail_point.h"
#include "shared/kernel/command.h"
#include "shared/queue/relay_book.h"
#include "shared/telemetry/names.h"

namespace acl::coordinator {
namespace {

constexpr int kRowsAtOnce = 1'000;  // of each queue and priority
constexpr int kSilentPolls = 4;     // so many longest waits without a look, and another relay looks

// Projects are decided by coordinators (coordinator/commands/inbox_job.h).
bool ForWorkers(const DueRow& row) { return !IsCommanded(row.key.queue); }

// What sends that failed leave for the next tick; outlives the relays, as answers may come late.
struct Failures {
  std::mutex mutex;
  std::vector<ReadyKey> keys;
};

class Senders {
 public:
  Senders(const JobContext& context, RelayOptions options)
      : context_(context),
        options_(std::move(options)),
        wait_(options_.poll_min),
        first_(context.metrics.counter(names::kRelaySent, {{"outcome", "sent"}})),
        told_(context.metrics.counter(names::kRelayHinted)),
        again_(context.metrics.counter(names::kRelaySent, {{"outcome", "again"}})),
        failed_(context.metrics.counter(names::kRelaySent, {{"outcome", "failed"}})) {
    for (int shard = 0; shard < kReadyShards; ++shard) {
      of(shard).out = context.metrics.gauge(names::kRelayOut, {{"shard", std::to_string(shard)}});
      Forget(shard);
    }
  }

  Result<milliseconds> Tick(int shard) {
    std::unique_lock lock(mutex_);
    const SteadyTime now = context_.clock.Steady();
    TakeFailures(now);
    const bool fresh = !std::exchange(of(shard).held, true);
    milliseconds wait = options_.poll_max;
    if (fresh || more_ || Looks(now, shard)) {
      if (auto looked = Look(lock, now); !looked) return looked.error();
      wait = wait_;
    }
    if (auto swept = Sweep(lock, now, shard); !swept) return swept.error();
    of(shard).out.Set(double(of(shard).book->out()));
    return more_ || of(shard).book->sweeping() ? milliseconds(0) : wait;
  }

  Hinted TakeHinted(const std::vector<StepMessage>& rows) {
    std::lock_guard lock(mutex_);
    const SteadyTime now = context_.clock.Steady();
    Hinted taken;
    for (const StepMessage& row : rows) {
      Shard& one = of(row.key.shard);
      if (!one.held) {
        taken.others.push_back(row);
        continue;
      }
      RelayBook& book = *one.book;
      const int times = book.Wanted(now, row.key);
      if (times != 1) {  // it was sent, or there is no room
        taken.all = taken.all && book.room();
      } else if (book.WithinTrustLimit(row.key) && Send(now, book, row, times, rows.size() == 1)) {
        book.Hinted(row.key);
        told_.Add();
      } else {
        taken.all = false;
      }
    }
    return taken;
  }

  void Forget(int shard) {
    std::lock_guard lock(mutex_);
    of(shard).held = false;
    of(shard).book = std::make_shared<RelayBook>();
    of(shard).out.Set(0);
  }

 private:
  using Lane = std::tuple<int, std::string, int>;  // shard, queue, priority
  struct Shard {
    bool held = false;
    std::shared_ptr<RelayBook> book;  // touched under the lock
    Gauge out;
  };

  Shard& of(int shard) { return shards_.at(std::size_t(shard)); }

  bool Looks(SteadyTime now, int shard) const {
    const auto first = std::find_if(shards_.begin(), shards_.end(), [](const Shard& one) { return one.held; });
    return first - shards_.begin() == shard || now >= looked_at_ + kSilentPolls * options_.poll_max;
  }

  // The lock is not held while the database is asked.
  Status Look(std::unique_lock<std::mutex>& lock, SteadyTime now) {
    std::vector<DueLook> looks;
    std::vector<std::shared_ptr<RelayBook>> books(shards_.size());
    bool may_be_late = false;
    for (int shard = 0; shard < kReadyShards; ++shard) {
      Shard& one = of(shard);
      if (!one.held || !one.book->room()) continue;
      looks.push_back({shard, one.book->Marks(now)});
      books[std::size_t(shard)] = one.book;
    }
    looked_at_ = now;
    more_ = false;
    bool found = false;
    if (!looks.empty()) {
      lock.unlock();
      auto due = context_.store.DueReady(looks, kRowsAtOnce);
      lock.lock();
      if (!due) return due.error();
      const std::int64_t before = sends_;
      more_ = SendFound(now, *due, books);
      found = sends_ > before;
      for (const DueLook& look : looks) {
        RelayBook& book = *books[std::size_t(look.shard)];
        book.Looked(now, context_.clock.Steady());
        may_be_late = may_be_late || book.MayBeLate(now);
      }
    }
    wait_ = found ? options_.poll_min : std::min(options_.poll_max, wait_ * 2);
    if (may_be_late) wait_ = std::min(wait_, RelayBook().late_every());
    return {};
  }

  // True: there may be more behind these.
  bool SendFound(SteadyTime now, const DueAnswer& due, const std::vector<std::shared_ptr<RelayBook>>& books) {
    std::set<Lane> stuck;  // whose mark stays, because a row could not be sent
    std::map<Lane, int> pages;
    for (const auto& book : books) {
      if (book == nullptr) continue;
      if (!due.rows.empty()) book->Heard(context_.clock.Steady(), due.db_now);
      book->BeginPage();
    }
    bool more = false;
    for (const DueRow& row : due.rows) {
      RelayBook& book = *books.at(std::size_t(row.key.shard));
      const Lane lane(row.key.shard, row.key.queue, row.key.priority);
      if (stuck.contains(lane)) continue;
      const int times = book.Wanted(now, row.key);
      if (!ForWorkers(row)) {
        book.Moved(row.key);
      } else if ((times > 0 && !Send(now, book, MessageFor(row), times, due.rows.size() == 1)) || (times == 0 && !book.room())) {
        stuck.insert(lane);
      } else {
        book.Moved(row.key);
        if (++pages[lane] < kRowsAtOnce) continue;
        book.GoOnBehind(row.key);
        more = true;
      }
    }
    return more;
  }

  Status Sweep(std::unique_lock<std::mutex>& lock, SteadyTime now, int shard) {
    const std::shared_ptr<RelayBook> book = of(shard).book;
    if (book->SweepDue(now)) book->BeginSweep(now);
    if (!book->sweeping()) return {};
    const std::vector<ReadyKey> marks = book->SweepMarks();
    lock.unlock();
    auto due = context_.store.DueReadyOf(shard, marks, kRowsAtOnce);
    lock.lock();
    if (!due) return due.error();
    if (!due->rows.empty())
      book->Heard(context_.clock.Steady(), due->db_now);  // the database's clock may have been set back behind all marks
    bool any = false, sending = true;
    for (const DueRow& row : due->rows) {
      if (!book->Seen(row.key)) continue;
      any = true;
      const int times = sending ? book->Wanted(now, row.key) : 0;
      if (times > 0 && ForWorkers(row)) sending = Send(now, *book, MessageFor(row), times, false);
    }
    if (!any) book->EndSweep(now);
    return {};
  }

  bool Send(SteadyTime now, RelayBook& book, const StepMessage& row, int times, bool alone) {
    Counter counted = times == 1 ? first_ : again_;
    FailPoint("outbox.before_publish");
    const Status taken = options_.send(row, times, alone, [failures = failures_, key = row.key, counted](const Status& sent) mutable {
      if (sent) return counted.Add();
      std::lock_guard lock(failures->mutex);
      failures->keys.push_back(key);
    });
    FailPoint("outbox.after_publish");
    if (!taken) {
      failed_.Add();
      return false;
    }
    book.Sent(now, row.key);
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
    for (const ReadyKey& key : failed) of(key.shard).book->Failed(now, key);
  }

  const JobContext context_;
  const RelayOptions options_;
  const std::shared_ptr<Failures> failures_ = std::make_shared<Failures>();
  std::mutex mutex_;
  std::array<Shard, kReadyShards> shards_;
  SteadyTime looked_at_{};
  bool more_ = false;  // behind what the last look found: whoever ticks next goes on
  milliseconds wait_;
  std::int64_t sends_ = 0;
  Counter first_, told_, again_, failed_;
};

}  // namespace

Relays MakeRelays(const JobContext& context, RelayOptions options) {
  const auto senders = std::make_shared<Senders>(context, std::move(options));
  Relays relays;
  for (int shard = 0; shard < kReadyShards; ++shard) {
    relays.each.push_back({[senders, shard] { return senders->Tick(shard); }, [senders, shard] { senders->Forget(shard); }});
  }
  relays.hinted = [senders](const std::vector<StepMessage>& rows) { return senders->TakeHinted(rows); };
  return relays;
}

}  // namespace acl::coordinator
