#include "shared/aegis/validate/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "shared/aegis/validate/checks.h"

namespace acl::aegis {

std::string_view NameOf(DriftClass drift) {
  switch (drift) {
    case DriftClass::kSchema: return "schema";
    case DriftClass::kEvidence: return "evidence";
    case DriftClass::kAuthority: return "authority";
    case DriftClass::kTone: return "tone";
    case DriftClass::kCompleteness: return "completeness";
  }
  return "";
}

bool ValidationSummary::Has(DriftClass drift) const {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.drift == drift; });
}

ValidationSummary Scan(const ValidationInput& input) {
  const Answer answer(input);
  ValidationSummary summary;
  CheckSchema(answer, summary.findings);
  CheckEvidence(answer, summary.findings);
  CheckAuthority(answer, summary.findings);
  CheckTone(answer, summary.findings);
  CheckCompleteness(answer, summary.findings);
  summary.schema_ok = !summary.Has(DriftClass::kSchema);
  summary.evidence_drift = summary.Has(DriftClass::kEvidence);
  summary.authority_drift = summary.Has(DriftClass::kAuthority);
  summary.tone_drift = summary.Has(DriftClass::kTone);
  summary.completeness_drift = summary.Has(DriftClass::kCompleteness);
  std::map<std::string, int> counts;
  for (const auto& finding : summary.findings) ++counts[fmt::format("{}:{}", NameOf(finding.drift), finding.rule)];
  for (const auto& [rule, count] : counts) {
    summary.notes += summary.notes.empty() ? "" : " ";
    summary.notes += count == 1 ? rule : fmt::format("{}*{}", rule, count);
  }
  return summary;
}

Json SummaryJson(const ValidationSummary& summary) {
  return Json{
      {"schema_ok", summary.schema_ok},   {"evidence_drift", summary.evidence_drift},         {"authority_drift", summary.authority_drift},
      {"tone_drift", summary.tone_drift}, {"completeness_drift", summary.completeness_drift}, {"notes", summary.notes}};
}

}  // namespace acl::aegis
