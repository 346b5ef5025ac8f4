// airun task run TASK FILE: a run that belongs to a task of a project.
#include "cli/app.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/numbers.h"
#include "cli/project_words.h"
#include "cli/run_text.h"
#include "cli/spec_file.h"
#include "cli/upload.h"

namespace acl::cli {

namespace {

// No command of the project alone: it makes a run besides (coordinator/api/task_runs.cc).
const project::Operation& TaskRun() {
  static const project::Operation operation = [] {
    project::Operation made;
    made.name = "run_task";
    made.words = "task run";
    made.summary = "run a workflow file for a task: the project hears how it ends";
    project::Parameter task;
    task.name = "task_id";
    task.help = "the task, as t3: it is being done";
    task.required = true;
    task.most = 200;
    task.flag = "TASK";
    made.parameters.push_back(task);
    made.parameters.push_back(*project::FindOperation("complete_task")->Find("token"));
    return made;
  }();
  return operation;
}

struct TaskRunOptions {
  std::shared_ptr<SpecFileOptions> spec = std::make_shared<SpecFileOptions>();
  std::vector<std::string> folders;
  bool wait = false;
  double timeout = 0;
};

Result<Json> Submit(Session* session, const TaskRunOptions& options, const ProjectWords& words) {
  auto project = words.Project();
  if (!project) return project.error();
  auto actor = words.Actor();
  if (!actor) return actor.error();
  auto arguments = words.Arguments(TaskRun(), *actor);
  if (!arguments) return arguments.error();
  auto body = ReadSpecFile(session, *options.spec);
  if (!body) return body;
  auto api = session->Api();
  if (!api) return api.error();
  if (!options.folders.empty()) {
    auto files = Upload(session, **api, options.folders);
    if (!files) return files.error();
    (*body)["files"] = std::move(*files);
  }
  (*body)["by"] = *actor;
  if (arguments->contains("token")) (*body)["token"] = arguments->at("token");
  const std::string path = "/v1/projects/" + UrlEncode(*project) + "/tasks/" + UrlEncode(TextOf(*arguments, "task_id")) + "/runs";
  return PostOnce(session, path, *body, words.key());
}

void RunTask(Session* session, const TaskRunOptions& options, const ProjectWords& words) {
  auto answer = Submit(session, options, words);
  if (!answer) return session->Fail(answer.error());
  const std::string id = TextOf(*answer, "id");
  if (!options.wait) return session->json() ? session->PrintJson(*answer) : session->Print(id);
  if (!session->json()) session->Print(id);
  auto end = WaitForEnd(session, id, LengthOf(options.timeout));
  if (!end) return session->Fail(end.error());
  session->json() ? session->PrintJson(*end) : session->Print(PaintedRunWord(*session, *end));
  session->exit_code = ExitOfRun(*end);
  if (session->exit_code != kExitOk) session->Note("airun: " + EndText(*end));
}

}  // namespace

void AddTaskRun(CLI::App* task, Session* session) {
  auto options = std::make_shared<TaskRunOptions>();
  CLI::App* command = task->add_subcommand("run", TaskRun().summary);
  auto words = std::make_shared<ProjectWords>(command, session, TaskRun());
  AddSpecFileOptions(command, options->spec);
  command->add_option("--files", options->folders, "copy a folder into the run: DIR, or DIR=PREFIX")->allow_extra_args(false);
  command->add_flag("--wait", options->wait, "wait for the end; exit 0 only if it COMPLETED");
  command->add_option("--timeout", options->timeout, "with --wait: how long at most (90, 2m, 1h30m); exit 6 then, the run goes on")
      ->transform(Duration());
  command->callback([=] { RunTask(session, *options, *words); });
}

}  // namespace acl::cli
