#pragma once
// What a driver does with messages of a transport that hands them out at least once (Kafka; in memory for tests and the simulator). A
// message names a ready row and is done only after the database answered the claim of that row. What the transport loses is found by age:
// rows that have been ready for longer than `late_after` are claimed by looking, as the other driver does.
//
// A message stands behind all that were sent before it, so under a backlog what has begun would wait behind what has not. Each claim's
// answer says whether something begun waits longer than a message takes; then three of four claims look for that first, and their messages
// find the rows gone.
//
//   transport --Offer--> [waiting, first priority first] --Claim--> database --> acknowledged (its offset may go)
//                              |                           \--> unavailable: back to the front
//                              \--> not a step message, or its claim is refused again and again --> poison

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>

#include "shared/base/clock.h"
#include "shared/queue/queue_driver.h"
#include "shared/queue/step_message.h"
#include "shared/telemetry/metrics.h"

namespace acl {

// A message as a transport handed it out. `handle` is the transport's: it knows its message by it.
struct Delivery {
  std::uint64_t handle = 0;
  std::string topic;
  std::string value;
};

// A message whose row was granted to this process.
struct GrantedMessage {
  const StepMessage& message;
  SubjectId subject;  // of a dispatch: its run's
  Token token;
  WallTime began;  // when the claim did
};

class MessageDriver {
 public:
  struct Options {
    milliseconds late_after{30'000};
    milliseconds late_every{5'000};                          // how often to look
    milliseconds begun_after{250};                           // what has begun and is ready for longer is behind a backlog
    int refusals_until_poison = 3;                           // claims of one message alone that the database refuses
    Metrics* metrics = nullptr;                              // may be null
    std::function<void(std::uint64_t handle)> acknowledged;  // dealt with: its offset may go
    // Cannot be dealt with, ever. Whoever takes it calls `acknowledged` itself, once the message is put away.
    std::function<void(const Delivery&, const std::string& reason)> poison;
    std::function<void(const Delivery&, const GrantedMessage&)> granted;  // before it is acknowledged
    QueueDriver::OnWork on_work;
  };

  MessageDriver(Options options, KernelStore& store, const Clock& clock);

  // As QueueDriver's.
  Result<ClaimAnswer> Claim(const ClaimRequest& request);

  void LookOnce() { look_.store(true); }

  // -- for the transport, from its thread
  void Offer(Delivery delivery);
  // Its partitions went to others: what waits here will be offered to them. A claim under way is awaited, so that it is acknowledged first.
  void Revoke();

  std::size_t waiting() const;
  struct Counts {
    std::int64_t offered = 0, claimed = 0, dropped = 0, not_for_us = 0, put_back = 0, poisoned = 0, late = 0, begun = 0;
  };
  Counts counts() const;

 private:
  struct Waiting {
    Delivery delivery;
    StepMessage message;
    int refusals = 0;
  };
  static constexpr int kPriorities = 4;

  std::vector<Waiting> Take(const ClaimRequest& request);
  void PutBack(std::vector<Waiting> taken);
  void Settle(const std::vector<Waiting>& taken);
  void TellGranted(const std::vector<Waiting>& taken, const ClaimAnswer& answer, WallTime began) const;
  void Poison(const Delivery& delivery, const std::string& reason);
  Result<ClaimAnswer> ClaimTaken(const ClaimRequest& request, std::vector<Waiting> taken);
  Result<ClaimAnswer> ClaimLate(const ClaimRequest& request);
  Result<ClaimAnswer> ClaimBegun(const ClaimRequest& request);
  Result<ClaimAnswer> ClaimNamed(const ClaimRequest& request, Result<ClaimAnswer> looked);

  const Options options_;
  KernelStore& store_;
  const Clock& clock_;
  Counter claimed_, dropped_, not_for_us_, poisoned_, late_;
  std::mutex claiming_;  // one claim at a time; Revoke waits for it
  mutable std::mutex mutex_;
  std::array<std::deque<Waiting>, kPriorities> waiting_;
  std::size_t singles_ = 0;  // a batch of so many was refused: they go one by one, until the one is found
  SteadyTime late_at_{};
  // Of the thread that claims.
  bool begun_waits_ = false;
  std::uint64_t begun_turn_ = 0;
  std::atomic<bool> look_{false};
  Counts counts_;
};

}  // namespace acl
