#pragma once
// Decisions on approvals, for the two nouns that have them: `approvals` and `workflow resume --decision`.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/session.h"

namespace acl::cli {

struct DecisionOptions {
  std::string comment, digest;
  std::string approver = "cli_user";
  std::vector<std::string> roles;
};

// --comment, --approver, --role
void AddDecisionOptions(CLI::App* command, DecisionOptions* options);
// On the one approval that the run waits for.
void DecideOnRun(Session* session, const std::string& run, const std::string& decision, const DecisionOptions& options);

}  // namespace acl::cli
