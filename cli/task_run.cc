// airun task run TASK FILE: a run that belongs to a task of a project.
#include "cli/app.h"
#include "cli/format.h"
#include "cli/project_words.h"
#include "cli/run_file.h"

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

void RunTask(Session* session, const RunFileOptions& options, const ProjectWords& words) {
  auto project = words.Project();
  if (!project) return session->Fail(project.error());
  auto actor = words.Actor();
  if (!actor) return session->Fail(actor.error());
  auto arguments = words.Arguments(TaskRun(), *actor);
  if (!arguments) return session->Fail(arguments.error());
  auto body = ReadRunFile(session, options);
  if (!body) return session->Fail(body.error());
  (*body)["by"] = *actor;
  for (const char* member : {"token", "expected_seq"}) {
    if (arguments->contains(member)) (*body)[member] = arguments->at(member);
  }
  const std::string path = "/v1/projects/" + UrlEncode(*project) + "/tasks/" + UrlEncode(TextOf(*arguments, "task_id")) + "/runs";
  auto answer = PostOnce(session, path, *body, words.key());
  if (!answer) return session->Fail(answer.error());
  SayRun(session, options, *answer);
}

}  // namespace

void AddTaskRun(CLI::App* task, Session* session) {
  auto options = std::make_shared<RunFileOptions>();
  CLI::App* command = task->add_subcommand("run", TaskRun().summary);
  auto words = std::make_shared<ProjectWords>(command, session, TaskRun());
  AddRunFileOptions(command, options.get());
  command->callback([=] { RunTask(session, *options, *words); });
}

}  // namespace acl::cli
