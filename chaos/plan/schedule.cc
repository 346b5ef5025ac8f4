#include "chaos/plan/schedule.h"

#include <algorithm>

#include "shared/base/sha256.h"

namespace acl::chaos {

std::uint64_t SubSeed(std::uint64_t seed, const std::string& name) {
  const Hash256 hash = Sha256(std::to_string(seed) + "/" + name);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value = value << 8 | std::uint64_t(hash[i]);
  return value;
}

std::vector<PlannedFault> MakeSchedule(const Profile& profile, std::uint64_t seed) {
  SeededRandom random(SubSeed(seed, "faults"));
  std::vector<std::string> order;
  for (int i = 0; i < profile.dose; ++i) order.insert(order.end(), profile.kinds.begin(), profile.kinds.end());
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  std::vector<PlannedFault> schedule;
  milliseconds planned{0};
  const auto add = [&](const std::string& kind) {
    PlannedFault fault;
    fault.kind = kind;
    fault.rest = profile.rest / 2 + milliseconds(random.Below(std::uint64_t(profile.rest.count()) + 1));
    fault.hold = profile.hold + milliseconds(random.Below(std::uint64_t(profile.hold.count()) + 1));
    fault.draw = random.Next();
    planned += fault.rest + fault.hold;
    schedule.push_back(std::move(fault));
  };
  for (const auto& kind : order) add(kind);
  while (planned < profile.at_least && !profile.kinds.empty()) add(profile.kinds[random.Below(profile.kinds.size())]);
  return schedule;
}

Json ToJson(const PlannedFault& fault) {
  return {{"kind", fault.kind}, {"rest_ms", fault.rest.count()}, {"hold_ms", fault.hold.count()}, {"draw", std::to_string(fault.draw)}};
}

}  // namespace acl::chaos
