#include "coordinator/job_core.h"

#include <algorithm>
#include <utility>

#include "shared/base/mutant.h"

namespace acl::coordinator {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

JobCore::JobCore(Options options, Hold hold, const Clock& clock, Random& random, JobObserver& observer)
    : options_(std::move(options)),
      hold_(std::move(hold)),
      clock_(clock),
      observer_(observer),
      backoff_({milliseconds(50), milliseconds(2'000), 2.0}, random) {}

void JobCore::Lose() {
  if (!held_.exchange(false)) return;
  observer_.Lost();
  if (options_.on_lost) options_.on_lost();
}

void JobCore::Failed(const Error& error) { observer_.Failed(error, !std::exchange(failing_, true)); }

bool JobCore::Renew() {
  const auto ttl = options_.ttl;
  auto held = hold_(options_.name);
  if (!held) {
    Failed(held.error());
    renew_at_ = clock_.Steady() + ttl / 10;
    if (clock_.Steady() < trusted_until_) return true;  // unanswered, but still ours for a while
    Lose();
    return false;
  }
  renew_at_ = held->sent + ttl / 3;
  if (!held->lease) {
    Lose();
    return false;
  }
  const SteadyTime from = Mutant("lease_counted_from_the_answer") ? clock_.Steady() : held->sent;
  trusted_until_ = from + ttl - ttl / 5;
  if (!held_.exchange(true)) {
    tick_at_ = {};
    observer_.Held(held->lease->token);
  }
  return true;
}

void JobCore::RunTick() {
  auto wait = options_.tick();
  if (wait) {
    if (std::exchange(failing_, false)) observer_.Recovered();
    backoff_.Reset();
    observer_.Ticked();
  } else {
    Failed(wait.error());
  }
  tick_at_ = clock_.Steady() + (wait ? nanoseconds(*wait) : nanoseconds(backoff_.Next()));
}

nanoseconds JobCore::Pass(bool database_ready) {
  if (!database_ready) {
    if (clock_.Steady() >= trusted_until_) Lose();
    return nanoseconds(0);
  }
  if (clock_.Steady() >= renew_at_ && !Renew()) return std::max(nanoseconds(0), nanoseconds(renew_at_ - clock_.Steady()));
  if (!held_ || (clock_.Steady() >= trusted_until_ && !Mutant("job_outlives_its_lease"))) {
    Lose();
    return std::max<nanoseconds>(renew_at_ - clock_.Steady(), milliseconds(1));
  }
  if (clock_.Steady() >= tick_at_) RunTick();  // not at each renewal: ticks may be far apart
  return std::max(nanoseconds(0), nanoseconds(std::min(tick_at_, renew_at_) - clock_.Steady()));
}

}  // namespace acl::coordinator
