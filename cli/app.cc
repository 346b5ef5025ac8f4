#include "cli/app.h"

#include "shared/base/build_info.h"
#include "shared/journal/event.h"
#include "shared/spec/suggest.h"

namespace acl::cli {

namespace {

// CLI11 says which argument it did not expect; we say what may have been meant.
std::string Suggestion(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* at = &app;
  for (const std::string& argument : arguments) {
    if (argument.starts_with('-')) continue;
    const auto subcommands = at->get_subcommands([](const CLI::App*) { return true; });
    std::vector<std::string> names;
    for (const CLI::App* one : subcommands) names.push_back(one->get_name());
    auto known = std::find(names.begin(), names.end(), argument);
    if (known == names.end()) return names.empty() ? "" : DidYouMean(argument, {names.begin(), names.end()});
    at = subcommands[static_cast<std::size_t>(known - names.begin())];
  }
  return "";
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
  AddWorkflowValidate(workflow, session);
  AddWorkflowQueries(workflow, session);
  AddWorkflowActs(workflow, session);
  AddScheduleCommands(app.get(), session);
  AddStepCommands(app.get(), session);
  AddCapabilityCommands(app.get(), session);
  AddFleetCommands(app.get(), session);
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
      "  airun workflow status 0193                         the first characters of an id are enough\n"
      "Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 no right, 5 conflict, 6 timeout");
  return app;
}

int RunCli(const std::vector<std::string>& arguments, Surroundings surroundings) {
  Session session(std::move(surroundings));
  auto app = MakeApp(&session);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes them from the back
    app->parse(std::move(reversed));
  } catch (const CLI::Success& wanted) {  // --help, --version
    app->exit(wanted, session.world.out, session.world.err);
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    session.Fail(kExitUsage, std::string(error.what()) + Suggestion(*app, arguments));
    session.Note("Run with --help for more information.");
  } catch (const std::exception& error) {
    session.Fail(kExitFailure, std::string("internal error: ") + error.what());
  }
  session.world.out.flush();
  return session.exit_code;
}

}  // namespace acl::cli
