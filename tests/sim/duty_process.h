#pragma once
// A simulated coordinator: production's duties (duty_plan.h), each a DutyCore on a fiber that stops at every call to the database, over one
// LoopLeases as in production. Whole when it is made; gone, with every stack unwound, when it is killed.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/duty_core.h"
#include "coordinator/duty_plan.h"
#include "tests/sim/fiber.h"

namespace acl::test {

class DutyProcess {
 public:
  using Micros = std::chrono::microseconds;
  // What the world gives it.
  struct Outside {
    const Clock& clock;
    Random& random;
    // Calls it after that time, unless the process has died by then; once it goes on, if it is frozen.
    std::function<void(Micros delay, std::function<void()> run)> after;
    std::function<bool()> reaches_database;                    // what its watch of the database finds
    std::function<void(const std::string& name, Token)> held;  // a duty was taken
    std::function<void(const std::string& name)> turn;         // a turn begins
  };

  DutyProcess(std::vector<coordinator::PlannedDuty> planned, SessionId session, milliseconds ttl, KernelStore& store, Outside outside);
  ~DutyProcess();

  // A fiber of this process stands before (or behind) a call to the database: it goes on after that time. Elsewhere it does nothing.
  static void Await(Micros time);

  static bool InAFiber() { return running_ != nullptr; }

  void Wake(bool (*which)(const std::string& name));
  bool turning(const std::string& name) const;  // is in the middle of a turn
  const SessionId& session() const { return session_; }

 private:
  struct Duty;

  void Begin(Duty& duty, coordinator::PlannedDuty planned);
  void Run(Duty& duty);
  Result<coordinator::LoopLeases::Answer> Hold(Duty& duty, const std::string& name);
  void Suspect();
  void Probe();
  void ResumeAfter(Duty& duty, Micros delay);
  void Stop(Duty& duty);

  static thread_local Duty* running_;

  const SessionId session_;
  const Outside outside_;
  const milliseconds ttl_;
  coordinator::LoopLeases leases_;
  bool asking_ = false;         // a fiber is in LoopLeases::Hold: its mutex is taken
  std::vector<Duty*> in_line_;  // for that mutex
  bool ready_ = true;           // of its watch of the database
  std::vector<std::unique_ptr<Duty>> duties_;
};

}  // namespace acl::test
