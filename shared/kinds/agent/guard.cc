#include "shared/kinds/agent/guard.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/canonical_json.h"

namespace acl::agent {

namespace {

constexpr std::size_t kRecent = std::size_t(kLongestPeriod) * kPeriodsRest;
constexpr std::size_t kKeyDigits = 16;

// Whether the last calls are one pattern of so many calls, kPeriodsRest times.
bool Repeats(const std::vector<std::string>& recent, std::size_t period) {
  const std::size_t length = period * kPeriodsRest;
  if (recent.size() < length) return false;
  const std::size_t begin = recent.size() - length;
  for (std::size_t i = begin + period; i < recent.size(); ++i)
    if (recent[i] != recent[i - period]) return false;
  return true;
}

}  // namespace

Json ToJson(const Guard& guard) {
  Json json = Json::object();
  if (!guard.calls.empty()) {
    json["calls"] = Json::array();
    for (const Guard::Count& count : guard.calls) json["calls"].push_back({{"key", count.key}, {"times", count.times}});
    json["recent"] = guard.recent;
  }
  if (guard.errors > 0) {
    json["error"] = guard.error;
    json["errors"] = guard.errors;
  }
  if (guard.plans > 0) {
    json["plan"] = guard.plan;
    json["plans"] = guard.plans;
  }
  if (guard.moves > 0) json["moves"] = guard.moves;
  return json;
}

Guard GuardFrom(const Json* entry) {
  Guard guard;
  if (entry == nullptr) return guard;
  const Json& json = *entry;
  if (json.contains("calls"))
    for (const Json& count : json["calls"]) guard.calls.push_back({TextIn(count, "key"), int(NumberIn(count, "times"))});
  if (json.contains("recent")) guard.recent = json["recent"].get<std::vector<std::string>>();
  guard.error = TextIn(json, "error");
  guard.errors = int(NumberIn(json, "errors"));
  guard.plan = TextIn(json, "plan");
  guard.plans = int(NumberIn(json, "plans"));
  guard.moves = int(NumberIn(json, "moves"));
  return guard;
}

std::string CallKey(const std::string& capability, const Json& inputs) {
  return ToHex(CanonicalHash({{"capability", capability}, {"inputs", inputs}})).substr(0, kKeyDigits);
}

Verdict CountCall(Guard& guard, const std::string& key, bool poller) {
  auto found = std::find_if(guard.calls.begin(), guard.calls.end(), [&](const Guard::Count& count) { return count.key == key; });
  if (found == guard.calls.end()) {
    if (guard.calls.size() >= kMostCalls) guard.calls.erase(guard.calls.begin());
    guard.calls.push_back({key, 0});
    found = std::prev(guard.calls.end());
  }
  ++found->times;
  if (!poller) {
    guard.recent.push_back(key);
    if (guard.recent.size() > kRecent) guard.recent.erase(guard.recent.begin());
  }
  return found->times >= (poller ? kPollsAllowed : kSameRefused) ? Verdict::kRefuse : Verdict::kGo;
}

void CountOutcome(Guard& guard, const std::string& error) {
  guard.errors = !error.empty() && error == guard.error ? guard.errors + 1 : int(!error.empty());
  guard.error = error;
}

void CountPlan(Guard& guard, const std::string& digest) {
  guard.plans = digest == guard.plan ? guard.plans + 1 : 1;
  guard.plan = digest;
}

void Changed(Guard& guard) { guard = Guard{}; }

std::string WhyRest(const Guard& guard, int moves_without_change) {
  for (const Guard::Count& count : guard.calls)
    if (count.times >= kSameRests && count.times < kPollsAllowed && std::count(guard.recent.begin(), guard.recent.end(), count.key) > 0)
      return fmt::format("it asked for the same call {} times, and nothing changed", count.times);
  if (guard.errors >= kSameErrorRests) return fmt::format("the same kind of error came {} times in a row: {}", guard.errors, guard.error);
  for (std::size_t period = 2; period <= std::size_t(kLongestPeriod); ++period)
    if (Repeats(guard.recent, period)) return fmt::format("its last calls are the same {} again and again, and nothing changed", period);
  if (guard.plans >= kSamePlanRests) return fmt::format("it made the same plan {} times, and nothing changed", guard.plans);
  if (guard.moves >= moves_without_change) return fmt::format("{} moves changed nothing", guard.moves);
  return "";
}

}  // namespace acl::agent
