#include "shared/kafka/group_watch.h"

#include <utility>
#include <vector>

#include "shared/base/memory.h"
#include "shared/kafka/assignment.h"

namespace acl::kafka {

namespace {

constexpr int kAnswerWithinMs = 1'000;

struct GroupListEnd {
  void operator()(const rd_kafka_group_list* list) const { rd_kafka_group_list_destroy(list); }
};

}  // namespace

Status GroupWatch::Start() {
  thread_ = std::thread([this] { RunUntilStopped(); });
  return {};
}

void GroupWatch::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    known_ = std::make_shared<PartitionAffinity>();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const PartitionAffinity> GroupWatch::Known() {
  std::lock_guard lock(mutex_);
  if (!std::exchange(wanted_, true)) changed_.notify_all();
  return known_;
}

void GroupWatch::Forget() {
  std::lock_guard lock(mutex_);
  known_ = std::make_shared<PartitionAffinity>();
  ask_at_ = clock_.Steady() + pace_.after_an_error;
  ++forgotten_;
}

void GroupWatch::RunUntilStopped() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const SteadyTime now = clock_.Steady();
    if (!wanted_) {
      changed_.wait(lock);
    } else if (now < ask_at_) {
      changed_.wait_for(lock, ask_at_ - now);
    } else {
      wanted_ = false;
      const int before = forgotten_;
      lock.unlock();
      decltype(Ask()) answer;
      (void)WithinMemory([&] { answer = Ask(); });
      lock.lock();
      if (stopping_ || forgotten_ != before) continue;
      known_ = answer ? answer : std::make_shared<PartitionAffinity>();
      ask_at_ = clock_.Steady() + (answer ? pace_.every : pace_.after_an_error);
    }
  }
}

std::shared_ptr<const PartitionAffinity> GroupWatch::Ask() const {
  const std::shared_ptr<rd_kafka_t> client = client_();
  if (!client) return nullptr;
  const rd_kafka_group_list* raw = nullptr;
  const auto code = rd_kafka_list_groups(client.get(), group_.c_str(), &raw, kAnswerWithinMs);
  const std::unique_ptr<const rd_kafka_group_list, GroupListEnd> groups(raw);
  // Some brokers did not answer: the group's own may have.
  if (!groups || (code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR__PARTIAL)) return nullptr;
  std::vector<PartitionAffinity::Owned> owned;
  for (int g = 0; g < groups->group_cnt; ++g) {
    const rd_kafka_group_info& group = groups->groups[g];
    if (group_ != group.group) continue;
    if (group.err != RD_KAFKA_RESP_ERR_NO_ERROR) return nullptr;
    for (int m = 0; m < group.member_cnt; ++m) {
      const rd_kafka_group_member_info& member = group.members[m];
      const std::string_view bytes(static_cast<const char*>(member.member_assignment), std::size_t(member.member_assignment_size));
      for (auto& [topic, partition] : ReadAssignment(bytes)) owned.push_back({member.member_id, std::move(topic), partition});
    }
  }
  return std::make_shared<PartitionAffinity>(owned);
}

}  // namespace acl::kafka
