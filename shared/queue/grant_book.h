#pragma once
// What the workers on a coordinator's doorbell said they have room for (docs/architecture.md#create-and-grant): who gets a run as it is
// made. Memory only. It may be out of date: the database grants to living sessions alone, and what the worker then does not hear of it
// gives back.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shared/kernel/types.h"

namespace acl {

class GrantBook {
 public:
  static constexpr std::uint64_t kMostFree = 1024;  // whatever a worker says

  // -- from the doorbell, by connection
  // Its queues and session, as its hello says: what it had room for before is void.
  void Hello(std::int64_t peer, const WorkerSessionId& session, std::vector<std::string> queues);
  // In all since its hello; of another session than the hello's it is ignored.
  void Room(std::int64_t peer, const WorkerSessionId& session, std::uint64_t limit, int known_version, std::vector<std::string> kinds);
  void Gone(std::int64_t peer);

  // Somebody said this queue with its hello.
  bool Serves(const std::string& queue);
  // A place for one run, taken; whoever has most room first. Nil: nobody has any.
  std::optional<WorkerSessionId> Take(const CreateItem& item);
  // It was not needed: the run was there already, or was not made.
  void PutBack(const WorkerSessionId& session);
  // The database says it lives no more.
  void Dead(const WorkerSessionId& session);

 private:
  struct Peer {
    WorkerSessionId session;
    std::vector<std::string> queues, kinds;
    int known_version = 0;
    std::uint64_t limit = 0, taken = 0;
    std::uint64_t free() const { return limit > taken ? limit - taken : 0; }
  };
  Peer* Find(const WorkerSessionId& session);

  std::mutex mutex_;
  std::map<std::int64_t, Peer> peers_;
};

}  // namespace acl
