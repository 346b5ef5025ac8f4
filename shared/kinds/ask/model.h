#pragma once
// A session of exchanges with a language model (document 004, 2 and 5), as values, and where each stands in the session's state. Times are
// database times of the events.
//
//   made            who made the subject; its first command opens the session
//   session             what it is bound to, counters       turn:<n>            one of the last kKeptTurns turns, sanitised
//   exchange:<id>       a call without an answer on record                 drift:<id>          open drift
//
// Money is in millionths of a dollar.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/journal/document.h"

namespace acl::ask {

inline constexpr std::string_view kSessionKey = "session", kMadeKey = "made";
inline constexpr std::string_view kExchangePrefix = "exchange:", kTurnPrefix = "turn:", kDriftPrefix = "drift:";
inline std::string ExchangeKey(std::string_view id) { return std::string(kExchangePrefix).append(id); }
inline std::string TurnKey(std::int64_t number) { return std::string(kTurnPrefix) + std::to_string(number); }
inline std::string DriftKey(std::string_view id) { return std::string(kDriftPrefix).append(id); }

inline constexpr int kKeptTurns = 20;                           // in the state; the journal has all
inline constexpr int kMostExchanges = 500;                      // of one session; the next ask opens another
inline constexpr int kMostUnderWay = 16;                        // calls of one session at once
inline constexpr int kMostOpenDrift = 200;                      // of one session
inline constexpr std::size_t kMostText = std::size_t(1) << 20;  // bytes of a prompt, a bundle, a response

// What a session is bound to: any change of it opens another one.
struct Binding {
  std::string phase;  // "beta"
  int tier = 0;
  std::string kernel_hash, host_role, model_id;
  friend bool operator==(const Binding&, const Binding&) = default;
};

struct Session {
  std::string session_id;
  Binding binding;
  std::string owner;  // who opened it
  bool open = true;
  WallTime started_at;
  std::optional<WallTime> ended_at;
  std::int64_t exchanges = 0, turns = 0, drifts = 0;  // made so far
  std::int64_t limit_micros = 0;                      // what all its calls may cost; 0: no limit
  std::int64_t reserved_micros = 0, spent_micros = 0;
};

// A call that was promised and whose outcome is not on record yet.
struct UnderWay {
  std::string exchange_id, by, provider, model;
  std::string turn_user_id, bundle_hash, prompt_hash;
  std::int64_t reserved_micros = 0;
  WallTime prepared_at, deadline;
  bool lost = false;  // UNCERTAIN: nobody knows what became of it
};

struct Turn {
  std::string turn_id, exchange_id, speaker, content, content_hash;
  WallTime at;
};

// severity: "low", "medium", "high", "critical"; drift_class: "authority", "evidence", "tone", "schema", "completeness".
struct Drift {
  std::string id, exchange_id, drift_class, severity, summary, prompt_hash, response_hash;
  WallTime at;
};

Json ToJson(const Session& session);
Json ToJson(const UnderWay& exchange);
Json ToJson(const Turn& turn);
Json ToJson(const Drift& drift);

// nullopt if there is none. What stands in the state was written by Evolve, so each member is there.
std::optional<Session> FindSession(const Document& state);
std::optional<UnderWay> FindUnderWay(const Document& state, std::string_view exchange_id);
std::optional<Drift> FindDrift(const Document& state, std::string_view id);
// Oldest first.
std::vector<Turn> RecentTurns(const Document& state);
std::vector<UnderWay> AllUnderWay(const Document& state);
std::vector<Drift> OpenDrift(const Document& state);

}  // namespace acl::ask
