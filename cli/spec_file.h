#pragma once
// A workflow file, its inputs and labels as the body of a submission: for `workflow run` and `schedule create`.

#include "cli/session.h"

namespace CLI {
class App;
}

namespace acl::cli {

struct SpecFileOptions {
  std::string file;
  std::vector<std::string> inputs, labels;  // NAME=VALUE
  bool strict = false, strict_templates = false;
};

void AddSpecFileOptions(CLI::App* command, const std::shared_ptr<SpecFileOptions>& options);

// {"workflow", "file", "inputs", "labels"?, "strict"?, "strict_templates"?}, checked here first: all findings at once, to stderr. The
// server checks again. `supplied`: an input that the server adds if the file declares it; empty: none.
Result<Json> ReadSpecFile(Session* session, const SpecFileOptions& options, const std::string& supplied = "");

// POST with an Idempotency-Key (of its own if empty), again a few times if the answer is lost.
Result<Json> PostOnce(Session* session, const std::string& path, const Json& body, std::string key = "");

}  // namespace acl::cli
