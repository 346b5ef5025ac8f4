// airun project, goal, task, checkpoint, next, work, doctor tasks: made from the table of operations.
#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/format.h"
#include "cli/project_files.h"
#include "cli/project_text.h"
#include "cli/project_words.h"

namespace acl::cli {

using project::Operation;

namespace {

using Words = std::shared_ptr<ProjectWords>;

const char* AboutGroup(const std::string& group) {
  if (group == "project") return "unfinished work that is kept: goals, tasks, where each was left";
  if (group == "goal") return "why work is done";
  return "units of work: what waits, what is being done, what is in the way";
}

void PrintDone(Session* session, const Operation& operation, const Json& sent, const Json& answer) {
  if (operation.name == "take_next") return PrintNext(session, answer);
  const std::string name = TextOf(sent, "name");
  if (operation.name == "create_project") {
    session->Print(name);
    return session->Note("name it in other commands by --project '" + name + "', or AIRUN_PROJECT");
  }
  if (operation.name == "create_goal") return session->Print(TextOf(answer, "goal_id"));
  if (operation.name == "add_task") return session->Print(TextOf(answer, "task_id"));
  std::string text = operation.done + " " + TextOf(sent, sent.contains("task_id") ? "task_id" : "goal_id");
  if (answer.contains("blocker_id")) text += ": " + TextOf(answer, "blocker_id");
  if (const std::string claim = ClaimText(answer.value("claim", Json::object())); !claim.empty()) text += "; " + claim;
  session->Note(text);
}

void RunCommand(Session* session, const Operation& operation, const ProjectWords& words) {
  auto path = words.CommandPath(operation);
  if (!path) return session->Fail(path.error());
  auto actor = words.Actor();
  if (!actor) return session->Fail(actor.error());
  auto arguments = words.Arguments(operation, *actor);
  if (!arguments) return session->Fail(arguments.error());
  auto answer = PostOnce(session, *path, *arguments, words.key());
  if (!answer) return session->Fail(answer.error());
  if (operation.name == "take_next" && answer->contains("answer")) CheckFiles((*answer)["answer"]);
  if (session->json()) return session->PrintJson(*answer);
  PrintDone(session, operation, *arguments, answer->value("answer", Json::object()));
}

// All pages of a list, as of the first; one page if a limit was given.
Result<Json> ReadList(ApiClient& api, std::string path, const std::string& list, bool all) {
  auto first = api.Get(path);
  if (!first || !all) return first;
  if (first->contains("event_seq") && path.find("at_") == std::string::npos)
    path += (path.find('?') == std::string::npos ? "?at_seq=" : "&at_seq=") + TextOf(*first, "event_seq");
  while (first->contains("next_after")) {
    const std::string after = UrlEncode(TextOf(*first, "next_after"));
    auto page = api.Get(path + (path.find('?') == std::string::npos ? "?after=" : "&after=") + after);
    if (!page) return page;
    first->erase("next_after");
    for (Json& one : (*page)[list]) (*first)[list].push_back(std::move(one));
    if (page->contains("next_after")) (*first)["next_after"] = (*page)["next_after"];
  }
  return first;
}

void Print(Session* session, const Operation& operation, const Json& answer) {
  if (operation.name == "list_projects") return PrintProjects(session, answer);
  if (operation.name == "show_project") return PrintProject(session, answer);
  if (operation.name == "get_work") return PrintWork(session, answer);
  if (operation.name == "get_next_step") return PrintNext(session, answer);
  if (operation.name == "list_goals") return PrintGoals(session, answer);
  if (operation.name == "list_tasks") return PrintTasks(session, answer);
  if (operation.name == "task_tree") return PrintTaskTree(session, answer);
  if (operation.name == "show_task") return PrintTask(session, answer);
  if (operation.name == "check_tasks") return PrintTaskFindings(session, answer);
  session->PrintJson(answer);
}

void RunReading(Session* session, const Operation& operation, const ProjectWords& words) {
  auto path = words.Path(operation);
  if (!path) return session->Fail(path.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  const std::string list = operation.name == "list_projects" ? "projects" : operation.name == "list_tasks" ? "tasks" : "";
  auto answer = ReadList(**api, *path, list, !list.empty() && !words.Given("limit"));
  if (!answer) return session->Fail(answer.error());
  if (operation.name == "get_next_step") CheckFiles(*answer);
  if (operation.name == "check_tasks" && !answer->value("findings", Json::array()).empty()) session->exit_code = kExitFailure;
  if (session->json()) return session->PrintJson(*answer);
  Print(session, operation, *answer);
}

// "task add" below `app`, its group made if it is not there.
CLI::App* AddCommand(CLI::App* app, const Operation& operation) {
  const std::size_t space = operation.words.find(' ');
  if (space == std::string::npos) return app->add_subcommand(operation.words, operation.summary);
  const std::string name = operation.words.substr(0, space);
  const auto there = app->get_subcommands([&](const CLI::App* one) { return one->get_name() == name; });
  CLI::App* group = there.empty() ? app->add_subcommand(name, AboutGroup(name)) : there.front();
  group->require_subcommand(1);
  return group->add_subcommand(operation.words.substr(space + 1), operation.summary);
}

// `next`, and with --take the command that chooses and starts in one.
void AddNext(CLI::App* command, Session* session, const Operation& reading, const Words& words) {
  const Operation* taking = project::FindOperation("take_next");
  words->Add(*taking);
  auto take = std::make_shared<bool>(false);
  command->add_flag("--take", *take, taking->summary)->excludes(command->get_option("--at"));
  command->callback([=, &reading] { *take ? RunCommand(session, *taking, *words) : RunReading(session, reading, *words); });
}

}  // namespace

void AddProjectCommands(CLI::App* app, Session* session) {
  for (const Operation& operation : project::Operations()) {
    if (operation.name == "take_next" || operation.name == "check_tasks") continue;  // below `next` and `doctor`
    CLI::App* command = AddCommand(app, operation);
    auto words = std::make_shared<ProjectWords>(command, session, operation);
    if (operation.name == "get_next_step") {
      AddNext(command, session, operation, words);
    } else {
      command->callback(
          [=, &operation] { operation.TakesKey() ? RunCommand(session, operation, *words) : RunReading(session, operation, *words); });
    }
  }
  AddTaskRun(app->get_subcommand("task"), session);
  AddUndoCommand(app, session);
  AddMemoryCommands(app, session);
}

void AddDoctorTasks(CLI::App* doctor, Session* session) {
  const Operation* operation = project::FindOperation("check_tasks");
  CLI::App* command = doctor->add_subcommand("tasks", operation->summary);
  auto words = std::make_shared<ProjectWords>(command, session, *operation);
  command->callback([=] { RunReading(session, *operation, *words); });
}

}  // namespace acl::cli
