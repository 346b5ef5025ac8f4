#pragma once
// Which member of the consumer group has which partition, asked of Kafka now and then while somebody sends. No thread, nothing waits: a
// question is on its way or it is not, and its answer is taken by the next who sends.

#include <memory>
#include <mutex>

#include "shared/base/clock.h"
#include "shared/kafka/client.h"
#include "shared/kafka/gathering.h"

namespace acl::kafka {

class GroupWatch {
 public:
  GroupWatch(std::string group, const Clock& clock) : group_(std::move(group)), clock_(clock) {}

  // What is known now, empty if nothing is. Asks through `client` when that is older than two seconds; after an answer that is an error (a
  // program without the right Describe on the group is one) not for half a minute.
  std::shared_ptr<const Gathering> Known(const std::shared_ptr<rd_kafka_t>& client);

  // A message was not sent: what is known counts for nothing for half a minute, so that a partition without a leader holds up no more than
  // the keys that name it.
  void Forget();
  // Before the client stops: lets go of it.
  void Stop();

 private:
  struct Question;

  void Take(SteadyTime now);
  void Ask(SteadyTime now, const std::shared_ptr<rd_kafka_t>& client);

  const std::string group_;
  const Clock& clock_;
  std::mutex mutex_;
  std::shared_ptr<const Gathering> known_ = std::make_shared<Gathering>();
  std::shared_ptr<Question> question_;
  SteadyTime ask_at_{};
  bool stopped_ = false;
};

}  // namespace acl::kafka
