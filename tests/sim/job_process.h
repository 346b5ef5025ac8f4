#pragma once
// A simulated coordinator: production's jobs (job_plan.h), each a JobCore on a fiber that stops at every call to the database, over one
// LeaderLeases as in production. Whole when it is made; gone, with every stack unwound, when it is killed.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/job_core.h"
#include "coordinator/job_plan.h"
#include "tests/sim/fiber.h"

namespace acl::test {

class JobProcess {
 public:
  using Micros = std::chrono::microseconds;
  // What the world gives it.
  struct Outside {
    const Clock& clock;
    Random& random;
    // Calls it after that time, unless the process has died by then; once it goes on, if it is frozen.
    std::function<void(Micros delay, std::function<void()> run)> after;
    std::function<bool()> reaches_database;                    // what its watch of the database finds
    std::function<void(const std::string& name, Token)> held;  // a job was taken
    std::function<void(const std::string& name)> tick;         // a tick begins
  };

  JobProcess(std::vector<coordinator::PlannedJob> planned, WorkerSessionId session, milliseconds ttl, KernelStore& store, Outside outside);
  ~JobProcess();

  // A fiber of this process stands before (or behind) a call to the database: it goes on after that time. Elsewhere it does nothing.
  static void Await(Micros time);

  static bool InAFiber() { return running_ != nullptr; }

  void Wake(bool (*which)(const std::string& name));
  bool turning(const std::string& name) const;  // is in the middle of a tick
  const WorkerSessionId& session() const { return session_; }

 private:
  struct BackgroundJob;

  void Begin(BackgroundJob& job, coordinator::PlannedJob planned);
  void Run(BackgroundJob& job);
  Result<coordinator::LeaderLeases::Answer> Hold(BackgroundJob& job, const std::string& name);
  void Suspect();
  void Probe();
  void ResumeAfter(BackgroundJob& job, Micros delay);
  void Stop(BackgroundJob& job);

  static thread_local BackgroundJob* running_;

  const WorkerSessionId session_;
  const Outside outside_;
  const milliseconds ttl_;
  coordinator::LeaderLeases leases_;
  bool asking_ = false;                  // a fiber is in LeaderLeases::Hold: its mutex is taken
  std::vector<BackgroundJob*> in_line_;  // for that mutex
  bool ready_ = true;                    // of its watch of the database
  std::vector<std::unique_ptr<BackgroundJob>> jobs_;
};

}  // namespace acl::test
