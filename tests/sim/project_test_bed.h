#pragma once
// Projects under simulation: several coordinators' desks (coordinator/projects/store_desk.h), each on a fiber that stops before and behind
// every call to the store, agents that work on a few projects under claims and ask again when they hear nothing, timers, and seeded faults:
// requests and answers lost, desks killed and frozen, agents that sleep through their claims. First faults, then healing; then everything
// is compared with what the agents were told. One thread, virtual time: the same seed gives the same run.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "coordinator/projects/store_desk.h"
#include "shared/base/random.h"
#include "shared/kernel/memory_queries.h"
#include "shared/kernel/memory_store.h"
#include "shared/kinds/project/project_kind.h"
#include "tests/sim/fiber.h"
#include "tests/sim/test_bed.h"
#include "tests/support/faulty_store.h"
#include "tests/support/memory_project_names.h"

namespace acl::test {

// What a run met; zeros over all seeds mean that the simulation does not exercise what it claims to.
struct ProjectReport {
  std::int64_t commands = 0, refused = 0, repeats = 0, given_up = 0;
  std::int64_t started = 0, taken = 0, expired = 0, late_refused = 0, completed = 0, abandoned = 0;
  std::int64_t killed = 0, frozen = 0, unknown = 0, snapshots = 0, together = 0;
  std::int64_t rolls = 0, dropped = 0;  // journals that began; events of journals that were dropped
  Hash256 end{};                        // over the chains of all journals
  std::vector<std::string> violations;

  void Add(const ProjectReport& other);
  std::string ToString() const;
};

class ProjectTestBed {
 public:
  explicit ProjectTestBed(std::uint64_t seed);
  ~ProjectTestBed();
  ProjectReport Run();

 private:
  using Micros = std::chrono::microseconds;
  // What somebody asks a desk, until it is answered.
  struct Request {
    ProjectId project;
    coordinator::ProjectDesk::Asked asked;
    std::function<void(const coordinator::ProjectDesk::Done&)> done;  // null: settles what is unread
    int tries = 0;
    bool answered = false;
  };
  struct Desk {
    std::uint64_t incarnation = 0;
    std::unique_ptr<FaultyStore> store;
    std::unique_ptr<coordinator::StoreDesk> desk;
    std::unique_ptr<Fiber> fiber;
    std::deque<std::shared_ptr<Request>> line;
    bool idle = false;
    Micros frozen_until{};
  };
  struct Agent {
    std::string name;
    ProjectId project;
    std::string task;  // which it believes to hold
    std::int64_t token = 0;
    int commands = 0;
  };
  struct Planned {
    Micros at;
    std::uint64_t order;
    std::function<void()> run;
    bool operator<(const Planned& other) const { return std::tie(other.at, other.order) < std::tie(at, order); }
  };

  void After(Micros delay, std::function<void()> run);
  Micros Ms(std::uint64_t low, std::uint64_t high) { return Micros(1'000 * (low + random_.Below(high - low + 1))); }
  bool faults() const { return clock_.now() < faults_end_; }
  void Violated(const std::string& what) { report_.violations.push_back(what); }

  void StartDesk(std::size_t number);
  void Serve(Desk& desk);
  void ResumeAfter(std::size_t number, Micros delay);
  void Suspend(std::size_t number);
  void Ask(std::shared_ptr<Request> request);
  void Trouble();
  void Upkeep();

  void MakeProjects();
  void Act(Agent& agent);
  void Command(Agent& agent, const std::string& name, Json arguments, std::function<void(const coordinator::ProjectDesk::Done&)> then);
  void Work(Agent& agent);
  void Plan(Agent& agent);

  void CheckAll();
  void CheckProject(const ProjectId& project);
  void CheckClaims(const MemorySubject& subject);

  SeededRandom random_;
  SimClock clock_;
  MemoryStore store_;
  MemoryQueries queries_;
  MemoryProjectNames names_;
  Uuid7Maker ids_;
  std::shared_ptr<const CommandKind> kind_ = project::MakeProjectKind();
  std::priority_queue<Planned> planned_;
  std::uint64_t order_ = 0;
  Micros faults_end_{}, end_{};
  std::vector<std::unique_ptr<Desk>> desks_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::vector<ProjectId> projects_;
  std::map<std::string, std::string> answered_;                                     // by request key: what was answered first
  std::map<std::pair<ProjectId, std::string>, std::string> titles_;                 // of tasks whose adding was answered
  std::map<std::tuple<ProjectId, std::string, std::int64_t>, std::string> claims_;  // by project, task and token: who was told to have it
  ProjectReport report_;
};

}  // namespace acl::test
