#pragma once
// A workflow file run from the command line: what `workflow run` and `task run` share.

#include <memory>
#include <string>
#include <vector>

#include "cli/definition_file.h"
#include "cli/session.h"

namespace acl::cli {

struct RunFileOptions {
  std::shared_ptr<DefinitionFileOptions> definition = std::make_shared<DefinitionFileOptions>();
  std::vector<std::string> folders;
  bool wait = false;
  double timeout = 0;
};
// The file, its inputs and labels, the folders, --wait and --timeout. `options` lives as long as the command.
void AddRunFileOptions(CLI::App* command, RunFileOptions* options);
// The body of a submission; the folders' files are stored when this returns.
Result<Json> ReadRunFile(Session* session, const RunFileOptions& options);
// The id of the run that was made, and if it is waited for, how it ended: that is the exit code.
void SayRun(Session* session, const RunFileOptions& options, const Json& answer);

}  // namespace acl::cli
