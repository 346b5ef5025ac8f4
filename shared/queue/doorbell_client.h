#pragma once
// The worker's end of the doorbell: one connection to each coordinator, made again with backoff for as long as it runs. Coordinators are
// those of the settings, for ever, and those that live at the moment, as somebody tells it (SetLiving).

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/host_port.h"
#include "shared/base/ids.h"
#include "shared/queue/step_message.h"
#include "shared/runtime/service.h"

namespace acl {

class DoorbellClient final : public Service {
 public:
  struct Options {
    std::vector<HostPort> coordinators;  // of the settings
    std::string worker_name;
    std::vector<std::string> queues;
    bool by_messages = false;  // hears of work from the message queue: need not be notified of what a relay was told of
    std::chrono::milliseconds retry_min{100}, retry_max{5'000};
    std::chrono::milliseconds connect_within{5'000};  // to each address of a name, which is then resolved again: it may be elsewhere
    // On the client's thread; must not block.
    std::function<void(const std::string& queue)> on_work;
    std::function<void()> on_look;  // told before on_work: look at the ready table, whatever messages say; may be empty
    std::function<void(const SubjectId&)> on_woken;
    // Granted to this session as they were made. Only what SetRoom made room for.
    std::function<void(const WorkerSessionId& session, const std::vector<SubjectId>& subjects)> on_granted;
    int known_version = 0;           // with SetRoom: event schema version,
    std::vector<std::string> kinds;  // and kinds of subjects, that this worker can run
    // Told with every line made or lost; may be empty. All: every coordinator that lives, if it is known which do; else those of the
    // settings.
    std::function<void(bool all_connected)> on_lines;
  };

  explicit DoorbellClient(Options options);
  ~DoorbellClient() override;

  Status Start() override;  // never fails: a coordinator that is away is tried again
  void Stop() override;

  // From any thread. The coordinators that live now, whether they are among those of the settings or not; empty: nobody knows. Lines to
  // others than these and those of the settings are given up when they break.
  void SetLiving(std::vector<HostPort> living);
  // From any thread. Told to every coordinator now and on every reconnect.
  void SetSession(const WorkerSessionId& session);
  // How many runs may be granted unasked and not heard of yet, in all; each connected coordinator has its share. 0 from the start and with
  // every session.
  void SetRoom(const WorkerSessionId& session, int room);
  void TellClosed(const SubjectId& subject);
  // This worker made something ready (gave a run back): whoever relays may look. Tellings that wait to be sent become one.
  void TellWork();
  // The same, of rows whose keys are known: they need not be looked for.
  void TellReady(const std::vector<StepMessage>& rows);
  // Passed on by the coordinators: there is work on a queue; a subject has unread inbox rows.
  void TellWork(const std::string& queue);
  void TellWoken(const SubjectId& subject, const WorkerSessionId& holder);
  int connected() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acl
