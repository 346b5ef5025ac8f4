#pragma once
// Reads a group's topics on a thread of its own that never runs a step: it hands messages out, bounded, and takes no more while
// enough is out. An offset is committed only after its message, and all before it, have been dealt with in the database (offset_tracker.h).
//
// When partitions are taken away, `on_revoke` runs first (stop starting, flush the committer, give leases back), then what is done is
// committed, then they go. What was out and comes back later is ignored: its partition is somebody else's, who gets the message again.

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/clock.h"
#include "shared/kafka/client.h"
#include "shared/kafka/offset_tracker.h"
#include "shared/kafka/received.h"
#include "shared/runtime/service.h"

namespace acl::kafka {

class Consumer final : public Service {
 public:
  struct Options {
    ClientSettings settings;
    std::string group;
    std::vector<std::string> topics;
    int max_out = 256;                                  // messages handed out and not done; no more are taken meanwhile
    std::chrono::milliseconds session_timeout{10'000};  // silent so long: its partitions go to others
    // A poll thread that hangs so long loses its partitions. It never runs a step, so a long step is nothing to it.
    std::chrono::milliseconds max_poll_interval{300'000};
    std::chrono::milliseconds commit_every{1'000};
    std::chrono::milliseconds answer_within{3'000};  // wait so long for the last commit, and for the leaving, with the broker away
    std::string assignor = "range,roundrobin";       // eager; "cooperative-sticky" has bugs in librdkafka 2.0
    // All on the consumer's thread. on_message must not block; on_revoke may, for less than the session timeout.
    std::function<void(Received)> on_message;
    std::function<void(int partitions)> on_assign, on_revoke;
    std::function<void(const Error&)> on_error;  // what passes by itself (a broker away) as well as what does not
  };

  Consumer(Options options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}
  ~Consumer() override { Stop(); }

  Status Start() override;
  void Stop() override;

  // From any thread: dealt with, its offset may go. Ignored if the partition has been taken away since.
  void Done(const Received& message);
  int out() const;
  // Messages in the assigned partitions behind what is dealt with, as far as the last fetch told.
  std::int64_t Lag() const;
  bool paused() const { return paused_.load(); }

 private:
  using Partition = std::pair<std::string, int>;

  void PollUntilStopped();
  void Assign(rd_kafka_topic_partition_list_t* partitions);
  void Revoke(rd_kafka_topic_partition_list_t* partitions);
  void HandleMessage(MessageHandle message);
  void Commit(bool wait);
  static void OnRebalance(rd_kafka_t*, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* partitions, void* self);

  const Options options_;
  const Clock& clock_;
  Handle handle_;
  std::unique_ptr<rd_kafka_queue_t, QueueEnd> messages_;  // of the assigned partitions
  mutable std::mutex mutex_;
  std::map<Partition, OffsetTracker> trackers_;  // of the partitions assigned now
  int out_ = 0, assignment_ = 0;
  std::atomic<bool> paused_{false}, stopping_{false};
  std::thread thread_;
};

}  // namespace acl::kafka
