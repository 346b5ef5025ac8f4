#pragma once
// Which member of the consumer group has which partition, asked of Kafka now and then while somebody sends, by a thread of its own: whoever
// sends never waits for the answer. (Asked by rd_kafka_list_groups, which blocks. librdkafka's questions that do not, those of its admin
// interface to the group's broker, end the process when that broker's connection breaks: its issue 4605, found here by chaos.)

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "shared/base/clock.h"
#include "shared/kafka/client.h"
#include "shared/kafka/partition_affinity.h"
#include "shared/runtime/service.h"

namespace acl::kafka {

class GroupWatch final : public Service {
 public:
  // Through whom it asks; empty while there is nobody.
  using Client = std::function<std::shared_ptr<rd_kafka_t>()>;

  struct Pace {
    std::chrono::milliseconds every = std::chrono::milliseconds(3'000), after_an_error = std::chrono::milliseconds(30'000);
  };

  GroupWatch(std::string group, Client client, const Clock& clock, const Pace& pace)
      : group_(std::move(group)), client_(std::move(client)), clock_(clock), pace_(pace) {}
  ~GroupWatch() override { Stop(); }

  Status Start() override;
  void Stop() override;  // a question that is on its way is waited for, a second at most

  // From any thread: what is known now, empty if nothing is. Has it asked again when that is older than `every`. After an error (a
  // program without the right Describe on the group gets one) it is asked `after_an_error`.
  std::shared_ptr<const PartitionAffinity> Known();
  // A message was not sent: what is known counts for nothing as long as after an error, so that a partition without a leader holds up no
  // more than the keys that name it.
  void Forget();

 private:
  void RunUntilStopped();
  // Nothing: it is not known.
  std::shared_ptr<const PartitionAffinity> Ask() const;

  const std::string group_;
  const Client client_;
  const Clock& clock_;
  const Pace pace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const PartitionAffinity> known_ = std::make_shared<PartitionAffinity>();
  SteadyTime ask_at_{};
  bool wanted_ = false, stopping_ = false;
  int forgotten_ = 0;  // an answer to a question of before counts for nothing
  std::thread thread_;
};

}  // namespace acl::kafka
