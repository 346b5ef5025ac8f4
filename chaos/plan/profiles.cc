#include "chaos/plan/schedule.h"

namespace acl::chaos {

const std::vector<Profile>& Profiles() {
  static const std::vector<Profile> profiles = [] {
    std::vector<Profile> all;
    Profile quick;
    quick.name = "quick";
    quick.kinds = {"kill-worker", "late-commit", "cut-commit", "kill-backend", "lost-replies", "kill-coordinator"};
    quick.rest = quick.hold = milliseconds(300);
    quick.lease_ttl = milliseconds(1'000);
    all.push_back(quick);

    Profile theft;
    theft.name = "lease-theft";
    theft.kinds = {"freeze-worker", "late-commit", "twin", "freeze-all", "half-open", "freeze-coordinator"};
    theft.rest = theft.hold = milliseconds(500);
    theft.lease_ttl = milliseconds(1'000);
    all.push_back(theft);

    Profile postgres;
    postgres.name = "postgres";
    postgres.kinds = {"kill-backend", "immediate-stop", "kill-postgres",  "terminate-backends", "cut-commit",      "reset",      "slow",
                      "half-open",    "one-way",        "freeze-backend", "lock-sessions",      "pool-exhaustion", "long-reader"};
    all.push_back(postgres);

    Profile soak;
    soak.name = "soak";
    soak.kinds = {"kill-worker",   "kill-coordinator", "freeze-worker", "late-commit",        "freeze-coordinator", "freeze-backend",
                  "lock-sessions", "one-way",          "slow",          "half-open",          "cut-commit",         "reset",
                  "kill-backend",  "immediate-stop",   "kill-postgres", "terminate-backends", "pool-exhaustion",    "starve",
                  "lost-replies",  "rolling-restart",  "twin",          "freeze-all",         "long-reader"};
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
