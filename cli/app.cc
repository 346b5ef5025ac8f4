#include "cli/app.h"

#include <sstream>

#include "shared/base/build_info.h"
#include "shared/definition/suggest.h"
#include "shared/journal/event.h"

namespace acl::cli {

namespace {

// "airun workflow run": the command as it is typed.
std::string FullName(const CLI::App& command) {
  const std::string above = command.get_parent() ? FullName(*command.get_parent()) + " " : "";
  return above + command.get_name();
}

std::vector<const CLI::App*> CommandsOf(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

// Commands of that very name anywhere below.
void FindCommands(const CLI::App& below, const std::string& name, std::vector<std::string>* found) {
  for (const CLI::App* one : CommandsOf(below)) {
    if (one->get_name() == name) found->push_back(FullName(*one));
    FindCommands(*one, name, found);
  }
}

std::string Listed(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string NoSuchCommand(const CLI::App& root, const CLI::App& at, const std::string& word) {
  std::vector<std::string> names, elsewhere;
  for (const CLI::App* one : CommandsOf(at)) names.push_back(one->get_name());
  std::string hint = DidYouMean(word, {names.begin(), names.end()});
  FindCommands(root, word, &elsewhere);
  if (hint.empty() && !elsewhere.empty()) hint = "; did you mean " + Listed(elsewhere) + "?";
  if (hint.empty()) hint = "; there are " + Listed(names);
  return FullName(at) + " has no command '" + word + "'" + hint;
}

std::string NoSuchOption(const CLI::App& at, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* one = &at; one; one = one->get_parent())
    for (const CLI::Option* option : one->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::string name = word.substr(0, word.find('='));
  return FullName(at) + " has no option '" + name + "'" + DidYouMean(name, {names.begin(), names.end()});
}

// What CLI11 found wrong, in words that name the command. Of what could not be placed, the first word is the mistake.
std::string Explain(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App* at = &root;
  for (auto chosen = root.get_subcommands(); !chosen.empty(); chosen = at->get_subcommands()) at = chosen.front();
  const bool about_words = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) ||
                           error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  const bool group = !CommandsOf(*at).empty();
  for (const std::string& word : about_words ? root.remaining(true) : std::vector<std::string>()) {
    if (word == "--") continue;
    if (word.size() > 1 && word[0] == '-') return NoSuchOption(*at, word);
    if (group) return NoSuchCommand(root, *at, word);
    return FullName(*at) + " takes no further argument: '" + word + "'";
  }
  if (about_words && group) {
    std::vector<std::string> names;
    for (const CLI::App* one : CommandsOf(*at)) names.push_back(one->get_name());
    return FullName(*at) + " needs a command: " + Listed(names);
  }
  return FullName(*at) + ": " + error.what();
}

void AddGlobals(CLI::App* app, Session* session) {
  app->add_option("-o,--output", session->options.output, "text or json")->check(CLI::IsMember({"text", "json"}))->capture_default_str();
  app->add_option("--server", session->options.server, "the coordinator, http://HOST:PORT (ACL_SERVER)");
  app->add_option("--api-key-file", session->options.api_key_file, "file with the API key (else ACL_API_KEY)");
  app->add_option("--database-url", session->options.database_url, "PostgreSQL, for db, verify, doctor and dev (ACL_DATABASE_URL)");
  app->add_flag("--no-color", session->options.no_color, "no colours (NO_COLOR too)");
}

}  // namespace

std::unique_ptr<CLI::App> MakeApp(Session* session) {
  auto app = std::make_unique<CLI::App>("airun: workflows that run to their end, whatever is killed", "airun");
  app->set_version_flag("--version", VersionLine("airun", kProducerVersion));
  app->require_subcommand(1);
  app->fallthrough();
  AddGlobals(app.get(), session);
  CLI::App* workflow = app->add_subcommand("workflow", "submit, watch and steer workflow runs");
  workflow->require_subcommand(1);
  AddWorkflowRun(workflow, session);
  AddWorkflowBatch(workflow, session);
  AddWorkflowValidate(workflow, session);
  AddWorkflowQueries(workflow, session);
  AddWorkflowStatus(workflow, session);
  AddWorkflowActs(workflow, session);
  AddWorkflowCompensate(workflow, session);
  AddScheduleCommands(app.get(), session);
  AddDeliveryCommands(app.get(), session);
  AddApprovalCommands(app.get(), session);
  AddAegisCommands(app.get(), session);
  AddAgentCommands(app.get(), session);
  AddAskCommands(app.get(), session);
  AddIntentCommands(app.get(), session);
  AddLedgerCommands(app.get(), session);
  AddProjectCommands(app.get(), session);
  AddStepCommands(app.get(), session);
  AddCapabilityCommands(app.get(), session);
  AddLookingCommands(app.get(), session);
  AddSupportCommand(app.get(), session);
  AddFleetCommands(app.get(), session);
  AddProjectTransferCommands(app.get(), session);
  AddDatabaseCommands(app.get(), session);
  AddKeyCommands(app.get(), session);
  AddQueueCommands(app.get(), session);
  AddVerifyCommand(app.get(), session);
  AddDoctorCommand(app.get(), session);
  AddDevCommand(app.get(), session);
  AddChaosCommands(app.get(), session);
  AddCompletionCommand(app.get(), session);
  app->footer(
      "Examples:\n"
      "  airun dev                                          a coordinator and two workers on this machine\n"
      "  airun workflow run examples/exec.yaml --wait       submit a file, wait for its end\n"
      "  airun workflow status 4f1c9a                       any part of an id will do (6 hex digits at least)\n"
      "  airun next --project book                          what to do next in a project, and why that\n"
      "Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 no right, 5 conflict, 6 timeout");
  return app;
}

int RunCli(const std::vector<std::string>& arguments, Environment environment) {
  Session session(std::move(environment));
  auto app = MakeApp(&session);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes them from the back
    app->parse(std::move(reversed));
  } catch (const CLI::Success& wanted) {  // --help, --version
    std::ostringstream out, err;
    app->exit(wanted, out, err);
    session.Write(out.str());
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    session.exit_code = kExitUsage;
    session.Note(Explain(*app, error));  // begins with the command, so with "airun"
    session.Note("Run with --help for more information.");
  } catch (const std::exception& error) {
    session.Fail(kExitFailure, std::string("internal error: ") + error.what());
  }
  session.Flush();
  return session.exit_code;
}

}  // namespace acl::cli
