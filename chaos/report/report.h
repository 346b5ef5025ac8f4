#pragma once
// The report of a run, computed from its history alone: as JSON, as text, and as one page for people.

#include <string>
#include <vector>

#include "shared/base/json.h"

namespace acl::chaos {

enum class Outcome { kPassed, kFailed, kInvalid };

struct Report {
  Outcome outcome = Outcome::kInvalid;
  Json json;  // everything, with "verdict": passed, failed or invalid
};

// `history`: where the lines are from, for the reader.
Report MakeReport(const std::vector<Json>& lines, const std::string& history);
std::string ToText(const Json& report);
// One self-contained page.
std::string ToHtml(const Json& report);

}  // namespace acl::chaos
