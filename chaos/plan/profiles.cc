#include "chaos/plan/schedule.h"
#include "shared/base/fail_point.h"

namespace acl::chaos {

const std::vector<Profile>& Profiles() {
  static const std::vector<Profile> profiles = [] {
    std::vector<Profile> all;
    Profile quick;
    quick.name = "quick";
    quick.kinds = {"kill-worker", "late-commit", "cut-commit", "kill-backend", "lost-replies", "kill-coordinator", "killer-run"};
    quick.rest = quick.hold = milliseconds(300);
    quick.lease_ttl = milliseconds(1'000);
    all.push_back(quick);

    Profile theft;
    theft.name = "lease-theft";
    theft.kinds = {"freeze-worker", "late-commit", "twin", "freeze-all", "half-open", "freeze-coordinator", "killer-run"};
    theft.rest = theft.hold = milliseconds(500);
    theft.lease_ttl = milliseconds(1'000);
    all.push_back(theft);

    Profile postgres;
    postgres.name = "postgres";
    postgres.kinds = {"kill-backend", "immediate-stop", "kill-postgres",  "terminate-backends", "cut-commit",      "reset",      "slow",
                      "half-open",    "one-way",        "freeze-backend", "lock-sessions",      "pool-exhaustion", "long-reader"};
    all.push_back(postgres);

    Profile places;
    places.name = "failpoints";
    for (const auto& place : fail_point::Places()) {
      const std::string name(place.name);
      if (name.starts_with("outbox.") || name.starts_with("offset.")) continue;  // of the profile kafka
      if (name.starts_with("command.")) continue;                                // of the profile continuity
      if (name.starts_with("ask.")) continue;                                    // tests/e2e/ask_test.cc kills at each
      for (const char* action : {":kill", ":pause"}) places.kinds.push_back(name + action);
      if (place.reset) places.kinds.push_back(name + ":reset");
    }
    for (int n = 0; n < 3; ++n) places.kinds.push_back("late-in-gap");
    places.rest = places.hold = milliseconds(50);
    places.lease_ttl = milliseconds(1'000);
    places.failpoints = true;
    all.push_back(places);

    Profile clocks;
    clocks.name = "clocks";
    clocks.kinds = {"worker-clock", "coordinator-clock", "database-ahead", "database-behind", "late-commit", "kill-worker"};
    clocks.clocks = true;
    all.push_back(clocks);

    Profile machine;
    machine.name = "machine";
    machine.kinds = {"power-loss", "flush-error", "full-disk", "no-memory", "late-commit"};
    machine.disk = true;
    all.push_back(machine);

    Profile failover;
    failover.name = "failover";
    failover.kinds = {"failover", "failover-behind", "restore", "late-commit"};
    failover.rest = failover.hold = milliseconds(300);
    failover.lease_ttl = milliseconds(1'000);
    all.push_back(failover);

    Profile toxic;
    toxic.name = "toxic";
    toxic.kinds = {"toxic-latency", "toxic-slicer", "toxic-reset", "toxic-half-open", "toxic-one-way", "late-commit"};
    toxic.rest = toxic.hold = milliseconds(500);
    toxic.toxiproxy = true;
    all.push_back(toxic);

    Profile objects;
    objects.name = "objects";
    objects.kinds = {"objects-busy", "objects-unheard", "objects-half", "objects-slow",
                     "objects-gone", "objects-toxic",   "late-commit",  "kill-worker"};
    objects.rest = objects.hold = milliseconds(500);
    objects.toxiproxy = objects.objects = true;
    all.push_back(objects);

    Profile versions;
    versions.name = "versions";
    versions.kinds = {"rolling-upgrade", "late-commit", "freeze-worker", "kill-worker", "kill-coordinator"};
    versions.rest = versions.hold = milliseconds(500);
    versions.coordinators = 2;
    all.push_back(versions);

    Profile kafka;
    kafka.name = "kafka";
    kafka.kinds = {"kill-broker",
                   "wipe-topics",
                   "replay",
                   "offset-reset",
                   "poison",
                   "rebalance",
                   "freeze-member",
                   "kafka-late",
                   "kafka-slices",
                   "kafka-reset",
                   "kafka-silent",
                   "freeze-worker",
                   "late-commit",
                   "kill-coordinator",
                   "outbox.before_publish:kill",
                   "outbox.after_publish:kill",
                   "outbox.before_publish:pause",
                   "outbox.after_publish:pause",
                   "offset.before_commit:kill",
                   "offset.before_commit:pause"};
    kafka.kafka = kafka.failpoints = true;
    kafka.drain = milliseconds(120'000);
    all.push_back(kafka);

    Profile brokers;
    brokers.name = "brokers";
    brokers.kinds = {"kill-leader", "freeze-leader",   "wipe-replica", "move-leaders", "few-replicas",
                     "no-majority", "more-partitions", "late-commit",  "kill-worker"};
    brokers.rest = brokers.hold = milliseconds(500);
    brokers.kafka = true;
    brokers.brokers = 3;
    brokers.drain = milliseconds(120'000);
    all.push_back(brokers);

    // Agents on projects. The long form goes through every place of a command; the short one is for a look, and for mutants.
    Profile continuity;
    continuity.name = "continuity";
    continuity.kinds = {"kill-coordinator",   "freeze-coordinator", "kill-backend",    "cut-command",       "reset-coordinator",
                        "silent-coordinator", "failover",           "failover-behind", "terminate-backends"};
    continuity.rest = continuity.hold = milliseconds(300);
    continuity.lease_ttl = milliseconds(1'000);
    continuity.agents = 50;
    continuity.projects = 100;
    continuity.clients = 1;
    continuity.workers = 1;
    continuity.coordinators = 3;
    continuity.failpoints = true;
    Profile short_form = continuity;
    short_form.name = "continuity-quick";
    short_form.kinds = {"kill-coordinator",        "cut-command",         "kill-backend", "command.opened:pause",
                        "command.committed:reset", "command.written:kill"};
    short_form.agents = 12;
    short_form.projects = 4;
    short_form.coordinators = 2;
    for (const auto& place : fail_point::Places()) {
      const std::string name(place.name);
      if (!name.starts_with("command.")) continue;
      for (const char* action : {":kill", ":pause", ":reset"}) continuity.kinds.push_back(name + action);
    }
    all.push_back(continuity);
    all.push_back(short_form);

    // Agents that move or rest. The long form is for hours and for figures; the short one is for a look, for `./dev test` and for mutants.
    Profile agent;
    agent.name = "agent";
    agent.kinds = {"kill-worker",      "freeze-worker", "late-commit",    "twin",         "freeze-all",  "half-open",
                   "cut-commit",       "reset",         "failover",       "kill-backend", "kill-broker", "lost-replies",
                   "kill-coordinator", "freeze-member", "rolling-restart"};
    agent.rest = agent.hold = milliseconds(500);
    agent.lease_ttl = milliseconds(1'000);
    agent.sessions = 200;
    agent.clients = 1;
    agent.workers = 4;
    agent.coordinators = 2;
    agent.drain = milliseconds(180'000);
    agent.kafka_if_there = true;
    Profile agent_short = agent;
    agent_short.name = "agent-quick";
    agent_short.kinds = {"kill-worker", "late-commit", "freeze-all", "cut-commit", "lost-replies", "kill-coordinator"};
    agent_short.rest = agent_short.hold = milliseconds(300);
    agent_short.sessions = 24;
    agent_short.workers = 3;
    agent_short.drain = milliseconds(60'000);
    all.push_back(agent);
    all.push_back(agent_short);

    Profile soak;
    soak.name = "soak";
    soak.kinds = {"kill-worker",   "kill-coordinator", "freeze-worker", "late-commit",        "freeze-coordinator", "freeze-backend",
                  "lock-sessions", "one-way",          "slow",          "half-open",          "cut-commit",         "reset",
                  "kill-backend",  "immediate-stop",   "kill-postgres", "terminate-backends", "pool-exhaustion",    "starve",
                  "lost-replies",  "rolling-restart",  "twin",          "freeze-all",         "long-reader",        "no-memory"};
    soak.dose = 2;
    soak.at_least = milliseconds(600'000);
    soak.coordinators = 2;
    soak.drain = milliseconds(120'000);
    all.push_back(soak);
    return all;
  }();
  return profiles;
}

const Profile* FindProfile(const std::string& name) {
  for (const Profile& profile : Profiles()) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

}  // namespace acl::chaos
