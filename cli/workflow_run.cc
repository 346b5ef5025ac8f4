// airun workflow run FILE
#include <CLI/CLI.hpp>

#include "cli/app.h"
#include "cli/run_file.h"

namespace acl::cli {

namespace {

struct WorkflowRunOptions {
  RunFileOptions file;
  std::string idempotency_key;
};

void RunWorkflow(Session* session, const WorkflowRunOptions& options) {
  auto body = ReadRunFile(session, options.file);
  if (!body) return session->Fail(body.error());
  auto answer = PostOnce(session, "/v1/workflows", *body, options.idempotency_key);
  if (!answer) return session->Fail(answer.error());
  SayRun(session, options.file, *answer);
}

}  // namespace

void AddWorkflowRun(CLI::App* workflow, Session* session) {
  auto options = std::make_shared<WorkflowRunOptions>();
  CLI::App* command = workflow->add_subcommand("run", "submit a workflow file");
  AddRunFileOptions(command, &options->file);
  command->add_option("--idempotency-key", options->idempotency_key, "the same key again gives the same run, not a second one");
  command->callback([session, options] { RunWorkflow(session, *options); });
}

}  // namespace acl::cli
