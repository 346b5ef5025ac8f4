#pragma once
// A workflow file, its inputs and labels as the body of a submission: for `workflow run` and `schedule create`.

#include "cli/session.h"
#include "shared/definition/workflow_definition.h"

namespace CLI {
class App;
}

namespace acl::cli {

// As many as the server takes.
inline constexpr std::size_t kMostDefinitionBytes = 16u << 20;

struct DefinitionFileOptions {
  std::string file;                         // "-": stdin
  std::string inputs_file;                  // "" for none
  std::vector<std::string> inputs, labels;  // NAME=VALUE
  bool strict = false, strict_templates = false, lenient_templates = false;
};

void AddDefinitionFileOptions(CLI::App* command, const std::shared_ptr<DefinitionFileOptions>& options);
// -i and --inputs only.
void AddInputOptions(CLI::App* command, const std::shared_ptr<DefinitionFileOptions>& options);

struct ReadDefinition {
  WorkflowDefinition definition;
  Json body;  // {"workflow", "file", "strict"?, "strict_templates"?, "lenient_templates"?}
};
// The file checked, findings to stderr. kCorrupt if it has errors.
Result<ReadDefinition> ReadDefinitionText(Session* session, const DefinitionFileOptions& options);
// kInvalid if a run would not take these. `supplied`: an input that the server adds if the file declares it; empty: none.
Status CheckRunInputs(const WorkflowDefinition& definition, const Json& inputs, const std::string& supplied = "");
inline constexpr const char* kStrictTemplatesHelp = "templates that name a step not before them are errors";
inline constexpr const char* kLenientTemplatesHelp =
    "what is no template, and what a template does not find, stays as text: for files that mean it";

// {"workflow", "file", "inputs", "labels"?, "strict"?, "strict_templates"?, "lenient_templates"?}, checked here first: all findings at
// once, to stderr. The server checks again. `supplied`: as of CheckRunInputs.
Result<Json> ReadDefinitionFile(Session* session, const DefinitionFileOptions& options, const std::string& supplied = "");

// POST with an Idempotency-Key (of its own if empty), again a few times if the answer is lost.
Result<Json> PostOnce(Session* session, const std::string& path, const Json& body, std::string key = "");

}  // namespace acl::cli
