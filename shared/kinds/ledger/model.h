#pragma once
// Facts and the account of a project, as values, and where each stands in the ledger's state. Times are database times of the events; money
// is in millionths of a dollar.
//
//   ledger           counters, the account        fact:<id>        a claim: "ledger:000183"
//   hold:<call id>   set aside for a call until it is settled

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/journal/document.h"

namespace acl::ledger {

inline constexpr std::string_view kLedgerKey = "ledger", kFactPrefix = "fact:", kHoldPrefix = "hold:";
inline std::string FactKey(std::string_view id) { return std::string(kFactPrefix).append(id); }
inline std::string HoldKey(std::string_view id) { return std::string(kHoldPrefix).append(id); }

inline constexpr std::size_t kMostClaimBytes = 2'000, kMostNameBytes = 300;
inline constexpr int kMostFacts = 200'000, kMostContradicted = 20;

// What asking may cost in a period; nobody may ask for more, whoever asks at once.
struct Account {
  std::string period = "total";   // "day", "month" (of UTC), "total"
  std::int64_t limit_micros = 0;  // 0: no limit
  std::int64_t reserved_micros = 0, spent_micros = 0;
  WallTime since;  // when the period began
};

struct Ledger {
  std::int64_t facts = 0, order = 0;  // made so far; what happened so far
  Account account;
};

enum class FactStatus { kProposed, kRatified, kRetracted };
std::string_view NameOf(FactStatus status);

struct Fact {
  std::string id, claim, source;
  std::string confidence = "medium";     // "low", "medium", "high"
  std::string subject;                   // what it is about, for conflicts: two ratified facts of one subject differ; may be empty
  std::vector<std::string> contradicts;  // ids of facts
  FactStatus status = FactStatus::kProposed;
  std::string proposed_by, decided_by, reason;
  std::int64_t order = 0;
  WallTime proposed_at, decided_at;
};

struct Hold {
  std::string id;
  std::int64_t micros = 0;
  WallTime expires;
};

Json ToJson(const Ledger& ledger);
Json ToJson(const Fact& fact);
Json ToJson(const Hold& hold);

std::optional<Ledger> FindLedger(const Document& state);
std::optional<Fact> FindFact(const Document& state, std::string_view id);
std::optional<Hold> FindHold(const Document& state, std::string_view id);
Fact FactFrom(const Json& json);
// By number.
std::vector<Fact> Facts(const Document& state);

// When the period of that name began that `now` is in.
WallTime PeriodStart(std::string_view period, WallTime now);
// When the next begins; nullopt: never.
std::optional<WallTime> PeriodEnd(std::string_view period, WallTime now);

}  // namespace acl::ledger
