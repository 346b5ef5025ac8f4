#pragma once
// Agents that work on projects through the API, many at once: half of them on one project, the others on any of all. Each takes tasks under
// short claims, writes checkpoints, renews, hands back, blocks, finishes, sleeps through a claim now and then, and says everything under a
// key of its own until it is answered. What each command says, only it says (a title, a reason), so that it can be found in the journal.

#include <atomic>
#include <optional>

#include "chaos/history/history.h"
#include "chaos/http/client.h"
#include "chaos/load/clients.h"
#include "shared/base/random.h"

namespace acl::chaos {

struct AgentsOptions {
  std::vector<std::string> api_urls;  // of the coordinators
  std::string api_key;
  std::uint64_t seed = 1;
  int agents = 0, projects = 0;
};

// What the projects of a workload with this seed are called.
std::string ProjectPrefix(const std::string& label);

class Agents {
 public:
  Agents(AgentsOptions options, Recorder* history);

  // Until every project is there and every agent at work.
  bool AwaitReady(std::chrono::milliseconds limit);
  // As clients.h says; each client is an agent.
  bool AwaitAnswers(int more, std::chrono::milliseconds limit) const { return clients_.AwaitAnswers(more, limit); }
  bool Stop(std::chrono::milliseconds limit) { return clients_.Stop(limit); }

 private:
  struct Project {
    std::string id;
    std::atomic<int> tasks{0};  // that are known to have been made
  };
  struct Agent {
    Agent(int n, std::uint64_t seed) : number(n), name("agent-" + std::to_string(n)), random(seed) {}
    const int number;
    const std::string name;
    SeededRandom random;
    int commands = 0;
    Project* project = nullptr;  // of the task that it believes to hold, or looks for one in
    std::string task;
    std::int64_t token = 0;
  };
  struct Told {
    bool refused = false;
    std::string reason;
    Json answer = Json::object();
  };
  // A request, until it is answered: what is said, under which key, and where.
  struct Command {
    std::string name, key, by, path, project;
    Json arguments;
  };

  void Work(int number);
  void MakeProjects(Agent& me);
  void Act(Agent& me);
  void OnItsTask(Agent& me);
  void LookForWork(Agent& me);
  // Once: what is next for it, and as of which event.
  void LookAtNext(Agent& me);
  void Take(Agent& me, const std::optional<Told>& told);
  // nullopt: it was never answered, or refused for its form.
  std::optional<Told> Say(Agent& me, const std::string& name, Json arguments);
  std::optional<Told> SayAs(Agent& me, Command command);
  std::optional<Told> AskUntilAnswered(const Command& command, Random& random);
  // A text that nobody else says.
  std::string Mark(const Agent& me) const;
  void Rest(Agent& me, int least_ms, int most_ms);

  const AgentsOptions options_;
  Recorder* history_;
  std::vector<std::unique_ptr<Project>> projects_;
  std::atomic<int> made_{0};
  Clients clients_;  // last: they use the others
};

}  // namespace acl::chaos
