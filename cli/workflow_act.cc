// airun workflow cancel, pause, resume, signal, quarantine
#include "cli/app.h"
#include "cli/approvals.h"
#include "cli/definition_file.h"
#include "cli/format.h"
#include "cli/inputs.h"
#include "cli/run_text.h"
#include "shared/kernel/subject_part.h"

namespace acl::cli {

namespace {

constexpr std::size_t kMostPayloadBytes = 1u << 20;

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
  std::string decide;  // of resume: on the approval that the run waits for
  DecisionOptions decision;
};

CLI::App* AddAct(CLI::App* workflow, Session* session, const std::string& verb, const std::string& help, const std::string& done) {
  auto options = std::make_shared<ActOptions>();
  CLI::App* command = workflow->add_subcommand(verb, help);
  command->add_option("id", options->id, "the run: its id, or any part of it")->required();
  command->add_option("--reason", options->reason, "kept in the journal");
  if (verb == "cancel") command->add_flag("--compensate", options->compensate, "undo what was done");
  if (verb == "resume") {
    auto* decide = command->add_option("--decision", options->decide, "approve or reject what the run waits for (airun approvals show)");
    decide->check(CLI::IsMember({"approve", "reject"}));
    AddDecisionOptions(command, &options->decision);
  }
  command->callback([=] {
    if (!options->decide.empty()) return DecideOnRun(session, options->id, options->decide, options->decision);
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
  session->Write(table.Text());
}

void QuarantineInspect(Session* session, const std::string& text) {
  auto id = session->RunId(text);
  if (!id) return session->Fail(id.error());
  auto rows = Quarantined(session, true);
  if (!rows) return session->Fail(rows.error());
  const std::string part = *SubjectPart(*id);
  Json found = Json::array();
  for (const Json& row : *rows) {
    const auto whole = SubjectPart(TextOf(row, "workflow_id"));
    if (whole && whole->find(part) != std::string::npos) found.push_back(row);
  }
  if (found.empty()) {
    auto api = session->Api();
    if (!api) return session->Fail(api.error());
    auto run = (*api)->Get("/v1/workflows/" + *id);
    if (!run) return session->Fail(run.error());
    return session->Fail(kExitNotFound, "run " + TextOf(*run, "id") + " is not and was not quarantined");
  }
  if (session->json()) return session->PrintJson(found);
  for (const Json& row : found) {
    const std::string released = TextOf(row, "released_at");
    PrintField(session, "run", TextOf(row, "workflow_id"));
    PrintField(session, "since", ShortTime(TextOf(row, "at")));
    PrintField(session, "reason", TextOf(row, "reason"));
    PrintField(session, "detail", TextOf(row, "detail"));
    if (!released.empty()) PrintField(session, "released", ShortTime(released) + " by " + TextOf(row, "released_by"));
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

struct SignalOptions {
  std::string id, name, payload, idempotency_key;
};

// JSON as it is, or of a file: @FILE, @- for stdin.
Result<Json> ReadPayload(Session* session, const std::string& given) {
  std::string text = given;
  if (given.starts_with('@')) {
    auto read = ReadNamed(session, given.substr(1), kMostPayloadBytes);
    if (!read) return Error{Code::kInvalid, "--payload: " + read.message()};
    text = std::move(*read);
  }
  auto payload = ParseJson(text);
  if (!payload) return Error{Code::kInvalid, "--payload takes JSON (a text is written \"in quotes\"), or @FILE: " + payload.message()};
  return payload;
}

void Signal(Session* session, const SignalOptions& options) {
  Json body = {{"name", options.name}};
  if (!options.payload.empty()) {
    auto payload = ReadPayload(session, options.payload);
    if (!payload) return session->Fail(payload.error());
    body["payload"] = std::move(*payload);
  }
  auto id = session->RunId(options.id);
  if (!id) return session->Fail(id.error());
  auto answer = PostOnce(session, "/v1/workflows/" + *id + "/signal", body, options.idempotency_key);
  if (!answer) return session->Fail(answer.error());
  if (session->json()) return session->PrintJson(*answer);
  session->Note("sent signal '" + options.name + "' to " + (TextOf(*answer, "id").empty() ? *id : TextOf(*answer, "id")));
}

void AddSignal(CLI::App* workflow, Session* session) {
  auto options = std::make_shared<SignalOptions>();
  CLI::App* command =
      workflow->add_subcommand("signal", "send a run a signal: the step that waits for it takes it, now or when its turn comes");
  command->add_option("id", options->id, "the run: its id, or any part of it")->required();
  command->add_option("name", options->name, "the signal's name")->required();
  command->add_option("--payload", options->payload, "JSON, or @FILE (@- for stdin)");
  command->add_option("--idempotency-key", options->idempotency_key, "the same key again sends no second signal");
  command->callback([=] { Signal(session, *options); });
}

}  // namespace

void AddWorkflowActs(CLI::App* workflow, Session* session) {
  AddAct(workflow, session, "cancel", "stop a run", "asked to cancel");
  AddAct(workflow, session, "pause", "start no further step", "asked to pause");
  AddAct(workflow, session, "resume", "go on after a pause, or with --decision behind an approval", "asked to resume");
  AddSignal(workflow, session);

  CLI::App* quarantine = workflow->add_subcommand("quarantine", "runs that do not verify or kill their workers");
  quarantine->require_subcommand(1);
  auto all = std::make_shared<bool>(false);
  CLI::App* list = quarantine->add_subcommand("list", "what is quarantined");
  list->add_flag("--all", *all, "released ones too");
  list->callback([=] { QuarantineList(session, *all); });
  auto id = std::make_shared<std::string>();
  CLI::App* inspect = quarantine->add_subcommand("inspect", "why");
  inspect->add_option("id", *id, "the run: its id, or any part of it")->required();
  inspect->callback([=] { QuarantineInspect(session, *id); });
  CLI::App* release = quarantine->add_subcommand("release", "let it run again");
  release->add_option("id", *id, "the run: its id, or any part of it")->required();
  release->callback([=] { QuarantineRelease(session, *id); });
}

}  // namespace acl::cli
