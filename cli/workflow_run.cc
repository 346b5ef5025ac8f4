// airun workflow run FILE
#include <fstream>

#include "cli/app.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/upload.h"
#include "shared/base/uuid7.h"
#include "shared/spec/loader.h"

namespace acl::cli {

namespace {

struct RunOptions {
  std::string file, idempotency_key;
  std::vector<std::string> inputs, folders, labels;
  bool wait = false, strict = false, strict_templates = false;
  double timeout = 0;
};

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

Result<Json> Submit(Session* session, const RunOptions& options) {
  std::ifstream in(options.file, std::ios::binary);
  if (!in) return Error{Code::kInvalid, "cannot read " + options.file + ": " + std::strerror(errno)};
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  // Checked here first: all findings at once, before anything is uploaded. The server checks again.
  LoadOptions load;
  load.for_submit = true;
  load.strict = options.strict;
  load.strict_templates = options.strict_templates;
  Loaded loaded = LoadWorkflow(text, session->Capabilities(), load);
  for (const Finding& finding : loaded.findings) session->Note(FormatFinding(options.file, finding));
  if (!loaded.ok()) return Error{Code::kInvalid, options.file + " was not submitted: it has errors"};
  auto inputs = ReadInputs(*loaded.spec, options.inputs);
  if (!inputs) return inputs.error();
  if (auto checked = CheckInputs(*loaded.spec, *inputs); !checked)
    return Error{Code::kInvalid, checked.message() + "; give inputs by -i NAME=VALUE"};
  auto api = session->Api();
  if (!api) return api.error();
  Json body = {{"workflow", text}, {"file", options.file}, {"inputs", std::move(*inputs)}};
  if (options.strict) body["strict"] = true;
  if (options.strict_templates) body["strict_templates"] = true;
  for (const std::string& pair : options.labels) {
    std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) return Error{Code::kInvalid, "--label takes NAME=VALUE, not '" + pair + "'"};
    body["labels"][pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  if (!options.folders.empty()) {
    auto files = Upload(session, **api, options.folders);
    if (!files) return files.error();
    body["files"] = std::move(*files);
  }
  // With a key of our own a lost answer can be asked for again without a second run.
  const std::string key = options.idempotency_key.empty() ? NewUuid7().ToString() : options.idempotency_key;
  auto answer = (*api)->Post("/v1/workflows", body, {{"Idempotency-Key", key}});
  for (int again = 0; again < 3 && !answer && (answer.code() == Code::kUnavailable || answer.code() == Code::kTimeout); ++again) {
    session->world.sleep(std::chrono::milliseconds(300 << again));
    answer = (*api)->Post("/v1/workflows", body, {{"Idempotency-Key", key}});
  }
  return answer;
}

void RunWorkflow(Session* session, const RunOptions& options) {
  auto answer = Submit(session, options);
  if (!answer) return session->Fail(answer.error());
  const std::string id = TextOf(*answer, "id");
  if (!options.wait) {
    if (session->json()) return session->PrintJson(*answer);
    session->Print(id);
    if (session->world.out_is_terminal) session->Note("airun workflow status " + id + "   shows how it goes");
    return;
  }
  if (!session->json()) session->Print(id);
  auto end = WaitForEnd(session, id, std::chrono::milliseconds(static_cast<long long>(options.timeout * 1000)));
  if (!end) return session->Fail(end.error());
  if (session->json()) session->PrintJson(*end);
  const std::string status = TextOf(*end, "status");
  if (!session->json()) session->Print(session->Paint(StatusColour(status), status));
  if (status == "COMPLETED") return;
  session->exit_code = kExitFailure;
  const std::string error = TextOf(*end, "error"), step = TextOf(*end, "failed_step");
  session->Note("airun: the run ended " + status + (step.empty() ? "" : ", step '" + step + "' failed") +
                (error.empty() ? "" : ": " + error));
}

}  // namespace

void AddWorkflowRun(CLI::App* workflow, Session* session) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = workflow->add_subcommand("run", "submit a workflow file");
  command->add_option("file", options->file, "the workflow, YAML or JSON")->required();
  command->add_option("-i,--input", options->inputs, "an input, NAME=VALUE; read as its declared type")->allow_extra_args(false);
  command->add_option("--files", options->folders, "copy a folder into the run: DIR, or DIR=PREFIX")->allow_extra_args(false);
  command->add_option("--label", options->labels, "a label, NAME=VALUE")->allow_extra_args(false);
  command->add_option("--idempotency-key", options->idempotency_key, "the same key again gives the same run, not a second one");
  command->add_flag("--wait", options->wait, "wait for the end; exit 0 only if it COMPLETED");
  command->add_option("--timeout", options->timeout, "with --wait: seconds to wait at most; exit 6 then, the run goes on")
      ->check(CLI::Range(0.0, 1e9));
  command->add_flag("--strict", options->strict, "unknown keys and capabilities are errors");
  command->add_flag("--strict-templates", options->strict_templates, "templates that name a step not before them are errors");
  command->callback([session, options] { RunWorkflow(session, *options); });
}

}  // namespace acl::cli
