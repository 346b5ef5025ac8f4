#include "shared/kafka/consumer.h"

namespace acl::kafka {

namespace {

constexpr int kPollMs = 50;
// The poll thread never runs a step, so a long step does not keep it from polling; this only bounds a bug.
constexpr const char* kMaxPollIntervalMs = "300000";

struct ListEnd {
  void operator()(rd_kafka_topic_partition_list_t* list) const { rd_kafka_topic_partition_list_destroy(list); }
};
using PartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t, ListEnd>;
struct MessageEnd {
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
};

PartitionList NewList(std::size_t size) { return PartitionList(rd_kafka_topic_partition_list_new(int(size))); }

Received Taken(const rd_kafka_message_t& message, int assignment) {
  Received out;
  out.topic = rd_kafka_topic_name(message.rkt);
  out.partition = message.partition;
  out.offset = message.offset;
  out.assignment = assignment;
  if (message.key) out.key.assign(static_cast<const char*>(message.key), message.key_len);
  if (message.payload) out.value.assign(static_cast<const char*>(message.payload), message.len);
  rd_kafka_headers_t* headers = nullptr;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return out;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t n = 0; rd_kafka_header_get_all(headers, n, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++n) {
    out.headers[name] = value ? std::string(static_cast<const char*>(value), size) : std::string();
  }
  return out;
}

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
      {"max.poll.interval.ms", kMaxPollIntervalMs},
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
  auto topics = NewList(options_.topics.size());
  for (const std::string& topic : options_.topics) rd_kafka_topic_partition_list_add(topics.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
  if (auto code = rd_kafka_subscribe(handle_.get(), topics.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return KafkaError("subscribing", code);
  }
  thread_ = std::thread([this] { PollUntilStopped(); });
  return {};
}

void Consumer::PollUntilStopped() {
  SteadyTime commit_at = clock_.Steady() + options_.commit_every;
  while (!stopping_) {
    std::unique_ptr<rd_kafka_message_t, MessageEnd> message(rd_kafka_consumer_poll(handle_.get(), kPollMs));
    if (message && message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
      Received received;
      bool ours = false;
      {
        std::lock_guard lock(mutex_);
        received = Taken(*message, assignment_);
        if (auto it = trackers_.find({received.topic, received.partition}); it != trackers_.end()) {
          ours = true;
          it->second.Out(received.offset);
          ++out_;
        }
      }
      if (ours) options_.on_message(std::move(received));
    } else if (message && message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF && options_.on_error) {
      options_.on_error(KafkaError("Kafka", message->err, rd_kafka_message_errstr(message.get())));
    }
    PauseOrResume();
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
  paused_ = false;
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

void Consumer::PauseOrResume() {
  const int out = this->out();
  const bool want = paused_ ? out > options_.max_out / 2 : out >= options_.max_out;
  if (want == paused_) return;
  rd_kafka_topic_partition_list_t* assigned = nullptr;
  if (rd_kafka_assignment(handle_.get(), &assigned) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  PartitionList list(assigned);
  // Paused partitions are still polled: the group sees a living member.
  const auto code = want ? rd_kafka_pause_partitions(handle_.get(), list.get()) : rd_kafka_resume_partitions(handle_.get(), list.get());
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) paused_ = want;
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
  auto list = NewList(offsets.size());
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

void Consumer::Stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  thread_.join();
  rd_kafka_destroy_flags(handle_.release(), RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);  // closed above, as far as it could be
}

}  // namespace acl::kafka
