#include "coordinator/deliveries/deliveries.h"

#include <condition_variable>
#include <map>

#include "shared/base/mutant.h"
#include "shared/telemetry/names.h"

namespace acl::coordinator {
namespace {

constexpr milliseconds kWhileSending{25};
constexpr milliseconds kPruneEvery{3'600'000}, kPruneOn{1'000};
constexpr int kPrunedDeliveries = 500;

}  // namespace

struct Deliveries::Ended {
  delivery::Delivery message;
  delivery::Answer answer;
  milliseconds took{0};
};

struct Deliveries::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Ended> ended;            // not written down yet
  std::map<std::string, int> on_way;  // by endpoint
  int out = 0;                        // of all
  bool closed = false;

  void Add(Ended one) {
    std::lock_guard lock(mutex);
    if (closed) return;
    --out;
    if (--on_way[one.message.endpoint] == 0) on_way.erase(one.message.endpoint);
    ended.push_back(std::move(one));
    changed.notify_all();
  }
};

Deliveries::Deliveries(delivery::DeliveryStore& store, SendMessage send, const Clock& clock, Random& random, Metrics& metrics,
                       DeliveriesOptions options)
    : store_(store),
      send_(std::move(send)),
      clock_(clock),
      random_(random),
      options_(options),
      log_("deliveries"),
      shared_(std::make_shared<Shared>()),
      delivered_(metrics.counter(names::kDeliveries, {{"outcome", "delivered"}})),
      failed_(metrics.counter(names::kDeliveries, {{"outcome", "failed"}})),
      dead_(metrics.counter(names::kDeliveries, {{"outcome", "dead"}})),
      pending_gauge_(metrics.gauge(names::kDeliveriesNow, {{"state", "pending"}})),
      dead_gauge_(metrics.gauge(names::kDeliveriesNow, {{"state", "dead"}})),
      oldest_gauge_(metrics.gauge(names::kDeliveriesOldest)) {}

Deliveries::~Deliveries() {
  std::lock_guard lock(shared_->mutex);
  shared_->closed = true;
}

Result<milliseconds> Deliveries::Tick() {
  if (auto written = WriteEnded(); !written) return written.error();
  const SteadyTime now = clock_.Steady();
  if (now >= look_at_) {
    if (auto looked = Look(); !looked) return looked.error();
  }
  if (now >= prune_at_) {
    if (auto pruned = Prune(); !pruned) return pruned.error();
  }
  std::lock_guard lock(shared_->mutex);
  if (shared_->out > 0 || !shared_->ended.empty()) return kWhileSending;
  return std::max(std::chrono::ceil<milliseconds>(look_at_ - clock_.Steady()), milliseconds(1));
}

void Deliveries::Lost() {
  {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait_for(lock, options_.stop_within, [&] { return shared_->out == 0; });
  }
  if (auto written = WriteEnded(); !written)
    log_.Warn("what was sent could not be written down, and is sent again under the same ids", {{"error", written.error()}});
  look_at_ = {};
  pending_gauge_.Set(0);
  dead_gauge_.Set(0);
  oldest_gauge_.Set(0);
}

Status Deliveries::WriteEnded() {
  for (;;) {
    Ended one;
    {
      std::lock_guard lock(shared_->mutex);
      if (shared_->ended.empty()) return {};
      one = shared_->ended.front();
    }
    const auto verdict = delivery::Judge(one.answer, one.message.failures, random_.Unit());
    const auto recorded = store_.Record({one.message.message_id,
                                         {one.message.attempts, {}, one.took, one.answer.status, verdict.error},
                                         verdict.state,
                                         verdict.failures,
                                         verdict.again_in});
    if (!recorded) return recorded.error();  // stays in front: it is written down when the database answers
    {
      std::lock_guard lock(shared_->mutex);
      shared_->ended.pop_front();
    }
    if (!*recorded) continue;  // somebody else's by now
    look_at_ = {};             // the next one of its run may go
    const bool is_dead = verdict.state == delivery::State::kDead;
    (verdict.state == delivery::State::kDelivered ? delivered_ : is_dead ? dead_ : failed_).Add();
    if (is_dead) {
      log_.Error("a message is a dead letter", {{"message", one.message.message_id},
                                                {"subject", one.message.subject.ToString()},
                                                {"endpoint", one.message.endpoint},
                                                {"reason", verdict.error}});
    }
  }
}

Status Deliveries::Look() {
  delivery::ClaimRequest request{.max = 0, .each = options_.each, .full_endpoints = {}, .lease = options_.lease};
  {
    std::lock_guard lock(shared_->mutex);
    request.max = options_.at_once - shared_->out;
    for (const auto& [endpoint, out] : shared_->on_way) {
      if (out >= options_.each) request.full_endpoints.push_back(endpoint);
    }
  }
  look_at_ = clock_.Steady() + options_.busy;
  if (request.max <= 0) return {};
  auto claimed = store_.Claim(request);
  if (!claimed) return claimed.error();
  pending_gauge_.Set(double(claimed->pending));
  dead_gauge_.Set(double(claimed->dead));
  oldest_gauge_.Set(std::chrono::duration<double>(claimed->oldest).count());
  if (claimed->due.empty()) look_at_ = clock_.Steady() + options_.period;
  for (const auto& message : claimed->due) {
    if (Mutant("delivery_marked_before_sent")) {
      const auto marked = store_.Record({message.message_id, {message.attempts, {}, {}, 200, ""}, delivery::State::kDelivered, 0, {}});
      if (!marked) return marked.error();
    }
    Begin(message);
  }
  return {};
}

void Deliveries::Begin(const delivery::Delivery& message) {
  {
    std::lock_guard lock(shared_->mutex);
    ++shared_->out;
    ++shared_->on_way[message.endpoint];
  }
  send_(message, [shared = shared_, message, &clock = clock_, began = clock_.Steady()](delivery::Answer answer) {
    const auto took = std::chrono::duration_cast<milliseconds>(clock.Steady() - began);
    shared->Add({message, std::move(answer), took});
  });
}

Status Deliveries::Prune() {
  auto pruned = store_.Prune(options_.keep, kPrunedDeliveries);
  if (!pruned) return pruned.error();
  prune_at_ = clock_.Steady() + (*pruned >= kPrunedDeliveries ? kPruneOn : kPruneEvery);
  return {};
}

}  // namespace acl::coordinator
