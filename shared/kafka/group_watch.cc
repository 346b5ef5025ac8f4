#include "shared/kafka/group_watch.h"

namespace acl::kafka {

namespace {

constexpr auto kAskEvery = std::chrono::seconds(2), kLetBe = std::chrono::seconds(30);
constexpr int kAnswerWithinMs = 5'000;

struct AdminOptionsEnd {
  void operator()(rd_kafka_AdminOptions_t* options) const { rd_kafka_AdminOptions_destroy(options); }
};

std::vector<Gathering::Owned> AssignmentOf(const rd_kafka_ConsumerGroupDescription_t* group) {
  std::vector<Gathering::Owned> out;
  for (std::size_t m = 0; m < rd_kafka_ConsumerGroupDescription_member_count(group); ++m) {
    const rd_kafka_MemberDescription_t* member = rd_kafka_ConsumerGroupDescription_member(group, m);
    const rd_kafka_MemberAssignment_t* assigned = rd_kafka_MemberDescription_assignment(member);
    const rd_kafka_topic_partition_list_t* list = assigned ? rd_kafka_MemberAssignment_partitions(assigned) : nullptr;
    for (int n = 0; list && n < list->cnt; ++n) {
      out.push_back({rd_kafka_MemberDescription_consumer_id(member), list->elems[n].topic, list->elems[n].partition});
    }
  }
  return out;
}

}  // namespace

// The queue goes before the client that it is one of.
struct GroupWatch::Question {
  std::shared_ptr<rd_kafka_t> client;
  std::unique_ptr<rd_kafka_queue_t, QueueEnd> answers;
};

std::shared_ptr<const Gathering> GroupWatch::Known(const std::shared_ptr<rd_kafka_t>& client) {
  const SteadyTime now = clock_.Steady();
  std::lock_guard lock(mutex_);
  if (question_) Take(now);
  if (!question_ && !stopped_ && client && now >= ask_at_) Ask(now, client);
  return known_;
}

void GroupWatch::Take(SteadyTime now) {
  std::unique_ptr<rd_kafka_event_t, EventEnd> event(rd_kafka_queue_poll(question_->answers.get(), 0));
  if (!event) return;
  question_.reset();
  ask_at_ = now + kLetBe;
  known_ = std::make_shared<Gathering>();
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  std::size_t count = 0;
  const auto* result = rd_kafka_event_DescribeConsumerGroups_result(event.get());
  const auto** groups = result ? rd_kafka_DescribeConsumerGroups_result_groups(result, &count) : nullptr;
  if (count != 1 || rd_kafka_ConsumerGroupDescription_error(groups[0]) != nullptr) return;
  ask_at_ = now + kAskEvery;
  known_ = std::make_shared<Gathering>(AssignmentOf(groups[0]));
}

void GroupWatch::Ask(SteadyTime now, const std::shared_ptr<rd_kafka_t>& client) {
  auto question = std::make_shared<Question>();
  question->client = client;
  question->answers.reset(rd_kafka_queue_new(client.get()));
  std::unique_ptr<rd_kafka_AdminOptions_t, AdminOptionsEnd> options(
      rd_kafka_AdminOptions_new(client.get(), RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS));
  char why[256] = {};
  rd_kafka_AdminOptions_set_request_timeout(options.get(), kAnswerWithinMs, why, sizeof why);
  const char* groups[] = {group_.c_str()};
  rd_kafka_DescribeConsumerGroups(client.get(), groups, 1, options.get(), question->answers.get());
  question_ = std::move(question);
  ask_at_ = now + kLetBe;
}

void GroupWatch::Forget() {
  std::lock_guard lock(mutex_);
  known_ = std::make_shared<Gathering>();
  question_.reset();
  ask_at_ = clock_.Steady() + kLetBe;
}

void GroupWatch::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  question_.reset();
}

}  // namespace acl::kafka
