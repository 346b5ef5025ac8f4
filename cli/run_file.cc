#include "cli/run_file.h"

#include <CLI/CLI.hpp>

#include "cli/follow.h"
#include "cli/format.h"
#include "cli/numbers.h"
#include "cli/run_text.h"
#include "cli/upload.h"

namespace acl::cli {

void AddRunFileOptions(CLI::App* command, RunFileOptions* options) {
  AddDefinitionFileOptions(command, options->definition);
  command->add_flag("--lenient-templates", options->definition->lenient_templates, kLenientTemplatesHelp);
  command->add_option("--files", options->folders, "copy a folder into the run: DIR, or DIR=PREFIX")->allow_extra_args(false);
  command->add_flag("--wait", options->wait, "wait for the end; exit 0 only if it COMPLETED");
  command->add_option("--timeout", options->timeout, "with --wait: how long at most (90, 2m, 1h30m); exit 6 then, the run goes on")
      ->transform(Duration());
}

Result<Json> ReadRunFile(Session* session, const RunFileOptions& options) {
  auto body = ReadDefinitionFile(session, *options.definition);
  if (!body || options.folders.empty()) return body;
  auto api = session->Api();
  if (!api) return api.error();
  auto files = Upload(session, **api, options.folders);
  if (!files) return files.error();
  (*body)["files"] = std::move(*files);
  return body;
}

void SayRun(Session* session, const RunFileOptions& options, const Json& answer) {
  const std::string id = TextOf(answer, "id");
  for (const Json& warning : answer.value("warnings", Json::array())) {
    if (TextOf(warning, "code") == "no-worker") session->Note("warning: " + TextOf(warning, "message"));
  }
  if (!options.wait) {
    if (session->json()) return session->PrintJson(answer);
    session->Print(id);
    if (session->environment.out_is_terminal) session->Note("airun workflow status " + id + "   shows how it goes");
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

}  // namespace acl::cli
