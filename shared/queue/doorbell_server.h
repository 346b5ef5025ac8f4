#pragma once
// The coordinator's end of the doorbell: workers connect, say their session and queues, and are notified.
// Hints only (docs/architecture.md#doorbell).

#include <functional>
#include <memory>
#include <string>

#include "shared/base/host_port.h"
#include "shared/base/ids.h"
#include "shared/queue/grant_book.h"
#include "shared/queue/step_message.h"
#include "shared/runtime/service.h"
#include "shared/telemetry/metrics.h"

namespace acl {

class DoorbellServer final : public Service {
 public:
  struct Options {
    HostPort listen{"127.0.0.1", 0};
    int max_peers = 1024;
    int ring_at_once = 8;                                                // workers notified of one piece of work; beyond that some, in turn
    Metrics* metrics = nullptr;                                          // may be null
    std::function<void(const SubjectId&)> on_closed;                     // a worker said that a subject is closed; on the server's thread
    std::function<void()> on_work = {};                                  // a worker made something ready; on the server's thread
    std::function<void(const std::vector<StepMessage>&)> on_ready = {};  // the same, and all of it: keys, without kind and version
  };
  struct Counts {
    std::int64_t peers = 0, sent = 0, dropped = 0, received = 0;
  };

  explicit DoorbellServer(Options options);
  ~DoorbellServer() override;

  Status Start() override;  // kUnavailable: the address is taken
  void Stop() override;
  HostPort address() const;  // with the port in force

  // From any thread, never block.
  void RingWork(const std::string& queue, bool look = false);  // look: doorbell_frame.h
  // The same, of work that a relay was told of: only those who do not hear of it by messages.
  void RingHinted(const std::string& queue);
  // Another coordinator may relay what became ready here: one worker with a session, in turn, tells the others. Nothing said of the rows:
  // to look.
  void PassOn(std::vector<StepMessage> rows);
  void RingSubject(const WorkerSessionId& holder, const SubjectId& subject);
  // These were granted to that session as they were made. To nobody, if its line is lost: then its worker asks the database.
  void RingGranted(const WorkerSessionId& session, std::vector<SubjectId> subjects);
  GrantBook& room();  // what the workers said they have room for
  Counts counts() const;
  // For tests: drops every connection; workers come back by themselves.
  void CutAll();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acl
