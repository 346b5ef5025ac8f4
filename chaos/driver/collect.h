#pragma once
// What the driver reads when all is over, and what it asks before it begins: facts that go into the history.

#include <map>

#include "chaos/effects/server.h"
#include "chaos/history/history.h"
#include "shared/base/clock.h"
#include "shared/verify/report.h"

namespace acl::chaos {

struct CollectOptions {
  std::string conninfo, label;
  std::map<pid_t, WallTime>
      ended;  // processes that were killed or ended, and when: what was taken over from them since was not stolen from the living
  bool own_fleet = true;
  std::vector<std::string> canaries;  // secrets of the fleet that must stand nowhere
};

// Runs of this workload that have not ended.
std::string OpenRunsSql(const std::string& label);
// The journals of the projects that agents worked on, what was answered under keys, and what is shown of them.
void WriteProjects(const CollectOptions& options, Recorder* history);
// The sessions of agents, their journals, and what the table of moves shows.
void WriteSessions(const CollectOptions& options, Recorder* history);
void WriteFinals(const CollectOptions& options, Recorder* history);
void WriteEffects(const EffectsServer& effects, Recorder* history);
void WriteGrants(const CollectOptions& options, Recorder* history);
void WriteCheckers(const CollectOptions& options, const Status& drained,
                   const std::function<Result<verify::Report>(const std::string&)>& verify, Recorder* history);

// Settings of the server that matter for what a run proves.
Json ServerFacts(const std::string& conninfo);
// SHA-256 of the programs under test.
Json ProgramFacts(const std::filesystem::path& folder);

// Whether this API writes to this database: a run submitted there is seen here.
Status SameFleet(const std::string& api_url, const std::string& api_key, const std::string& conninfo);

}  // namespace acl::chaos
