#pragma once
// DeliveryStore in memory, for unit tests of the job. What PostgreSQL's does is tested in
// tests/integration/postgres/delivery_store_test.cc.

#include <algorithm>
#include <map>
#include <mutex>

#include "shared/delivery/store.h"

namespace acl::test {

class MemoryDeliveries final : public delivery::DeliveryStore {
 public:
  explicit MemoryDeliveries(const Clock& clock) : clock_(clock) {}

  // What an outbox row would become.
  void Say(delivery::Delivery said) {
    std::lock_guard lock(mutex_);
    said.position = ++last_;
    said.created_at = said.next_attempt_at = clock_.Wall();
    if (Find(said.message_id) == nullptr) rows_.emplace(said.position, std::move(said));
  }

  Result<delivery::ClaimAnswer> Claim(const delivery::ClaimRequest& request) override {
    std::lock_guard lock(mutex_);
    delivery::ClaimAnswer answer;
    answer.now = clock_.Wall();
    std::map<std::string, int> taken;
    std::map<std::string, bool> seen;  // subject and endpoint: somebody is before
    for (auto& [position, row] : rows_) {
      if (row.state == delivery::State::kDead) ++answer.dead;
      if (row.state != delivery::State::kPending) continue;
      ++answer.pending;
      const std::string target = std::string(delivery::ChannelName(row.channel)) + row.endpoint;
      const bool first = !std::exchange(seen[row.subject.ToString() + target], true);
      const bool full = std::count(request.full_endpoints.begin(), request.full_endpoints.end(), row.endpoint) > 0;
      if (!first || full || row.next_attempt_at > answer.now || taken[target] >= request.each || int(answer.due.size()) >= request.max)
        continue;
      ++taken[target];
      ++row.attempts;
      row.next_attempt_at = answer.now + request.lease;
      row.held_until = row.next_attempt_at;
      answer.due.push_back(row);
    }
    return answer;
  }

  Result<bool> Record(const delivery::Outcome& outcome) override {
    std::lock_guard lock(mutex_);
    delivery::Delivery* row = Find(outcome.message_id);
    if (row == nullptr) return false;
    auto& log = logs_[outcome.message_id];
    if (std::none_of(log.begin(), log.end(), [&](const auto& one) { return one.number == outcome.attempt.number; })) {
      log.push_back(outcome.attempt);
      log.back().at = clock_.Wall();
    }
    std::erase_if(log, [&](const auto& one) { return one.number <= outcome.attempt.number - delivery::kAttemptsKept; });
    const bool ours = row->state == delivery::State::kPending && row->attempts == outcome.attempt.number;
    if (!ours && (outcome.state != delivery::State::kDelivered || row->state == delivery::State::kDelivered)) return false;
    row->state = outcome.state;
    row->failures = outcome.failures;
    row->held_until.reset();
    row->last_error = outcome.attempt.error;
    row->next_attempt_at = clock_.Wall() + outcome.again_in;
    row->ended_at = outcome.state == delivery::State::kPending ? std::nullopt : std::optional(clock_.Wall());
    return true;
  }

  Result<std::vector<delivery::Delivery>> List(const ProjectId& project, std::optional<delivery::State> state, std::int64_t before,
                                               int limit) override {
    std::lock_guard lock(mutex_);
    std::vector<delivery::Delivery> out;
    for (auto row = rows_.rbegin(); row != rows_.rend() && int(out.size()) < limit; ++row) {
      const auto& one = row->second;
      if (one.project == project && (!state || one.state == *state) && (before == 0 || one.position < before)) out.push_back(one);
    }
    return out;
  }
  Result<delivery::Delivery> Get(const ProjectId& project, const std::string& message_id) override {
    std::lock_guard lock(mutex_);
    const auto* row = Find(message_id);
    if (row == nullptr || row->project != project) return Missing(message_id);
    return *row;
  }
  Result<std::vector<delivery::Attempt>> Attempts(const std::string& message_id) override {
    std::lock_guard lock(mutex_);
    return logs_[message_id];
  }
  Result<delivery::Delivery> Retry(const ProjectId& project, const std::string& message_id) override {
    return Change(project, message_id, [&](delivery::Delivery& row) {
      if (row.state != delivery::State::kPending || !row.held_until || *row.held_until <= clock_.Wall())
        row.next_attempt_at = clock_.Wall();
      row.state = delivery::State::kPending;
      row.failures = 0;
      row.ended_at.reset();
    });
  }
  Result<delivery::Delivery> Discard(const ProjectId& project, const std::string& message_id) override {
    return Change(project, message_id, [&](delivery::Delivery& row) {
      row.state = delivery::State::kDiscarded;
      if (!row.ended_at) row.ended_at = clock_.Wall();
      row.held_until.reset();
    });
  }
  Result<int> Prune(delivery::milliseconds older_than, int max) override {
    std::lock_guard lock(mutex_);
    int gone = 0;
    for (auto row = rows_.begin(); row != rows_.end() && gone < max;) {
      const bool ended = row->second.state == delivery::State::kDelivered || row->second.state == delivery::State::kDiscarded;
      const bool old = ended && *row->second.ended_at < clock_.Wall() - older_than;
      gone += old;
      row = old ? rows_.erase(row) : std::next(row);
    }
    return gone;
  }

 private:
  static Error Missing(const std::string& id) { return {Code::kNotFound, "there is no delivery '" + id + "'"}; }
  delivery::Delivery* Find(const std::string& message_id) {
    for (auto& [position, row] : rows_) {
      if (row.message_id == message_id) return &row;
    }
    return nullptr;
  }
  template <class F>
  Result<delivery::Delivery> Change(const ProjectId& project, const std::string& message_id, F change) {
    std::lock_guard lock(mutex_);
    auto* row = Find(message_id);
    if (row == nullptr || row->project != project) return Missing(message_id);
    if (row->state == delivery::State::kDelivered) return Error{Code::kConflict, "message '" + message_id + "' is delivered"};
    change(*row);
    return *row;
  }

  const Clock& clock_;
  std::mutex mutex_;
  std::int64_t last_ = 0;
  std::map<std::int64_t, delivery::Delivery> rows_;
  std::map<std::string, std::vector<delivery::Attempt>> logs_;
};

}  // namespace acl::test
