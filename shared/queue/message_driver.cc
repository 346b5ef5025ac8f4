#include "shared/queue/message_driver.h"

#include "shared/kernel/dispatch.h"
#include "shared/telemetry/names.h"

namespace acl {

namespace {

// May pass by itself: the messages are kept and claimed again.
bool MayPass(Code code) {
  return code == Code::kUnavailable || code == Code::kTimeout || code == Code::kOutcomeUnknown || code == Code::kLeaseLost;
}

bool DispatchesOnly(const ClaimRequest& request) { return request.kinds == std::vector<std::string>{std::string(kDispatchReadyKind)}; }

// Of the claims that are made while something begun waits, one in so many looks for what is new first.
constexpr std::uint64_t kNewShare = 4;

void Append(ClaimAnswer& answer, ClaimAnswer more) {
  std::move(more.claimed.begin(), more.claimed.end(), std::back_inserter(answer.claimed));
  std::move(more.dispatches.begin(), more.dispatches.end(), std::back_inserter(answer.dispatches));
  answer.dropped += more.dropped;
  answer.quarantined += more.quarantined;
  answer.missing += more.missing;
}

}  // namespace

MessageDriver::MessageDriver(Options options, KernelStore& store, const Clock& clock)
    : options_(std::move(options)), store_(store), clock_(clock) {
  late_at_ = clock_.Steady() + options_.late_every;
  if (!options_.metrics) return;
  claimed_ = options_.metrics->counter(names::kQueueMessages, {{"outcome", "claimed"}});
  dropped_ = options_.metrics->counter(names::kQueueMessages, {{"outcome", "dropped"}});
  not_for_us_ = options_.metrics->counter(names::kQueueMessages, {{"outcome", "not_for_us"}});
  poisoned_ = options_.metrics->counter(names::kQueueMessages, {{"outcome", "poison"}});
  late_ = options_.metrics->counter(names::kQueueLate);
}

void MessageDriver::Poison(const Delivery& delivery, const std::string& reason) {
  poisoned_.Add();
  {
    std::lock_guard lock(mutex_);
    ++counts_.poisoned;
  }
  if (options_.poison) {
    options_.poison(delivery, reason);
  } else if (options_.acknowledged) {
    options_.acknowledged(delivery.handle);
  }
}

void MessageDriver::Offer(Delivery delivery) {
  auto message = DecodeStepMessage(delivery.value);
  if (!message) {
    Poison(delivery, message.message());
    return;
  }
  {
    std::lock_guard lock(mutex_);
    ++counts_.offered;
    const auto priority = std::size_t(message->key.priority);
    waiting_[priority].push_back({std::move(delivery), std::move(*message), 0});
  }
  if (options_.on_work) options_.on_work();
}

void MessageDriver::Revoke() {
  std::lock_guard acknowledged(claiming_);
  std::lock_guard lock(mutex_);
  for (auto& priority : waiting_) priority.clear();
  singles_ = 0;
}

std::vector<MessageDriver::Waiting> MessageDriver::Take(const ClaimRequest& request) {
  std::vector<Waiting> taken, not_for_us;
  {
    std::lock_guard lock(mutex_);
    const std::size_t most = singles_ > 0 ? 1 : std::size_t(std::max(1, request.max));
    const bool dispatches_only = DispatchesOnly(request);
    int dispatches_left = request.max_dispatches;
    for (auto& priority : waiting_) {
      for (auto it = priority.begin(); it != priority.end() && taken.size() < most;) {
        const bool dispatch = it->message.kind == kDispatchReadyKind;
        if (dispatch ? dispatches_left <= 0 : dispatches_only) {  // no room for it now: it waits here
          ++it;
          continue;
        }
        Waiting next = std::move(*it);
        it = priority.erase(it);
        dispatches_left -= dispatch ? 1 : 0;
        const bool known_kind = dispatch || request.kinds.empty() || next.message.kind.empty() ||
                                std::find(request.kinds.begin(), request.kinds.end(), next.message.kind) != request.kinds.end();
        const bool ours = known_kind && next.message.required_version <= request.known_version;
        (ours ? taken : not_for_us).push_back(std::move(next));
      }
    }
    counts_.not_for_us += std::int64_t(not_for_us.size());
  }
  // Its row stays; the relay offers it again, by then perhaps to a program that knows it.
  not_for_us_.Add(double(not_for_us.size()));
  Settle(not_for_us);
  return taken;
}

void MessageDriver::PutBack(std::vector<Waiting> taken) {
  std::lock_guard lock(mutex_);
  counts_.put_back += std::int64_t(taken.size());
  for (auto it = taken.rbegin(); it != taken.rend(); ++it) {
    waiting_[std::size_t(it->message.key.priority)].push_front(std::move(*it));
  }
}

void MessageDriver::Settle(const std::vector<Waiting>& taken) {
  if (!options_.acknowledged) return;
  for (const Waiting& one : taken) options_.acknowledged(one.delivery.handle);
}

void MessageDriver::TellGranted(const std::vector<Waiting>& taken, const ClaimAnswer& answer, WallTime began) const {
  if (!options_.granted) return;
  std::map<SubjectId, std::pair<SubjectId, Token>> grants;  // by what the ready row names
  for (const Claimed& one : answer.claimed) grants[one.subject] = {one.subject, one.token};
  for (const ClaimedDispatch& one : answer.dispatches) grants[SubjectId{one.id.uuid}] = {one.subject, one.token};
  for (const Waiting& one : taken) {
    const auto grant = grants.find(one.message.key.subject);
    if (grant == grants.end()) continue;
    options_.granted(one.delivery, {one.message, grant->second.first, grant->second.second, began});
    grants.erase(grant);  // the same message twice was granted once
  }
}

Result<ClaimAnswer> MessageDriver::Claim(const ClaimRequest& request) {
  std::lock_guard claiming(claiming_);
  Result<ClaimAnswer> looked = ClaimAnswer{};
  if (look_.load()) {
    looked = ClaimLate(request);
    const bool found = looked && (!looked->claimed.empty() || !looked->dispatches.empty());
    if (found || (!looked && !MayPass(looked.code()))) return looked;
  }
  // The share of what is new: each fourth claim while what has begun waits is its own. Dispatches have begun, all of them.
  if (!begun_waits_ || (!DispatchesOnly(request) && ++begun_turn_ % kNewShare == 0)) return ClaimNamed(request, std::move(looked));
  Result<ClaimAnswer> begun = ClaimBegun(request);
  if (!begun) return begun;
  const int found = int(begun->claimed.size() + begun->dispatches.size());
  ClaimRequest rest = request;
  rest.max -= found;
  rest.max_dispatches -= int(begun->dispatches.size());
  if (rest.max <= 0) return begun;
  Result<ClaimAnswer> named = ClaimNamed(rest, std::move(looked));
  if (found == 0) return named;
  if (named) Append(*begun, std::move(*named));  // else its messages wait here
  return begun;
}

Result<ClaimAnswer> MessageDriver::ClaimBegun(const ClaimRequest& request) {
  ClaimRequest look = request;
  look.begun_only = true;
  look.min_age = options_.begun_after;
  auto answer = store_.Claim(look);
  if (!answer) return answer;
  const std::int64_t found = std::int64_t(answer->claimed.size() + answer->dispatches.size());
  begun_waits_ = found + answer->dropped + answer->quarantined >= request.max;  // there may be more; else the next answer says
  std::lock_guard lock(mutex_);
  counts_.begun += found;
  return answer;
}

Result<ClaimAnswer> MessageDriver::ClaimNamed(const ClaimRequest& request, Result<ClaimAnswer> looked) {
  for (;;) {
    std::vector<Waiting> taken = Take(request);
    if (taken.empty()) return looked ? ClaimLate(request) : looked;
    auto answer = ClaimTaken(request, std::move(taken));
    // All of them named rows that are gone (repeats): the next may not.
    if (answer && answer->claimed.empty() && answer->dispatches.empty() && answer->dropped == 0 && answer->quarantined == 0 &&
        waiting() > 0)
      continue;
    return answer;
  }
}

Result<ClaimAnswer> MessageDriver::ClaimTaken(const ClaimRequest& request, std::vector<Waiting> taken) {
  ClaimRequest named = request;
  named.keys.emplace();
  named.min_age = options_.begun_after;
  for (const Waiting& one : taken) named.keys->push_back(one.message.key);
  const WallTime began = clock_.Wall();
  auto answer = store_.Claim(named);
  if (answer) {
    begun_waits_ = answer->begun_waits;
    TellGranted(taken, *answer, began);
    Settle(taken);
    dropped_.Add(answer->missing + answer->dropped);
    const std::size_t got = answer->claimed.size() + answer->dispatches.size();
    claimed_.Add(double(got));
    std::lock_guard lock(mutex_);
    counts_.claimed += std::int64_t(got);
    counts_.dropped += answer->missing + answer->dropped;
    if (singles_ > 0) --singles_;
    return answer;
  }
  if (!MayPass(answer.code())) {
    if (taken.size() == 1 && ++taken.front().refusals >= options_.refusals_until_poison) {
      Poison(taken.front().delivery, "the database refuses to claim what it names: " + answer.message());
      std::lock_guard lock(mutex_);
      if (singles_ > 0) --singles_;
      return ClaimAnswer{};
    }
    std::lock_guard lock(mutex_);
    if (taken.size() > 1) singles_ = taken.size();
  }
  PutBack(std::move(taken));
  return answer;
}

Result<ClaimAnswer> MessageDriver::ClaimLate(const ClaimRequest& request) {
  const bool told = !DispatchesOnly(request) && look_.exchange(false);  // freed runs are meant, and there may be room for them soon
  if (!told && clock_.Steady() < late_at_) return ClaimAnswer{};
  if (!told) late_at_ = clock_.Steady() + options_.late_every;
  ClaimRequest late = request;
  if (!told) late.min_age = options_.late_after;
  auto answer = store_.Claim(late);
  if (told && !answer && MayPass(answer.code())) look_.store(true);
  const std::size_t got = answer ? answer->claimed.size() + answer->dispatches.size() : 0;
  if (got > 0) {
    if (told) look_.store(true);  // there may be more
    if (!told) late_at_ = clock_.Steady();
    late_.Add(double(got));
    std::lock_guard lock(mutex_);
    counts_.late += std::int64_t(got);
  }
  return answer;
}

std::size_t MessageDriver::waiting() const {
  std::lock_guard lock(mutex_);
  std::size_t all = 0;
  for (const auto& priority : waiting_) all += priority.size();
  return all;
}

MessageDriver::Counts MessageDriver::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace acl
