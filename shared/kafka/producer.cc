#include "shared/kafka/producer.h"

namespace acl::kafka {

namespace {
constexpr int kServeMs = 50, kPurgeMs = 2'000;
}  // namespace

void Producer::OnDelivered(rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
  std::unique_ptr<Done> done(static_cast<Done*>(message->_private));
  static_cast<Producer*>(self)->waiting_.fetch_sub(1);
  if (!done || !*done) return;
  if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) return (*done)({});
  Error error = KafkaError("the message was not sent", message->err);
  // What is left of a client that gave up goes with the next one.
  if (error.code == Code::kInternal || message->err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT ||
      message->err == RD_KAFKA_RESP_ERR__PURGE_QUEUE) {
    error.code = Code::kUnavailable;
  }
  (*done)(error);
}

Result<Handle> Producer::Make() {
  Config config;
  const std::map<std::string, std::string> ours = {
      {"enable.idempotence", "true"},
      {"acks", "all"},
      {"linger.ms", std::to_string(options_.linger.count())},
      {"message.timeout.ms", std::to_string(options_.give_up_after.count())},
      {"queue.buffering.max.messages", std::to_string(options_.max_queued)},
      {"socket.keepalive.enable", "true"},
      {"log_level", "0"},
  };
  if (auto set = config.SetAll(options_.settings, ours); !set) return set.error();
  rd_kafka_conf_set_dr_msg_cb(config.get(), &Producer::OnDelivered);
  rd_kafka_conf_set_opaque(config.get(), this);
  // Errors are seen at each message; without a callback librdkafka would write them to stderr.
  rd_kafka_conf_set_error_cb(config.get(), [](rd_kafka_t*, int, const char*, void*) {});
  return config.Make(RD_KAFKA_PRODUCER);
}

Status Producer::Start() {
  auto made = Make();
  if (!made) return made.error();
  handle_ = std::shared_ptr<rd_kafka_t>(std::move(*made));
  thread_ = std::thread([this] { PollUntilStopped(); });
  return {};
}

void Producer::PollUntilStopped() {
  while (!stopping_) {
    std::shared_ptr<rd_kafka_t> handle = client();
    if (handle) {
      rd_kafka_poll(handle.get(), kServeMs);
      char why[256] = {};
      if (rd_kafka_fatal_error(handle.get(), why, sizeof why) == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
      {
        std::lock_guard lock(mutex_);
        handle_.reset();  // nothing more goes to it
      }
      rd_kafka_purge(handle.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
      rd_kafka_flush(handle.get(), kPurgeMs);
    }
    handle.reset();
    auto made = Make();
    ACL_CHECK(made.ok(), "these settings made a client before");
    std::lock_guard lock(mutex_);
    handle_ = std::shared_ptr<rd_kafka_t>(std::move(*made));
    ++rebuilt_;
  }
}

std::shared_ptr<rd_kafka_t> Producer::client() {
  std::lock_guard lock(mutex_);
  return handle_;
}

Status Producer::Send(const Outgoing& message, Done done) {
  const std::shared_ptr<rd_kafka_t> handle = client();
  if (!handle || stopping_) return Error{Code::kUnavailable, "the Kafka producer is not running just now"};
  rd_kafka_headers_t* headers = nullptr;
  if (!message.headers.empty()) {
    headers = rd_kafka_headers_new(message.headers.size());
    for (const auto& [name, value] : message.headers) {
      rd_kafka_header_add(headers, name.data(), ssize_t(name.size()), value.data(), ssize_t(value.size()));
    }
  }
  auto kept = std::make_unique<Done>(std::move(done));
  ++waiting_;
  rd_kafka_vu_t parts[7] = {};
  std::size_t used = 0;
  const auto part = [&](rd_kafka_vtype_t type) -> rd_kafka_vu_t& {
    parts[used].vtype = type;
    return parts[used++];
  };
  part(RD_KAFKA_VTYPE_TOPIC).u.cstr = message.topic.c_str();
  if (message.partition) part(RD_KAFKA_VTYPE_PARTITION).u.i32 = *message.partition;
  part(RD_KAFKA_VTYPE_KEY).u.mem = {const_cast<char*>(message.key.data()), message.key.size()};
  part(RD_KAFKA_VTYPE_VALUE).u.mem = {const_cast<char*>(message.value.data()), message.value.size()};
  part(RD_KAFKA_VTYPE_MSGFLAGS).u.i = RD_KAFKA_MSG_F_COPY;
  part(RD_KAFKA_VTYPE_OPAQUE).u.ptr = kept.get();
  if (headers) part(RD_KAFKA_VTYPE_HEADERS).u.headers = headers;
  rd_kafka_error_t* refused = rd_kafka_produceva(handle.get(), parts, used);
  const rd_kafka_resp_err_t code = refused ? rd_kafka_error_code(refused) : RD_KAFKA_RESP_ERR_NO_ERROR;
  if (refused) rd_kafka_error_destroy(refused);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
    (void)kept.release();  // OnDelivered's now
    return {};
  }
  --waiting_;
  if (headers) rd_kafka_headers_destroy(headers);
  Error error = KafkaError("the message was not taken", code);
  if (error.code == Code::kInternal) error.code = Code::kUnavailable;
  return error;
}

void Producer::FailForTest() {
  std::lock_guard lock(mutex_);
  if (handle_) rd_kafka_test_fatal_error(handle_.get(), RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "asked for by a test");
}

void Producer::Stop() {
  if (!thread_.joinable()) return;
  std::shared_ptr<rd_kafka_t> handle = client();
  if (handle) rd_kafka_flush(handle.get(), int(options_.stop_within.count()));
  stopping_ = true;
  thread_.join();
  {
    std::lock_guard lock(mutex_);
    handle = std::exchange(handle_, nullptr);
  }
  if (!handle) return;
  rd_kafka_purge(handle.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  rd_kafka_flush(handle.get(), kPurgeMs);
}

}  // namespace acl::kafka
