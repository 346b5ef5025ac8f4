#pragma once
// A run's inputs as the command line gives them: NAME=VALUE, NAME=@FILE, and a file with many.

#include "cli/session.h"
#include "shared/definition/workflow_definition.h"

namespace acl::cli {

// Larger files belong into the run's files (--files).
inline constexpr std::size_t kMostInputBytes = 8u << 20;

// A file named on the command line, or stdin if it is "-" (which can be read once).
Result<std::string> ReadNamed(Session* session, const std::string& path, std::size_t most);

// `file` ("" for none): a map of inputs, YAML or JSON. `pairs` win over it; each NAME=VALUE is read as the declared type, VALUE @FILE is
// the text of that file, @@x the text @x. kInvalid with the name of what does not fit.
Result<Json> ReadInputs(Session* session, const WorkflowDefinition& definition, const std::string& file,
                        const std::vector<std::string>& pairs);

// "NAME=VALUE" pairs as an object of strings; `option` for the message.
Result<Json> ReadLabels(const std::vector<std::string>& pairs, const std::string& option = "--label");

}  // namespace acl::cli
