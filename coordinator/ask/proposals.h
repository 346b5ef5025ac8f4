#pragma once
// Tool calls of an answer: which of them people are asked about (shared/kinds/ask/intents.h), and why not the others. Pure.

#include <vector>

#include "shared/aegis/kernel_file.h"
#include "shared/aegis/provider/model_answer.h"
#include "shared/aegis/provider/model_request.h"
#include "shared/aegis/sanitize/sanitizer.h"
#include "shared/aegis/validate/validate.h"

namespace acl::coordinator {

inline constexpr std::size_t kMostProposalBytes = 16u << 10;  // of one call's arguments

// What a model may propose under this kernel: it is offered nothing else.
std::vector<aegis::Tool> ToolsToOffer(const aegis::Kernel& kernel);

struct Proposals {
  // For the record, each in its place: {"name", "arguments", "refused"?}. Sanitised; arguments that are refused for their size are not
  // kept.
  Json recorded = Json::array();
  // Of those that are not refused, as the command `record` takes them.
  Json intents = Json::array();
};
// `withheld`: nothing of the answer counts. A call in which the validator found anything is none either.
Proposals ReadProposals(const aegis::Kernel& kernel, const aegis::ModelAnswer& answer, const aegis::ValidationSummary& summary,
                        bool withheld, const aegis::Sanitizer& sanitizer);

}  // namespace acl::coordinator
