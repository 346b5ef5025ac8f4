#include "shared/kafka/consumer.h"
#include "shared/base/fail_point.h"
#include "shared/base/memory.h"

namespace acl::kafka {

namespace {

constexpr int kPollMs = 50;

}  // namespace

Status Consumer::Start() {
  Config config;
  const std::map<std::string, std::string> ours = {
      {"group.id", options_.group},
      {"enable.auto.commit", "false"},
      {"enable.auto.offset.store", "false"},
      {"auto.offset.reset", "earliest"},
      {"partition.assignment.strategy", options_.assignor},
      {"session.timeout.ms", std::to_string(options_.session_timeout.count())},
      {"heartbeat.interval.ms", std::to_string(std::max<std::int64_t>(options_.session_timeout.count() / 5, 100))},
      {"max.poll.interval.ms", std::to_string(options_.max_poll_interval.count())},
      {"fetch.wait.max.ms", "100"},
      {"queued.min.messages", "1000"},
      {"queued.max.messages.kbytes", "4096"},
      {"socket.keepalive.enable", "true"},
      {"log_level", "0"},
  };
  if (auto set = config.SetAll(options_.settings, ours); !set) return set;
  rd_kafka_conf_set_opaque(config.get(), this);
  rd_kafka_conf_set_rebalance_cb(config.get(), &Consumer::OnRebalance);
  rd_kafka_conf_set_error_cb(config.get(), [](rd_kafka_t*, int code, const char* why, void* self) {
    auto& on_error = static_cast<Consumer*>(self)->options_.on_error;
    if (on_error) on_error(KafkaError("Kafka", rd_kafka_resp_err_t(code), why ? why : ""));
  });
  auto made = config.Make(RD_KAFKA_CONSUMER);
  if (!made) return made.error();
  handle_ = std::move(*made);
  rd_kafka_poll_set_consumer(handle_.get());
  messages_.reset(rd_kafka_queue_new(handle_.get()));
  auto topics = NewPartitionList(options_.topics.size());
  for (const std::string& topic : options_.topics) rd_kafka_topic_partition_list_add(topics.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
  if (auto code = rd_kafka_subscribe(handle_.get(), topics.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return KafkaError("subscribing", code);
  }
  thread_ = std::thread([this] { PollUntilStopped(); });
  return {};
}

// Events of the group and messages come by two queues, so that a full process goes on answering the group without taking messages. (Not by
// pausing partitions: in librdkafka a resume that meets a rebalance may be lost, and the partition stays silent; seen here.)
void Consumer::PollUntilStopped() {
  SteadyTime commit_at = clock_.Steady() + options_.commit_every;
  while (!stopping_) {
    const bool full = out() >= options_.max_out;
    paused_ = full;
    // What came before its partition's queue was turned to ours comes by the first one.
    // A message that there is no memory for is a hint less.
    (void)WithinMemory([&] { HandleMessage(MessageHandle(rd_kafka_consumer_poll(handle_.get(), full ? kPollMs : 0))); });
    if (!full) (void)WithinMemory([&] { HandleMessage(MessageHandle(rd_kafka_consume_queue(messages_.get(), kPollMs))); });
    if (const SteadyTime now = clock_.Steady(); now >= commit_at) {
      commit_at = now + options_.commit_every;
      Commit(false);
    }
  }
  // Leaves the group at once, so that the others need not wait for its session to end. Revoke runs in here. Without a broker there is
  // nobody to leave: bounded.
  std::unique_ptr<rd_kafka_queue_t, QueueEnd> last(rd_kafka_queue_new(handle_.get()));
  if (rd_kafka_error_t* refused = rd_kafka_consumer_close_queue(handle_.get(), last.get())) return rd_kafka_error_destroy(refused);
  const SteadyTime until = clock_.Steady() + options_.answer_within;
  while (!rd_kafka_consumer_closed(handle_.get()) && clock_.Steady() < until) {
    rd_kafka_queue_poll_callback(last.get(), kPollMs);
  }
}

void Consumer::HandleMessage(MessageHandle message) {
  if (!message || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) return;
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (options_.on_error) options_.on_error(KafkaError("Kafka", message->err, rd_kafka_message_errstr(message.get())));
    return;
  }
  Received received;
  {
    std::lock_guard lock(mutex_);
    received = TakeReceived(*message, assignment_);
    auto it = trackers_.find({received.topic, received.partition});
    if (it == trackers_.end()) return;
    it->second.Out(received.offset);
    ++out_;
  }
  options_.on_message(std::move(received));
}

void Consumer::OnRebalance(rd_kafka_t*, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* partitions, void* self) {
  auto& consumer = *static_cast<Consumer*>(self);
  if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    consumer.Assign(partitions);
  } else {
    consumer.Revoke(partitions);
  }
}

void Consumer::Assign(rd_kafka_topic_partition_list_t* partitions) {
  {
    std::lock_guard lock(mutex_);
    ++assignment_;
    trackers_.clear();
    out_ = 0;
    for (int n = 0; n < partitions->cnt; ++n) trackers_[{partitions->elems[n].topic, partitions->elems[n].partition}] = OffsetTracker();
  }
  rd_kafka_assign(handle_.get(), partitions);
  for (int n = 0; n < partitions->cnt; ++n) {
    const auto& one = partitions->elems[n];
    std::unique_ptr<rd_kafka_queue_t, QueueEnd> queue(rd_kafka_queue_get_partition(handle_.get(), one.topic, one.partition));
    if (queue) rd_kafka_queue_forward(queue.get(), messages_.get());
  }
  if (options_.on_assign) options_.on_assign(partitions->cnt);
}

void Consumer::Revoke(rd_kafka_topic_partition_list_t* partitions) {
  if (options_.on_revoke) options_.on_revoke(partitions->cnt);
  Commit(true);
  {
    std::lock_guard lock(mutex_);
    ++assignment_;
    trackers_.clear();
    out_ = 0;
  }
  rd_kafka_assign(handle_.get(), nullptr);
}

void Consumer::Commit(bool wait) {
  std::map<Partition, std::int64_t> offsets;
  {
    std::lock_guard lock(mutex_);
    for (auto& [partition, tracker] : trackers_) {
      if (auto offset = tracker.Committable()) offsets[partition] = *offset;
    }
  }
  if (offsets.empty()) return;
  FailPoint("offset.before_commit");
  auto list = NewPartitionList(offsets.size());
  for (const auto& [partition, offset] : offsets) {
    rd_kafka_topic_partition_list_add(list.get(), partition.first.c_str(), partition.second)->offset = offset;
  }
  // An answer that does not come, or a refusal after a rebalance, only means that messages come once more.
  std::unique_ptr<rd_kafka_queue_t, QueueEnd> answers(wait ? rd_kafka_queue_new(handle_.get()) : nullptr);
  auto code = wait ? rd_kafka_commit_queue(handle_.get(), list.get(), answers.get(), nullptr, nullptr)
                   : rd_kafka_commit(handle_.get(), list.get(), 1);
  if (wait && code == RD_KAFKA_RESP_ERR_NO_ERROR) {
    std::unique_ptr<rd_kafka_event_t, EventEnd> answer(rd_kafka_queue_poll(answers.get(), int(options_.answer_within.count())));
    code = answer ? rd_kafka_event_error(answer.get()) : RD_KAFKA_RESP_ERR__TIMED_OUT;
  }
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (options_.on_error) options_.on_error(KafkaError("committing offsets", code));
    return;
  }
  std::lock_guard lock(mutex_);
  for (const auto& [partition, offset] : offsets) {
    if (auto it = trackers_.find(partition); it != trackers_.end()) it->second.Committed(offset);
  }
}

void Consumer::Done(const Received& message) {
  std::lock_guard lock(mutex_);
  if (message.assignment != assignment_) return;
  auto it = trackers_.find({message.topic, message.partition});
  if (it == trackers_.end()) return;
  const std::size_t before = it->second.open();
  it->second.Done(message.offset);
  out_ -= int(before - it->second.open());
}

int Consumer::out() const {
  std::lock_guard lock(mutex_);
  return out_;
}

std::int64_t Consumer::Lag() const {
  std::lock_guard lock(mutex_);
  if (!handle_) return 0;
  std::int64_t lag = 0;
  for (const auto& [partition, tracker] : trackers_) {
    std::int64_t low = 0, high = 0;  // as the last fetch told: no round trip
    const auto code = rd_kafka_get_watermark_offsets(handle_.get(), partition.first.c_str(), partition.second, &low, &high);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && high >= 0) lag += tracker.Behind(high);
  }
  return lag;
}

void Consumer::Stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  thread_.join();
  std::lock_guard lock(mutex_);
  messages_.reset();
  rd_kafka_destroy_flags(handle_.release(), RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);  // closed above, as far as it could be
}

}  // namespace acl::kafka
