#include "cli/spec_file.h"

#include <fstream>

#include "cli/app.h"
#include "shared/base/uuid7.h"
#include "shared/spec/loader.h"

namespace acl::cli {

namespace {

// "k=v" pairs; values by the declared types of the file's inputs.
Result<Json> ReadInputs(const WorkflowSpec& spec, const std::vector<std::string>& pairs) {
  Json out = Json::object();
  for (const std::string& pair : pairs) {
    std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) return Error{Code::kInvalid, "-i takes NAME=VALUE, not '" + pair + "'"};
    const std::string name = pair.substr(0, equals);
    if (out.contains(name)) return Error{Code::kInvalid, "-i gives '" + name + "' twice"};
    auto value = ReadInput(spec, name, pair.substr(equals + 1));
    if (!value) return value.error();
    out[name] = std::move(*value);
  }
  return out;
}

}  // namespace

void AddSpecFileOptions(CLI::App* command, const std::shared_ptr<SpecFileOptions>& options) {
  command->add_option("file", options->file, "the workflow, YAML or JSON")->required();
  command->add_option("-i,--input", options->inputs, "an input, NAME=VALUE; read as its declared type")->allow_extra_args(false);
  command->add_option("--label", options->labels, "a label, NAME=VALUE")->allow_extra_args(false);
  command->add_flag("--strict", options->strict, "unknown keys and capabilities are errors");
  command->add_flag("--strict-templates", options->strict_templates, "templates that name a step not before them are errors");
}

Result<Json> ReadSpecFile(Session* session, const SpecFileOptions& options, const std::string& supplied) {
  std::ifstream in(options.file, std::ios::binary);
  if (!in) return Error{Code::kInvalid, "cannot read " + options.file + ": " + std::strerror(errno)};
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  LoadOptions load;
  load.for_submit = true;
  load.strict = options.strict;
  load.strict_templates = options.strict_templates;
  Loaded loaded = LoadWorkflow(text, session->Capabilities(), load);
  for (const Finding& finding : loaded.findings) session->Note(FormatFinding(options.file, finding));
  if (!loaded.ok()) return Error{Code::kInvalid, options.file + " was not submitted: it has errors"};
  auto inputs = ReadInputs(*loaded.spec, options.inputs);
  if (!inputs) return inputs.error();
  Json sample = *inputs;
  for (const InputSpec& input : loaded.spec->inputs) {
    if (!supplied.empty() && input.name == supplied && !sample.contains(supplied)) sample[supplied] = "2026-01-01T00:00:00Z";
  }
  if (auto checked = CheckInputs(*loaded.spec, sample); !checked)
    return Error{Code::kInvalid, checked.message() + "; give inputs by -i NAME=VALUE"};
  Json body = {{"workflow", text}, {"file", options.file}, {"inputs", std::move(*inputs)}};
  if (options.strict) body["strict"] = true;
  if (options.strict_templates) body["strict_templates"] = true;
  for (const std::string& pair : options.labels) {
    std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) return Error{Code::kInvalid, "--label takes NAME=VALUE, not '" + pair + "'"};
    body["labels"][pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return body;
}

Result<Json> PostOnce(Session* session, const std::string& path, const Json& body, std::string key) {
  auto api = session->Api();
  if (!api) return api.error();
  // With a key a lost answer can be asked for again without doing it twice.
  if (key.empty()) key = NewUuid7().ToString();
  auto answer = (*api)->Post(path, body, {{"Idempotency-Key", key}});
  for (int again = 0; again < 3 && !answer && (answer.code() == Code::kUnavailable || answer.code() == Code::kTimeout); ++again) {
    session->world.sleep(std::chrono::milliseconds(300 << again));
    answer = (*api)->Post(path, body, {{"Idempotency-Key", key}});
  }
  return answer;
}

}  // namespace acl::cli
