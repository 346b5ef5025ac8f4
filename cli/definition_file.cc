#include "cli/definition_file.h"

#include "cli/app.h"
#include "cli/inputs.h"
#include "shared/base/uuid7.h"
#include "shared/definition/loader.h"

namespace acl::cli {

void AddInputOptions(CLI::App* command, const std::shared_ptr<DefinitionFileOptions>& options) {
  command->add_option("-i,--input", options->inputs, "an input, NAME=VALUE or NAME=@FILE; read as its declared type")
      ->allow_extra_args(false);
  command->add_option("--inputs", options->inputs_file, "inputs from a file, a map in YAML or JSON (- for stdin); -i wins over it");
}

void AddDefinitionFileOptions(CLI::App* command, const std::shared_ptr<DefinitionFileOptions>& options) {
  command->add_option("file", options->file, "the workflow, YAML or JSON; - reads it from stdin")->required();
  AddInputOptions(command, options);
  command->add_option("--label", options->labels, "a label, NAME=VALUE")->allow_extra_args(false);
  command->add_flag("--strict", options->strict, "unknown keys and capabilities are errors");
  command->add_flag("--strict-templates", options->strict_templates, kStrictTemplatesHelp);
}

Result<ReadDefinition> ReadDefinitionText(Session* session, const DefinitionFileOptions& options) {
  auto text = ReadNamed(session, options.file, kMostDefinitionBytes);
  if (!text) return text.error();
  const std::string name = options.file == "-" ? "stdin" : options.file;
  LoadOptions load;
  load.for_submit = true;
  load.strict = options.strict;
  load.strict_templates = options.strict_templates;
  load.lenient_templates = options.lenient_templates;
  Loaded loaded = LoadWorkflow(*text, session->Capabilities(), load);
  for (const Finding& finding : loaded.findings) session->Note(FormatFinding(name, finding));
  if (!loaded.ok()) return Error{Code::kCorrupt, name + " was not submitted: it has errors"};
  Json body = {{"workflow", std::move(*text)}, {"file", name}};
  if (options.strict) body["strict"] = true;
  if (options.strict_templates) body["strict_templates"] = true;
  if (options.lenient_templates) body["lenient_templates"] = true;
  return ReadDefinition{std::move(*loaded.definition), std::move(body)};
}

Result<Json> ReadDefinitionFile(Session* session, const DefinitionFileOptions& options, const std::string& supplied) {
  auto read = ReadDefinitionText(session, options);
  if (!read) return read.error();
  auto inputs = ReadInputs(session, read->definition, options.inputs_file, options.inputs);
  if (!inputs) return inputs.error();
  if (Status checked = CheckRunInputs(read->definition, *inputs, supplied); !checked) return checked.error();
  Json body = std::move(read->body);
  body["inputs"] = std::move(*inputs);
  auto labels = ReadLabels(options.labels);
  if (!labels) return labels.error();
  if (!labels->empty()) body["labels"] = std::move(*labels);
  return body;
}

Status CheckRunInputs(const WorkflowDefinition& definition, const Json& inputs, const std::string& supplied) {
  Json sample = inputs;
  for (const InputDefinition& input : definition.inputs) {
    if (!supplied.empty() && input.name == supplied && !sample.contains(supplied)) sample[supplied] = "2026-01-01T00:00:00Z";
  }
  if (auto checked = CheckInputs(definition, sample); !checked)
    return Error{Code::kInvalid, checked.message() + "; give inputs by -i NAME=VALUE or --inputs FILE"};
  return {};
}

Result<Json> PostOnce(Session* session, const std::string& path, const Json& body, std::string key) {
  auto api = session->Api();
  if (!api) return api.error();
  // With a key a lost answer can be asked for again without doing it twice.
  if (key.empty()) key = NewUuid7().ToString();
  auto answer = (*api)->Post(path, body, {{"Idempotency-Key", key}});
  for (int again = 0; again < 3 && !answer && (answer.code() == Code::kUnavailable || answer.code() == Code::kTimeout); ++again) {
    session->environment.sleep(std::chrono::milliseconds(300 << again));
    answer = (*api)->Post(path, body, {{"Idempotency-Key", key}});
  }
  return answer;
}

}  // namespace acl::cli
