#pragma once
// What the outside world saw. A receiver as docs/architecture.md#effect-classes asks for one: a key is applied once, a repeat gets the
// first answer, and a caller whose token is lower than one seen before is refused. Pure; the server is effects/server.h.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace acl::chaos {

struct EffectCall {
  std::string run, step;   // whose call it is, by its path
  std::string key;         // Idempotency-Key
  std::int64_t token = 0;  // Fencing-Token
  std::string scope;       // Fencing-Scope: "run" or "run/step"
  std::string body;
  std::string signature = "";  // "good", or what is wrong with it; empty: none was asked for
};

enum class Verdict {
  kApplied,
  kReplayed,  // this key was applied before: the first answer again
  kStale,     // a higher token was seen in this scope
  kReused,    // this key was applied for something else
  kUnfenced,  // no key or no token: refused
};
std::string VerdictName(Verdict verdict);
std::optional<Verdict> VerdictOf(const std::string& name);

struct LedgerEntry {
  std::int64_t at_ns = 0;
  EffectCall call;
  Verdict verdict = Verdict::kApplied;
};

class EffectLedger {
 public:
  Verdict Take(const EffectCall& call, std::int64_t at_ns);
  const std::vector<LedgerEntry>& entries() const { return entries_; }

 private:
  std::map<std::string, std::int64_t> highest_;  // token by scope
  std::map<std::string, EffectCall> applied_;    // by key
  std::vector<LedgerEntry> entries_;
};

}  // namespace acl::chaos
