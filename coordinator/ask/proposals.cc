#include "coordinator/ask/proposals.h"

#include <fmt/format.h>

#include <algorithm>

#include "shared/kinds/ask/intents.h"

namespace acl::coordinator {

namespace {

// One call as it is kept, and why nobody is asked about it; empty: people are.
struct ReadCall {
  Json arguments;
  std::string refused;
};

ReadCall Read(const aegis::ToolRule* tool, const aegis::Kernel& kernel, const aegis::ToolCall& call, const aegis::Sanitizer& sanitizer) {
  if (call.arguments.size() > kMostProposalBytes) return {Json(), "too_large"};
  const auto parsed = ParseJson(call.arguments);
  if (!parsed || !parsed->is_object()) return {Json(), "arguments_are_no_object"};
  auto clean = sanitizer.SanitizeJson(*parsed);
  if (!clean) return {Json(), "too_large"};
  ReadCall read{std::move(clean->value), ""};
  if (tool == nullptr) {
    read.refused = "not_declared";
  } else if (!tool->MayBeProposed(kernel.tier)) {
    read.refused = tool->workflow.empty() ? "no_workflow" : "blocked_by_tier";
  } else if (!clean->cut.empty()) {
    read.refused = "sensitive_content";  // what would run is not what was proposed
  } else if (!aegis::FitsSchema(tool->parameters, *parsed)) {
    read.refused = "arguments_do_not_fit";
  }
  return read;
}

}  // namespace

std::vector<aegis::Tool> ToolsToOffer(const aegis::Kernel& kernel) {
  std::vector<aegis::Tool> tools;
  for (const aegis::ToolRule& tool : kernel.actuation) {
    if (!tool.MayBeProposed(kernel.tier)) continue;
    Json parameters = tool.parameters;
    if (!parameters.contains("type")) parameters["type"] = "object";
    tools.push_back({tool.name, tool.about + " (a proposal: people decide)", std::move(parameters)});
  }
  return tools;
}

Proposals ReadProposals(const aegis::Kernel& kernel, const aegis::ModelAnswer& answer, const aegis::ValidationSummary& summary,
                        bool withheld, const aegis::Sanitizer& sanitizer) {
  Proposals out;
  for (std::size_t i = 0; i < answer.tool_calls.size(); ++i) {
    const aegis::ToolCall& call = answer.tool_calls[i];
    const aegis::ToolRule* tool = kernel.Actuation(call.name);
    ReadCall read = Read(tool, kernel, call, sanitizer);
    const std::string place = fmt::format("call#{}", i);
    const bool marked = std::any_of(summary.findings.begin(), summary.findings.end(),
                                    [&](const aegis::Finding& finding) { return finding.place == place; });
    if (read.refused.empty() && marked) read.refused = "marked_by_validator";
    if (read.refused.empty() && withheld) read.refused = "answer_withheld";
    if (read.refused.empty() && out.intents.size() >= std::size_t(ask::kMostIntentsOfExchange)) read.refused = "too_many";
    const auto name = sanitizer.Sanitize(call.name);
    Json line = {{"name", name ? name->text : ""}, {"arguments", read.arguments}};
    if (read.refused.empty()) {
      out.intents.push_back({{"tool", tool->name},
                             {"about", tool->about},
                             {"arguments", std::move(read.arguments)},
                             {"workflow", tool->workflow},
                             {"kernel_hash", kernel.hash},
                             {"approvers", tool->approvers},
                             {"allow_requester", tool->allow_requester}});
    } else {
      line["refused"] = read.refused;
    }
    out.recorded.push_back(std::move(line));
  }
  return out;
}

}  // namespace acl::coordinator
