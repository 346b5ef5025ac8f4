#pragma once
// A run's history in the form that the checkers read (chaos/checkers/README.md, "History").

#include <vector>

#include "chaos/checkers/history.h"

namespace acl::chaos {

Result<History> EvidenceOf(const std::vector<Json>& lines);
Result<Ledger> LedgerOf(const std::vector<Json>& lines);

}  // namespace acl::chaos
