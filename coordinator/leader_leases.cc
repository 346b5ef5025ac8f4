#include "coordinator/leader_leases.h"

#include "shared/base/check.h"

namespace acl::coordinator {

Result<LeaderLeases::Answer> LeaderLeases::Hold(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (const SteadyTime now = clock_.Steady(); now >= good_until_) {
    auto held = store_.HoldLeaderLeases(options_.names, options_.session, options_.ttl);
    sent_ = now;
    error_.reset();
    if (held) {
      for (std::size_t n = 0; n < options_.names.size(); ++n) held_[options_.names[n]] = (*held)[n];
      good_until_ = sent_ + options_.ttl / 3;
    } else {
      error_ = held.error();
      good_until_ = clock_.Steady() + options_.ttl / 10;
    }
  }
  if (error_) return *error_;
  auto it = held_.find(name);
  ACL_CHECK(it != held_.end(), "a job asks for a lease that its process does not name");
  return Answer{sent_, it->second};
}

}  // namespace acl::coordinator
