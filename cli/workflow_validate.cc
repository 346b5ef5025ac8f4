// airun workflow validate FILE...: local, no server.
#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/inputs.h"
#include "shared/definition/loader.h"

namespace acl::cli {

namespace {

struct ValidateOptions {
  std::vector<std::string> files;
  bool strict = false, strict_templates = false, lenient_templates = false;
};

Json FindingJson(const std::string& file, const Finding& finding) {
  return {{"severity", finding.severity == Finding::Severity::kError ? "error" : "warning"},
          {"code", finding.code},
          {"message", finding.message},
          {"line", finding.mark.line},
          {"column", finding.mark.column},
          {"text", FormatFinding(file, finding)}};
}

// The steps in plan order; each with the steps it waits for.
Json OrderJson(const WorkflowDefinition& definition) {
  Json out = Json::array();
  const auto waits = EffectiveDependencies(definition);
  for (int index : PlanOrder(definition)) {
    const StepDefinition& step = definition.steps[static_cast<std::size_t>(index)];
    if (IsPlainBody(step)) continue;
    const StepDefinition* call = &step;  // of a FOREACH that names it itself, its body's
    if (step.foreach && step.foreach->plain) call = &definition.steps[static_cast<std::size_t>(index) + 1];
    int depth = 0;
    for (int at = step.parent; at >= 0; at = definition.steps[static_cast<std::size_t>(at)].parent) ++depth;
    Json after = Json::array();
    for (int on : waits[static_cast<std::size_t>(index)]) after.push_back(definition.steps[static_cast<std::size_t>(on)].name);
    out.push_back({{"name", step.name},
                   {"type", std::string(StepTypeName(step.type))},
                   {"capability", call->capability},
                   {"depth", depth},
                   {"after", std::move(after)}});
    if (step.parent >= 0) out.back()["in"] = definition.steps[static_cast<std::size_t>(step.parent)].name;
    if (!step.when.empty()) out.back()["when"] = step.when;
  }
  return out;
}

void PrintOrder(Session* session, const std::string& file, const Json& order) {
  session->Print(file + ": " + session->Paint(Session::Colour::kGreen, "valid") + ", execution order:");
  int index = 0;
  for (const Json& step : order) {
    std::string after;
    for (const Json& one : step["after"]) after += (after.empty() ? "  after " : ", ") + one.get<std::string>();
    const std::string capability = step["capability"].get<std::string>(), type = step["type"].get<std::string>();
    if (step.contains("when")) after += "  when " + step["when"].get<std::string>();
    const std::string what = capability.empty() ? type : type == "FOREACH" ? type + " " + capability : capability;
    session->Print("  " + std::to_string(++index) + ". " + std::string(2 * step["depth"].get<std::size_t>(), ' ') +
                   step["name"].get<std::string>() + "  " + what + session->Paint(Session::Colour::kDim, after));
  }
}

void RunValidate(Session* session, const ValidateOptions& options) {
  Json results = Json::array();
  for (const std::string& named : options.files) {
    const std::string file = named == "-" ? "stdin" : named;
    auto text = ReadNamed(session, named, kMostDefinitionBytes);
    if (!text) {
      session->Fail(text.error());
      results.push_back({{"file", file},
                         {"valid", false},
                         {"findings", Json::array({{{"severity", "error"},
                                                    {"code", "unreadable"},
                                                    {"message", text.message()},
                                                    {"text", file + ": error: unreadable: " + text.message()}}})}});
      continue;
    }
    LoadOptions load;
    load.strict = options.strict;
    load.strict_templates = options.strict_templates;
    load.lenient_templates = options.lenient_templates;
    Loaded loaded = LoadWorkflow(*text, session->Capabilities(), load);
    if (!loaded.ok() && session->exit_code == kExitOk) session->exit_code = kExitFailure;
    Json result = {{"file", file}, {"valid", loaded.ok()}, {"findings", Json::array()}};
    for (const Finding& finding : loaded.findings) result["findings"].push_back(FindingJson(file, finding));
    if (loaded.ok()) result["order"] = OrderJson(*loaded.definition);
    if (!session->json()) {
      // The findings are what was asked for: data.
      for (const Finding& finding : loaded.findings)
        session->Print(session->Paint(finding.severity == Finding::Severity::kError ? Session::Colour::kRed : Session::Colour::kYellow,
                                      FormatFinding(file, finding)));
      if (loaded.ok()) PrintOrder(session, file, result["order"]);
    }
    results.push_back(std::move(result));
  }
  if (session->json()) session->PrintJson(results);
}

}  // namespace

void AddWorkflowValidate(CLI::App* workflow, Session* session) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App* command = workflow->add_subcommand("validate", "check files: every finding at once, and the order in which a good one runs");
  command->add_option("file", options->files, "workflow files; - reads one from stdin")->required();
  command->add_flag("--strict", options->strict, "unknown keys and capabilities are errors");
  command->add_flag("--strict-templates", options->strict_templates, kStrictTemplatesHelp);
  command->add_flag("--lenient-templates", options->lenient_templates, kLenientTemplatesHelp);
  command->callback([session, options] { RunValidate(session, *options); });
}

}  // namespace acl::cli
