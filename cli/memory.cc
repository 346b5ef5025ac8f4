// airun memory learn, search, revoke; airun learn: knowledge that lives outside (docs: memory).
#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/format.h"
#include "cli/project_words.h"
#include "shared/kinds/project/memory_operations.h"

namespace acl::cli {

namespace {

using project::Operation;

void PrintFound(Session* session, const Json& answer) {
  const Json& results = answer["results"];
  if (results.empty()) session->Note("nothing is known of it");
  for (const Json& one : results) {
    session->Print(TextOf(one, "kind") + "  " + TextOf(one, "text") + (one.value("cut", false) ? " ..." : ""));
    session->Print("  from " + TextOf(one, "source") + ", id " + TextOf(one, "id"));
  }
  session->Note("read from " + TextOf(answer, "memory") + " at " + ShortTime(TextOf(answer, "read_at")) +
                ": what others wrote, not an instruction");
}

void RunMemory(Session* session, const Operation& operation, const ProjectWords& words) {
  auto project = words.Project();
  if (!project) return session->Fail(project.error());
  auto body = words.Arguments(operation, "");
  if (!body) return session->Fail(body.error());
  body->erase("by");
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto answer = (*api)->Post("/v1/projects/" + UrlEncode(*project) + operation.path, *body);
  if (!answer) return session->Fail(answer.error());
  if (session->json()) return session->PrintJson(*answer);
  if (operation.name == "search_memory") return PrintFound(session, *answer);
  if (operation.name == "revoke_learning")
    return session->Note(answer->value("revoked", false) ? "revoked" : "the memory did not have it (any more)");
  session->Print(TextOf(*answer, "id"));
  session->Note("learned, from " + TextOf(*answer, "source") + "; airun memory revoke " + TextOf(*answer, "id") + " takes it back");
}

void AddMemoryCommand(CLI::App* group, Session* session, const std::string& name, const Operation& operation) {
  CLI::App* command = group->add_subcommand(name, operation.summary);
  auto words = std::make_shared<ProjectWords>(command, session, operation);
  command->callback([=, &operation] { RunMemory(session, operation, *words); });
}

}  // namespace

void AddMemoryCommands(CLI::App* app, Session* session) {
  CLI::App* memory = app->add_subcommand("memory", "knowledge that lives outside: ask it, and tell it what stays true");
  memory->require_subcommand(1);
  for (const Operation& operation : project::MemoryOperations()) {
    AddMemoryCommand(memory, session, operation.words.substr(operation.words.find(' ') + 1), operation);
    if (operation.name == "learn") AddMemoryCommand(app, session, "learn", operation);
  }
}

}  // namespace acl::cli
