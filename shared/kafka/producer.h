#pragma once
// Sends messages that are on every in-sync replica when they count as sent (idempotent, acks=all). A fatal error of the client (librdkafka
// gives up the sequence) makes a new client, and what was in flight is answered with kUnavailable: the sender sends it again, and whoever
// reads drops what it saw (a message only names a ready row).

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "shared/kafka/client.h"
#include "shared/runtime/service.h"

namespace acl::kafka {

struct Outgoing {
  std::string topic, key, value;
  std::map<std::string, std::string> headers;
  std::optional<int> partition = {};  // nothing: the key decides
};

class Producer final : public Service {
 public:
  struct Options {
    ClientSettings settings;
    int max_queued = 100'000;                                 // messages waiting or in flight
    std::chrono::milliseconds give_up_after{30'000};          // a message not acknowledged by then is answered kUnavailable
    std::chrono::milliseconds linger{1}, stop_within{5'000};  // gather a batch so long; at Stop wait so long for answers
  };
  // Once for each message taken, on the producer's thread.
  using Done = std::function<void(Status)>;

  explicit Producer(Options options) : options_(std::move(options)) {}
  ~Producer() override { Stop(); }

  Status Start() override;  // kInvalid: a bad setting. A broker that is away is no error: it is tried for as long as this runs
  void Stop() override;

  // From any thread, never blocks. kUnavailable: full, stopped, or just being made anew: try later; `done` is not called then.
  Status Send(const Outgoing& message, Done done);
  // For questions to Kafka beside the messages; empty while there is none.
  std::shared_ptr<rd_kafka_t> client();
  // Messages sent and not answered yet.
  int waiting() const { return waiting_.load(); }
  int rebuilt() const { return rebuilt_.load(); }
  // Makes the client fail as librdkafka does when it gives up (tests).
  void FailForTest();

 private:
  Result<Handle> Make();
  void PollUntilStopped();
  static void OnDelivered(rd_kafka_t*, const rd_kafka_message_t* message, void* self);

  const Options options_;
  std::mutex mutex_;
  std::shared_ptr<rd_kafka_t> handle_;
  std::atomic<int> waiting_{0}, rebuilt_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace acl::kafka
