// airun intents: what language models proposed to do, and what people say of it (docs/guides/aegis.md).
#include "cli/actor.h"
#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/format.h"

namespace acl::cli {

namespace {

struct IntentOptions {
  std::string project, by, id, state = "PENDING", comment, digest;
  std::vector<std::string> roles;
};

std::string IntentPath(Session* session, const IntentOptions& options, const std::string& rest = "") {
  const std::string project = ProjectNamed(session, options.project);
  return "/v1/ask/intents/" + UrlEncode(options.id) + rest + (project.empty() ? "" : "?project=" + UrlEncode(project));
}

void ListIntents(Session* session, const IntentOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  const std::string project = ProjectNamed(session, options.project);
  auto page = (*api)->Get("/v1/ask/intents?state=" + options.state + (project.empty() ? "" : "&project=" + UrlEncode(project)));
  if (!page) return session->Fail(page.error());
  const Json all = page->value("intents", Json::array());
  if (session->json()) return session->PrintJson(all);
  if (all.empty()) return session->Note("there are none");
  Table table({"INTENT", "STATE", "TOOL", "PROPOSED", "BY", "RUN"});
  for (const Json& one : all)
    table.Add({TextOf(one, "intent_id"), TextOf(one, "state"), TextOf(one, "tool"), ShortTime(TextOf(one, "proposed_at")),
               TextOf(one, "decided_by"), TextOf(one, "run_id")});
  session->Write(table.Text());
}

void PrintIntent(Session* session, const Json& one) {
  session->Print("intent    " + TextOf(one, "intent_id") + " of exchange " + TextOf(one, "exchange_id"));
  session->Print("state     " + TextOf(one, "state") + (TextOf(one, "decided_by").empty() ? "" : " by " + TextOf(one, "decided_by")));
  if (!TextOf(one, "run_id").empty()) session->Print("run       " + TextOf(one, "run_id"));
  if (!TextOf(one, "error").empty()) session->Print("error     " + TextOf(one, "error"));
  session->Print("digest    " + TextOf(one, "digest") + "\n");
  for (const Json& line : one.value("shown", Json::array()))
    session->Print(Shown(TextOf(line, "name") + ": ") + Indented(TextOf(line, "text"), 2));
  if (!TextOf(one, "workflow").empty()) session->Print(Shown("\nwhat would run\n  ") + Indented(TextOf(one, "workflow"), 2));
}

void ShowIntent(Session* session, const IntentOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto one = (*api)->Get(IntentPath(session, options));
  if (!one) return session->Fail(one.error());
  if (session->json()) return session->PrintJson(*one);
  PrintIntent(session, *one);
}

// About what is asked now, or what was looked at (--digest).
void Decide(Session* session, const IntentOptions& options, const std::string& decision) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  Json body = {{"decision", decision}, {"by", ActorOf(session, options.by)}, {"channel", "cli"}, {"digest", options.digest}};
  if (options.digest.empty()) {
    auto one = (*api)->Get(IntentPath(session, options));
    if (!one) return session->Fail(one.error());
    body["digest"] = TextOf(*one, "digest");
    body["shown_digest"] = TextOf(*one, "shown_digest");
  }
  if (!options.comment.empty()) body["comment"] = options.comment;
  if (!options.roles.empty()) body["roles"] = options.roles;
  if (const std::string project = ProjectNamed(session, options.project); !project.empty()) body["project"] = project;
  auto told = PostOnce(session, "/v1/ask/intents/" + UrlEncode(options.id) + "/decision", body);
  if (!told) return session->Fail(told.error());
  if (session->json()) return session->PrintJson(*told);
  const std::string run = TextOf(*told, "run_id");
  session->Note(options.id + " is " + TextOf(*told, "state") + (run.empty() ? "" : ": airun workflow status " + run));
}

}  // namespace

void AddIntentCommands(CLI::App* app, Session* session) {
  CLI::App* group = app->add_subcommand("intents", "what language models proposed to do; a run does it once people have approved it");
  group->require_subcommand(1);
  auto options = std::make_shared<IntentOptions>();
  const auto add = [&](const char* verb, const char* help) {
    CLI::App* command = group->add_subcommand(verb, help);
    command->add_option("--project", options->project, "the project, by name or id (AIRUN_PROJECT)");
    return command;
  };
  CLI::App* list = add("list", "those that wait for people");
  list->add_option("--state", options->state, "PENDING, APPROVED, REJECTED, TIMEOUT or ALL")
      ->transform(CLI::IsMember({"PENDING", "APPROVED", "REJECTED", "TIMEOUT", "ALL"}, CLI::ignore_case))
      ->capture_default_str();
  list->callback([=] { ListIntents(session, *options); });
  CLI::App* show = add("show", "one, with its arguments as they would be sent");
  show->add_option("id", options->id, "the intent")->required();
  show->callback([=] { ShowIntent(session, *options); });
  for (const auto& [verb, help] : {std::pair("approve", "it may run: a run is submitted"), std::pair("reject", "it may not")}) {
    CLI::App* command = add(verb, help);
    command->add_option("id", options->id, "the intent")->required();
    command->add_option("--digest", options->digest, "of what you looked at; else it is what is asked now");
    command->add_option("--comment", options->comment, "why");
    command->add_option("--as", options->by, "who decides, where the coordinator asks for no key (AIRUN_ACTOR, else USER)");
    command->add_option("--role", options->roles, "a role of who decides, where the coordinator asks for no key");
    command->callback([=, decision = std::string(verb)] { Decide(session, *options, decision); });
  }
}

}  // namespace acl::cli
