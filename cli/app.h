#pragma once
// The command tree of airun (CLI11). Each file of this folder adds the commands of one noun.

#include <CLI/CLI.hpp>

#include "cli/session.h"

namespace acl::cli {

// Runs one command line (without the program's name); returns the exit code.
int RunCli(const std::vector<std::string>& arguments, Environment environment);

// Builds the tree; the callbacks hold `session`.
std::unique_ptr<CLI::App> MakeApp(Session* session);

void AddWorkflowRun(CLI::App* workflow, Session* session);
void AddWorkflowValidate(CLI::App* workflow, Session* session);
void AddWorkflowQueries(CLI::App* workflow, Session* session);
void AddWorkflowStatus(CLI::App* workflow, Session* session);  // status, result
void AddWorkflowBatch(CLI::App* workflow, Session* session);
void AddWorkflowActs(CLI::App* workflow, Session* session);
void AddUndoCommand(CLI::App* app, Session* session);
void AddMemoryCommands(CLI::App* app, Session* session);
void AddWorkflowCompensate(CLI::App* workflow, Session* session);
void AddScheduleCommands(CLI::App* app, Session* session);
void AddScheduleUpdate(CLI::App* schedule, Session* session);
void AddDeliveryCommands(CLI::App* app, Session* session);
void AddApprovalCommands(CLI::App* app, Session* session);
void AddAegisCommands(CLI::App* app, Session* session);
void AddAskCommands(CLI::App* app, Session* session);  // ask, drift
void AddIntentCommands(CLI::App* app, Session* session);
void AddAgentCommands(CLI::App* app, Session* session);
void AddLedgerCommands(CLI::App* app, Session* session);
void AddTaskRun(CLI::App* task, Session* session);
void AddProjectCommands(CLI::App* app, Session* session);  // project, goal, task, checkpoint, next, work
void AddDoctorTasks(CLI::App* doctor, Session* session);
void AddStepCommands(CLI::App* app, Session* session);
void AddCapabilityCommands(CLI::App* app, Session* session);
void AddSupportCommand(CLI::App* app, Session* session);           // support-bundle
void AddLookingCommands(CLI::App* app, Session* session);          // why, top
void AddFleetCommands(CLI::App* app, Session* session);            // worker, lease
void AddProjectTransferCommands(CLI::App* app, Session* session);  // project export, import
void AddKeyCommands(CLI::App* app, Session* session);
void AddDatabaseCommands(CLI::App* app, Session* session);  // db
void AddQueueCommands(CLI::App* app, Session* session);
void AddVerifyCommand(CLI::App* app, Session* session);
void AddDoctorCommand(CLI::App* app, Session* session);
void AddDevCommand(CLI::App* app, Session* session);
void AddChaosCommands(CLI::App* app, Session* session);
void AddCompletionCommand(CLI::App* app, Session* session);

// The completion script of a shell, walked from the tree. `shell`: bash, zsh or fish.
std::string CompletionScript(const CLI::App& app, const std::string& shell);

}  // namespace acl::cli
