// airun workflow run FILE
#include "cli/app.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/spec_file.h"
#include "cli/upload.h"

namespace acl::cli {

namespace {

struct RunOptions {
  std::shared_ptr<SpecFileOptions> spec = std::make_shared<SpecFileOptions>();
  std::string idempotency_key;
  std::vector<std::string> folders;
  bool wait = false;
  double timeout = 0;
};

Result<Json> Submit(Session* session, const RunOptions& options) {
  auto body = ReadSpecFile(session, *options.spec);
  if (!body) return body;
  auto api = session->Api();
  if (!api) return api.error();
  if (!options.folders.empty()) {
    auto files = Upload(session, **api, options.folders);
    if (!files) return files.error();
    (*body)["files"] = std::move(*files);
  }
  return PostOnce(session, "/v1/workflows", *body, options.idempotency_key);
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
  AddSpecFileOptions(command, options->spec);
  command->add_option("--files", options->folders, "copy a folder into the run: DIR, or DIR=PREFIX")->allow_extra_args(false);
  command->add_option("--idempotency-key", options->idempotency_key, "the same key again gives the same run, not a second one");
  command->add_flag("--wait", options->wait, "wait for the end; exit 0 only if it COMPLETED");
  command->add_option("--timeout", options->timeout, "with --wait: seconds to wait at most; exit 6 then, the run goes on")
      ->check(CLI::Range(0.0, 1e9));
  command->callback([session, options] { RunWorkflow(session, *options); });
}

}  // namespace acl::cli
