#pragma once
// The invariants i01 .. i36 as questions to the database (README.md has the table). Each reads only, and says how many rows it looked at:
// a question that met no row has proved nothing. All are asked in one snapshot. tests/integration/chaos seeds one violation of each.

#include <optional>
#include <string>
#include <vector>

#include "chaos/checkers/history.h"
#include "shared/base/json.h"
#include "shared/verify/report.h"

namespace acl::chaos {

struct Anomaly {
  std::string key;  // which row or operation
  std::string why;
};

struct InvariantResult {
  std::string id, what;  // "i03", "no event under a token after a higher one was granted"
  bool asked = false;
  std::string not_asked;  // why not
  std::int64_t examined = 0, found = 0;
  std::vector<Anomaly> anomalies;  // the first kKeptAnomalies of `found`

  static constexpr int kKeptAnomalies = 50;
  static InvariantResult Asked(const char* id, const char* what) { return {id, what, true, "", 0, 0, {}}; }
  // One thing more that it is about.
  void Examine(bool holds, const std::string& key, const std::string& why);
};

struct InvariantReport {
  std::vector<InvariantResult> results;  // by id
  bool clean() const;
  const InvariantResult* Find(std::string_view id) const;
};

struct InvariantOptions {
  std::string conninfo;
  std::string role = "acl_service";       // taken after connecting; empty: as logged in (then other users' sessions are seen, i34)
  std::optional<History> history;         // none: what needs it is not asked
  std::optional<Ledger> ledger;           // of the receiver of effects
  std::optional<verify::Report> replay;   // of verify::VerifyAll: i25 and i26
  std::vector<std::string> canaries;      // secrets that must stand nowhere (i31)
  bool drained = false;                   // the faults are over and nothing is left to do: i34, and i21 asks for more
  std::int64_t min_ok_during_faults = 1;  // i35
  double retry_budget = 1.2;              // i36: tries over first tries, in every ten seconds
};

// An error means that it could not be asked.
Result<InvariantReport> CheckInvariants(const InvariantOptions& options);

// {"clean": bool, "invariants": [{"id","what","examined","anomalies_found","anomalies":[{"key","why"}]} or {"id","what","not_asked"}]}
Json ToJson(const InvariantReport& report);
// For people: a line each ("0 of 41203" or why it was not asked), then every anomaly.
std::string ToText(const InvariantReport& report);

}  // namespace acl::chaos
