// airun workflow run FILE
#include "cli/app.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/numbers.h"
#include "cli/run_text.h"
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
  for (const Json& warning : answer->value("warnings", Json::array())) {
    if (TextOf(warning, "code") == "no-worker") session->Note("warning: " + TextOf(warning, "message"));
  }
  if (!options.wait) {
    if (session->json()) return session->PrintJson(*answer);
    session->Print(id);
    if (session->world.out_is_terminal) session->Note("airun workflow status " + id + "   shows how it goes");
    return;
  }
  if (!session->json()) session->Print(id);
  auto end = WaitForEnd(session, id, LengthOf(options.timeout));
  if (!end) return session->Fail(end.error());
  if (session->json()) session->PrintJson(*end);
  if (!session->json()) session->Print(PaintedRunWord(*session, *end));
  session->exit_code = ExitOfRun(*end);
  if (session->exit_code != kExitOk) session->Note("airun: " + EndText(*end));
}

}  // namespace

void AddWorkflowRun(CLI::App* workflow, Session* session) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = workflow->add_subcommand("run", "submit a workflow file");
  AddSpecFileOptions(command, options->spec);
  command->add_flag("--lenient-templates", options->spec->lenient_templates, kLenientTemplatesHelp);
  command->add_option("--files", options->folders, "copy a folder into the run: DIR, or DIR=PREFIX")->allow_extra_args(false);
  command->add_option("--idempotency-key", options->idempotency_key, "the same key again gives the same run, not a second one");
  command->add_flag("--wait", options->wait, "wait for the end; exit 0 only if it COMPLETED");
  command->add_option("--timeout", options->timeout, "with --wait: how long at most (90, 2m, 1h30m); exit 6 then, the run goes on")
      ->transform(Duration());
  command->callback([session, options] { RunWorkflow(session, *options); });
}

}  // namespace acl::cli
