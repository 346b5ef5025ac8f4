#pragma once
// Messages to the outside as rows (migrations/0011_approvals_and_deliveries.sql). PostgreSQL in production
// (shared/postgres/pg_delivery_store.h); in memory for unit tests (tests/support/memory_deliveries.h). Only the store's clock says what is
// due.
//
// Errors of every function: kUnavailable, kTimeout, kOutcomeUnknown, kInternal as in shared/kernel/store.h. Others are named below.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/ids.h"
#include "shared/base/result.h"

namespace acl::delivery {

using std::chrono::milliseconds;

enum class Channel { kWebhook, kKafka };
enum class State { kPending, kDelivered, kDead, kDiscarded };
std::string_view ChannelName(Channel channel);
std::string_view StateName(State state);
std::optional<Channel> ParseChannel(std::string_view name);
std::optional<State> ParseState(std::string_view name);

struct Delivery {
  std::int64_t position = 0;  // in the order in which everything was said
  std::string message_id;     // the same at every attempt
  ProjectId project = kDefaultProject;
  SubjectId subject;
  Channel channel = Channel::kWebhook;
  std::string endpoint;  // of a webhook its name, of a CloudEvent the topic
  std::string event;     // its type
  std::string body;      // JSON: of a webhook what is sent, of a CloudEvent its data
  std::string about;     // of a CloudEvent: `subject`
  State state = State::kPending;
  int attempts = 0;  // begun
  int failures = 0;  // recorded since it was said, or since a person had it tried again
  WallTime created_at, next_attempt_at;
  std::optional<WallTime> held_until;  // somebody sends it
  std::optional<WallTime> ended_at;
  std::string last_error;
};

// One line of its log, of which the newest are kept.
struct Attempt {
  int number = 0;
  WallTime at;  // of its end
  milliseconds took{0};
  int status = 0;     // of HTTP; 0: no answer
  std::string error;  // empty: delivered
};
inline constexpr int kAttemptsKept = 20;

struct ClaimRequest {
  int max = 16;                             // of all
  int each = 4;                             // of one endpoint
  std::vector<std::string> full_endpoints;  // of which none are wanted now
  milliseconds lease{60'000};               // how long they are the caller's: then somebody else may take them up
};
struct ClaimAnswer {
  std::vector<Delivery> due;
  std::int64_t pending = 0, dead = 0;  // of all
  milliseconds oldest{0};              // how long the oldest of the pending ones has been
  WallTime now;
};

// How an attempt ended. What becomes of the delivery is decided already (decide.h).
struct Outcome {
  std::string message_id;
  Attempt attempt;
  State state = State::kDelivered;
  int failures = 0;          // by now
  milliseconds again_in{0};  // kPending: from when this is recorded
};

class DeliveryStore {
 public:
  virtual ~DeliveryStore() = default;
  // Takes what was said since out of the outbox, and then those that are due and that nobody has. Of one subject to one endpoint only the
  // first that is pending is ever due: the later ones wait for its end.
  virtual Result<ClaimAnswer> Claim(const ClaimRequest& request) = 0;
  // False: it has ended meanwhile, or is somebody else's attempt by now. Then only a delivery is noted: it is true whoever made it.
  virtual Result<bool> Record(const Outcome& outcome) = 0;

  // Newest first, below `before` (its position; 0: from the newest).
  virtual Result<std::vector<Delivery>> List(const ProjectId& project, std::optional<State> state, std::int64_t before, int limit) = 0;
  virtual Result<Delivery> Get(const ProjectId& project, const std::string& message_id) = 0;  // kNotFound
  virtual Result<std::vector<Attempt>> Attempts(const std::string& message_id) = 0;           // oldest first
  // Of one that is dead or discarded, or waits: sent as soon as may be, with all its attempts before it. kNotFound; kConflict: delivered.
  virtual Result<Delivery> Retry(const ProjectId& project, const std::string& message_id) = 0;
  // Not sent any more. What is on its way may still arrive. kNotFound; kConflict: delivered.
  virtual Result<Delivery> Discard(const ProjectId& project, const std::string& message_id) = 0;
  // Removes delivered and discarded ones that ended so long ago; how many, at most `max`. Dead ones stay until a person says so.
  virtual Result<int> Prune(milliseconds older_than, int max) = 0;
};

}  // namespace acl::delivery
