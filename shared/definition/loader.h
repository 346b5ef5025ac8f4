#pragma once
// From YAML 1.2 (core schema) or JSON text to a WorkflowDefinition. All findings of a file at once, each with its place.

#include <string>
#include <vector>

#include "shared/capability/capability.h"
#include "shared/definition/workflow_definition.h"

namespace acl {

struct Finding {
  enum class Severity { kError, kWarning } severity = Severity::kError;
  std::string code;     // stable, kebab-case: "duplicate-key", "unknown-dependency", "bad-approval" ...
  std::string message;  // what is wrong, what to write instead
  SourceMark mark;
};
// file:line:column: error|warning: code: message
std::string FormatFinding(const std::string& file, const Finding& finding);

struct LoadOptions {
  bool strict = false;  // unknown keys and capabilities are errors
  bool strict_templates =
      false;  // a template that nothing may answer is an error; kept in the definition, so that it holds at run time too
  // What begins like a template and is none stays as text, and so does a reference that nothing answers, also in calls with effects: for
  // files of the other runtime that rely on it. A file says the same by `lenient_templates: true`.
  bool lenient_templates = false;
  bool for_submit = false;  // kinds that come later are errors ("not supported yet"), not warnings; there are none now
  // It was accepted before, perhaps by an older program: what the loader has learnt to refuse since is a warning.
  bool accepted_before = false;
  std::size_t max_bytes = limits::kWorkflowFileBytes;
  int max_depth = 64;
  // Once aliases are written out; an alias that would go beyond them is not.
  int max_nodes = 200'000;
  std::size_t max_expanded_bytes = limits::kWorkflowExpandedBytes;  // texts and keys
};

struct Loaded {
  std::optional<WorkflowDefinition> definition;  // set if there is no error
  std::vector<Finding> findings;                 // sorted by place
  bool ok() const { return definition.has_value(); }
};

// Never throws, never crashes, whatever the text.
Loaded LoadWorkflow(const std::string& text, const CapabilityRegistry& capabilities, const LoadOptions& options);

// A run's inputs against the definition: types checked, defaults filled in. kInvalid lists all that is wrong.
Result<Json> CheckInputs(const WorkflowDefinition& definition, const Json& given);
// `-i key=value` of the CLI: the text read as the declared type (undeclared: as JSON if it parses, else as a string).
Result<Json> ReadInput(const WorkflowDefinition& definition, const std::string& key, const std::string& text);

}  // namespace acl
