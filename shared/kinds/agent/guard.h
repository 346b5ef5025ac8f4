#pragma once
// Stops an agent that goes in circles: deterministic, in the core, and it enforces (anchors.md C-r8). It counts actions, failures and
// refusals alike, survives restarts because it is part of the state, and is set back by a change of the session's files, by a person's
// message, and when the agent comes to rest by itself. An effect outside sets back all but the counts of calls: the same one again and
// again is no progress.
//
//   the same call (capability and arguments) for the 3rd time with nothing changed      that call is refused, with the reason
//   the same call for the 5th time, the same kind of error for the 3rd, two calls in
//   turn (A-B-A-B, period up to 4), the same plan for the 4th, or so many moves
//   with no change at all                                                               it rests, and a person is told
//
// Pollers (agent file) are asked again and again on purpose: they have an allowance of their own, kPollsAllowed.

#include <string>
#include <vector>

#include "shared/base/json_members.h"

namespace acl::agent {

inline constexpr int kSameRefused = 3, kSameRests = 5, kSameErrorRests = 3, kSamePlanRests = 4, kLongestPeriod = 4, kPeriodsRest = 3,
                     kPollsAllowed = 100;

struct Guard {
  struct Count {
    std::string key;
    int times = 0;
  };
  std::vector<Count> calls;         // since the last change: the last kMostCalls different ones
  std::vector<std::string> recent;  // keys of the last calls, newest last
  std::string error;                // kind of the last error
  int errors = 0;                   // of that kind, in a row
  std::string plan;                 // digest of the last plan
  int plans = 0;                    // the same one, in a row
  int moves = 0;                    // since the last change
};
inline constexpr std::size_t kMostCalls = 32;

Json ToJson(const Guard& guard);
Guard GuardFrom(const Json* entry);

// Digest of what is called and with what; the same arguments in another order are the same.
std::string CallKey(const std::string& capability, const Json& inputs);

// What is to be done about a call that is asked for now; it is counted either way.
enum class Verdict { kGo, kRefuse };
Verdict CountCall(Guard& guard, const std::string& key, bool poller);
void CountOutcome(Guard& guard, const std::string& error);  // empty: none
void CountPlan(Guard& guard, const std::string& digest);
inline void CountMove(Guard& guard) { ++guard.moves; }
// Something is not as it was.
void Changed(Guard& guard);

// Why it should rest now; empty: it may go on.
std::string WhyRest(const Guard& guard, int moves_without_change);

}  // namespace acl::agent
