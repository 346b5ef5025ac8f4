// airun workflow cancel, pause, resume, quarantine; airun step resolve
#include "cli/app.h"
#include "cli/format.h"

namespace acl::cli {

namespace {

void Act(Session* session, const std::string& text, const std::string& verb, const Json& body, const std::string& done) {
  auto id = session->RunId(text);
  if (!id) return session->Fail(id.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto answer = (*api)->Post("/v1/workflows/" + *id + "/" + verb, body);
  if (!answer) return session->Fail(answer.error());
  if (session->json()) return session->PrintJson(*answer);
  session->Note(done + " " + (TextOf(*answer, "id").empty() ? *id : TextOf(*answer, "id")));
}

struct ActOptions {
  std::string id, reason;
  bool compensate = false;
};

CLI::App* AddAct(CLI::App* workflow, Session* session, const std::string& verb, const std::string& help, const std::string& done) {
  auto options = std::make_shared<ActOptions>();
  CLI::App* command = workflow->add_subcommand(verb, help);
  command->add_option("id", options->id, "the run, or the first characters of its id")->required();
  command->add_option("--reason", options->reason, "kept in the journal");
  if (verb == "cancel") command->add_flag("--compensate", options->compensate, "undo what was done");
  command->callback([=] {
    Json body = Json::object();
    if (!options->reason.empty()) body["reason"] = options->reason;
    if (verb == "cancel") body["compensate"] = options->compensate;
    Act(session, options->id, verb, body, done);
  });
  return command;
}

Result<Json> Quarantined(Session* session, bool all) {
  auto api = session->Api();
  if (!api) return api.error();
  auto body = (*api)->Get(std::string("/v1/quarantine") + (all ? "?include_released=true" : ""));
  if (!body) return body.error();
  return ItemsOf(*body);
}

void QuarantineList(Session* session, bool all) {
  auto rows = Quarantined(session, all);
  if (!rows) return session->Fail(rows.error());
  if (session->json()) return session->PrintJson(*rows);
  if (rows->empty()) return session->Note("nothing is quarantined");
  Table table({"RUN", "SINCE", "REASON", "DETAIL", "RELEASED"});
  for (const Json& row : *rows)
    table.Add({TextOf(row, "workflow_id"), ShortTime(TextOf(row, "at")), TextOf(row, "reason"), Cut(TextOf(row, "detail"), 80),
               ShortTime(TextOf(row, "released_at"))});
  session->world.out << table.Text();
}

void QuarantineInspect(Session* session, const std::string& text) {
  auto id = session->RunId(text);
  if (!id) return session->Fail(id.error());
  auto rows = Quarantined(session, true);
  if (!rows) return session->Fail(rows.error());
  Json found = Json::array();
  for (const Json& row : *rows)
    if (TextOf(row, "workflow_id").starts_with(*id)) found.push_back(row);
  if (found.empty()) return session->Fail(kExitNotFound, "run " + *id + " is not and was not quarantined");
  if (session->json()) return session->PrintJson(found);
  for (const Json& row : found) {
    const std::string released = TextOf(row, "released_at");
    session->Print("run       " + TextOf(row, "workflow_id"));
    session->Print("since     " + ShortTime(TextOf(row, "at")));
    session->Print("reason    " + TextOf(row, "reason"));
    session->Print("detail    " + TextOf(row, "detail"));
    if (!released.empty()) session->Print("released  " + ShortTime(released) + " by " + TextOf(row, "released_by"));
  }
  session->Note("airun verify " + TextOf(found.front(), "workflow_id") +
                "   shows what does not verify; airun workflow quarantine release lets it run again");
}

void QuarantineRelease(Session* session, const std::string& text) {
  auto id = session->RunId(text);
  if (!id) return session->Fail(id.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto answer = (*api)->Post("/v1/quarantine/" + *id + "/release", Json::object());
  if (!answer) return session->Fail(answer.error());
  if (session->json()) return session->PrintJson(*answer);
  session->Note("released " + *id);
}

struct ResolveOptions {
  std::string run, step, decision, outputs;
};

void Resolve(Session* session, const ResolveOptions& options) {
  auto id = session->RunId(options.run);
  if (!id) return session->Fail(id.error());
  Json body = {{"decision", options.decision}};
  if (!options.outputs.empty()) {
    if (options.decision != "completed") return session->Fail(kExitUsage, "--outputs goes with --decision completed only");
    auto outputs = ParseJson(options.outputs);
    if (!outputs || !outputs->is_object())
      return session->Fail(kExitUsage, "--outputs takes a JSON object" + (outputs ? std::string() : ": " + outputs.message()));
    body["outputs"] = std::move(*outputs);
  }
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto answer = (*api)->Post("/v1/workflows/" + *id + "/steps/" + UrlEncode(options.step) + "/resolve", body);
  if (!answer) return session->Fail(answer.error());
  if (session->json()) return session->PrintJson(*answer);
  session->Note("step '" + options.step + "': " + options.decision);
}

}  // namespace

void AddWorkflowActs(CLI::App* workflow, Session* session) {
  AddAct(workflow, session, "cancel", "stop a run", "asked to cancel");
  AddAct(workflow, session, "pause", "start no further step", "asked to pause");
  AddAct(workflow, session, "resume", "go on after a pause", "asked to resume");

  CLI::App* quarantine = workflow->add_subcommand("quarantine", "runs that do not verify or kill their workers");
  quarantine->require_subcommand(1);
  auto all = std::make_shared<bool>(false);
  CLI::App* list = quarantine->add_subcommand("list", "what is quarantined");
  list->add_flag("--all", *all, "released ones too");
  list->callback([=] { QuarantineList(session, *all); });
  auto id = std::make_shared<std::string>();
  CLI::App* inspect = quarantine->add_subcommand("inspect", "why");
  inspect->add_option("id", *id, "the run")->required();
  inspect->callback([=] { QuarantineInspect(session, *id); });
  CLI::App* release = quarantine->add_subcommand("release", "let it run again");
  release->add_option("id", *id, "the run")->required();
  release->callback([=] { QuarantineRelease(session, *id); });
}

void AddStepCommands(CLI::App* app, Session* session) {
  CLI::App* step = app->add_subcommand("step", "single steps of a run");
  step->require_subcommand(1);
  auto options = std::make_shared<ResolveOptions>();
  CLI::App* resolve = step->add_subcommand("resolve", "say what happened to a step whose outcome is unknown");
  resolve->add_option("run", options->run, "the run")->required();
  resolve->add_option("step", options->step, "the step")->required();
  resolve->add_option("--decision", options->decision, "completed, failed or retry")
      ->required()
      ->check(CLI::IsMember({"completed", "failed", "retry"}));
  resolve->add_option("--outputs", options->outputs, "with completed: its outputs, a JSON object");
  resolve->callback([=] { Resolve(session, *options); });
}

}  // namespace acl::cli
