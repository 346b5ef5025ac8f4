// airun undo: your last command on a project is taken back by a compensating one.
#include "shared/kinds/project/undo.h"
#include "cli/app.h"
#include "cli/format.h"
#include "cli/project_words.h"

namespace acl::cli {

namespace {

void Undo(Session* session, const ProjectWords& words, bool dry_run) {
  auto project = words.Project();
  if (!project) return session->Fail(project.error());
  auto actor = words.Actor();
  if (!actor) return session->Fail(actor.error());
  auto body = words.Arguments(project::UndoOperation(), *actor);
  if (!body) return session->Fail(body.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  const std::string path = "/v1/projects/" + UrlEncode(*project) + "/undo";
  if (dry_run || !body->contains("event_seq")) {
    auto shown = (*api)->Get(path);
    if (!shown) return session->Fail(shown.error());
    if (!shown->contains("last")) return session->Fail(kExitConflict, "the last command is further back than undo looks");
    const Json& last = (*shown)["last"];
    if (dry_run) {
      if (session->json()) return session->PrintJson(*shown);
      return session->Note("the last command: event " + TextOf(last, "event_seq") + ", " + TextOf(last, "event_type") + " by " +
                           TextOf(last, "by"));
    }
    (*body)["event_seq"] = last["event_seq"];
  }
  auto answer = (*api)->Post(path, *body);
  if (!answer) return session->Fail(answer.error());
  if (session->json()) return session->PrintJson(*answer);
  session->Note("undid event " + TextOf((*answer)["undone"], "event_seq") + " (" + TextOf((*answer)["undone"], "event_type") + ") by " +
                TextOf(*answer, "command"));
}

}  // namespace

void AddUndoCommand(CLI::App* app, Session* session) {
  CLI::App* command = app->add_subcommand("undo", project::UndoOperation().summary);
  auto words = std::make_shared<ProjectWords>(command, session, project::UndoOperation());
  auto dry_run = std::make_shared<bool>(false);
  command->add_flag("--dry-run", *dry_run, "say what would be undone, and do nothing");
  command->callback([=] { Undo(session, *words, *dry_run); });
}

}  // namespace acl::cli
