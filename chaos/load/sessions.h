#pragma once
// Agent sessions (document 003) and those who talk to them. Each session calls the receiver of effects in every turn in which it was told
// something, with all that it was told; what each is told, only it is told (a mark), so that it can be found in its journal and at the
// receiver. They are steered as people do it: interrupted, paused, stopped, resumed, asked, and told what became of what nobody knows.

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "chaos/history/history.h"
#include "chaos/http/client.h"
#include "chaos/load/clients.h"
#include "shared/base/random.h"

namespace acl::chaos {

struct SessionsOptions {
  std::vector<std::string> api_urls;  // of the coordinators
  std::string api_key, effects_url;
  std::uint64_t seed = 1;
  int sessions = 0, speakers = 6;
};

// What the agents of a workload with this seed are called.
std::string AgentPrefix(const std::string& label);
// The agent file of a kind. Pure. "puts": two calls a turn that may be repeated; "posts": one that may not; "asks": a person is asked
// first; "thinks": a program plans.
std::string AgentFileOf(const std::string& kind, const std::string& name, const std::string& effects_url, bool goes_on);
std::vector<std::string> AgentKinds();

class Sessions {
 public:
  Sessions(SessionsOptions options, Recorder* history);

  // Until every session is there.
  bool AwaitReady(std::chrono::milliseconds limit);
  // As clients.h says; each client is a speaker.
  bool AwaitAnswers(int more, std::chrono::milliseconds limit) const { return clients_.AwaitAnswers(more, limit); }
  bool Stop(std::chrono::milliseconds limit) { return clients_.Stop(limit); }
  // When the others are silent: each session is told one thing more.
  void TellAll();
  // As a person who comes in the morning: each session is resumed, answered, told what became of what nobody knows. True: each rests
  // already, and nothing that was said to it waits; else `who` says which does not.
  bool AllRest(std::string& who);

 private:
  struct Speaker {
    Speaker(int n, std::uint64_t seed) : number(n), name("speaker-" + std::to_string(n)), random(seed) {}
    const int number;
    const std::string name;
    SeededRandom random;
    int said = 0;
  };

  void Work(int number);
  void StartSessions(Speaker& me);
  void Act(Speaker& me);
  void Tell(Speaker& me, const std::string& id, const std::string& mode);
  // What it waits for from a person, if it does. True: it rests, and nothing waits for it.
  bool Attend(Speaker& me, const std::string& id);
  HttpAnswer Ask(Speaker& me, const std::string& f, HttpAsk ask, Json args);
  HttpAnswer Post(Speaker& me, const std::string& f, const std::string& path, Json body, Json args);

  const SessionsOptions options_;
  Recorder* history_;
  std::vector<std::string> ids_;  // each written once, by the speaker who made it, before made_ is raised
  std::atomic<int> made_{0};
  std::optional<Speaker> morning_;  // who comes when the others are silent
  Clients clients_;                 // last: they use the others
};

}  // namespace acl::chaos
