#pragma once
// Which fault happens when, to whom, for how long: a pure function of the profile and the seed.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "shared/base/json.h"
#include "shared/base/random.h"

namespace acl::chaos {

using std::chrono::milliseconds;

// A seed for one part of a run (workload, faults, one client), so that a change in one does not change the others.
std::uint64_t SubSeed(std::uint64_t seed, const std::string& name);

struct PlannedFault {
  std::string kind;        // a name of the table of faults (chaos/faults/fault.h)
  milliseconds rest{0};    // of quiet before it
  milliseconds hold{0};    // from injected to healed
  std::uint64_t draw = 0;  // from which the fault takes its victim and its variant
  friend bool operator==(const PlannedFault&, const PlannedFault&) = default;
};

struct Profile {
  std::string name;
  std::vector<std::string> kinds;  // each at least `dose` times
  int dose = 1;
  milliseconds warm_up{1'000}, rest{700}, hold{1'000}, drain{60'000};
  milliseconds at_least{0};  // faults go on until so much time is planned
  int clients = 3;
  int agents = 0, projects = 0;  // agents that work on projects, beside the clients
  int sessions = 0;              // of agents that move or rest, on the fleet itself
  int workers = 3, coordinators = 1;
  milliseconds lease_ttl{1'500};
  bool kafka = false, kafka_if_there = false;  // needs it; uses it if there is one
  int brokers = 1;                             // of Kafka, at least
  bool failpoints = false;
  bool clocks = false;  // that can be set
  bool disk = false;    // of PostgreSQL's own
  bool toxiproxy = false;
  bool objects = false;  // an object store, and runs that need it
};

// The profiles by name, in the order of the documentation.
const std::vector<Profile>& Profiles();
const Profile* FindProfile(const std::string& name);

// Every kind of the profile `dose` times in an order of the seed's, then more of them until the time is filled.
std::vector<PlannedFault> MakeSchedule(const Profile& profile, std::uint64_t seed);
Json ToJson(const PlannedFault& fault);

}  // namespace acl::chaos
