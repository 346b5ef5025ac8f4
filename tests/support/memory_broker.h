#pragma once
// A message queue in memory, for conformance and simulation: keeps messages of topics, hands each to one consumer of its topic at a time,
// and hands it out again if that consumer leaves without having dealt with it. Single-threaded: Deliver() is when anything happens.

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "shared/queue/message_driver.h"

namespace acl::test {

class MemoryBroker {
 public:
  class Consumer;

  // A worker's driver over this broker. It joins at Start and leaves at Stop or when it goes.
  std::unique_ptr<QueueDriver> MakeDriver(std::vector<std::string> queues, KernelStore& store, const Clock& clock,
                                          QueueDriver::OnWork on_work, std::size_t max_out, milliseconds late_after,
                                          milliseconds late_every);

  void Send(const std::string& queue, std::string value) { waiting_.push_back({queue, std::move(value)}); }
  // Hands out what waits, as far as consumers take it; in turn.
  void Deliver();
  // Everything that is not handed out is gone.
  void Wipe() { waiting_.clear(); }
  // Random access to what waits: a simulator loses, repeats and reorders it.
  struct Message {
    std::string queue, value;
  };
  std::deque<Message>& waiting() { return waiting_; }
  // Of a driver made here, since it was asked last.
  MessageDriver::Counts CountsOf(QueueDriver& driver) const;
  std::int64_t poisoned() const { return poisoned_; }

 private:
  std::deque<Message> waiting_;
  std::vector<Consumer*> consumers_;
  std::size_t turn_ = 0;
  std::int64_t poisoned_ = 0;
};

}  // namespace acl::test
