// airun ask: a question to a language model through AEGIS, and what stands on record of it; airun drift.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "cli/actor.h"
#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/exchange_page.h"
#include "cli/format.h"
#include "cli/numbers.h"

namespace acl::cli {

namespace {

struct AskOptions {
  std::string question, project, session, intent, by, id, status, reason, file;
  bool fresh = false, deep = false;
  int count = 20;
};

std::string InProject(Session* session, const AskOptions& options, const char* before = "?") {
  const std::string project = ProjectNamed(session, options.project);
  return project.empty() ? "" : std::string(before) + "project=" + UrlEncode(project);
}

// Millionths of a dollar as "$0.001200"; nothing: "".
std::string Cost(const Json& row, const char* key) {
  const std::int64_t micros = IntOf(row, key, 0);
  return micros == 0 ? "" : fmt::format("${}.{:06}", micros / 1'000'000, micros % 1'000'000);
}

void Ask(Session* session, const AskOptions& options) {
  Json body = {{"question", options.question}, {"by", ActorOf(session, options.by)}};
  if (const std::string project = ProjectNamed(session, options.project); !project.empty()) body["project"] = project;
  if (!options.session.empty()) body["session_id"] = options.session;
  if (!options.intent.empty()) body["intent"] = options.intent;
  if (options.fresh) body["new_session"] = true;
  if (options.deep) body["deep_history"] = true;
  auto told = PostOnce(session, "/v1/ask", body);
  if (!told) return session->Fail(told.error());
  if (session->json()) return session->PrintJson(*told);
  const Json exchange = told->value("exchange", Json::object());
  const std::string id = TextOf(exchange, "exchange_id");
  if (told->value("withheld", false)) {
    session->Note("the answer is on record and withheld, for what the validator found in it:");
  } else {
    session->Print(TextOf(*told, "text"));
  }
  for (const Json& drift : exchange.value("drift", Json::array()))
    session->Note(TextOf(drift, "severity") + " " + TextOf(drift, "drift_class") + " drift: " + TextOf(drift, "summary"));
  const Json answer = exchange.value("answer", Json());
  if (answer.is_object())
    for (const Json& intent : answer.value("intents", Json::array()))
      session->Note("proposed, and nothing runs until people approve it: airun intents show " + intent.get<std::string>());
  session->Note("exchange " + id + ", " + TextOf(exchange, "model") + ": airun ask show " + id);
  if (told->value("withheld", false)) session->exit_code = kExitConflict;
}

void PrintExchange(Session* session, const Json& one) {
  session->Print("exchange  " + TextOf(one, "exchange_id") + " of session " + TextOf(one, "session_id"));
  session->Print("status    " + TextOf(one, "status") +
                 (one.contains("message") && !one["message"].is_null() ? ": " + TextOf(one, "message") : ""));
  session->Print("asked     " + ShortTime(TextOf(one, "prepared_at")) + " by " + TextOf(one, "asked_by"));
  session->Print("model     " + TextOf(one, "provider") + " " + TextOf(one, "model"));
  session->Print("bundle    " + TextOf(one, "context_bundle_hash"));
  session->Print("prompt    " + TextOf(one, "prompt_hash") + " (stable part " + TextOf(one, "prefix_hash") + ")");
  if (!TextOf(one, "response_hash").empty()) session->Print("response  " + TextOf(one, "response_hash"));
  if (const std::string cost = Cost(one, "cost_micros"); !cost.empty()) session->Print("cost      " + cost);
  for (const Json& turn : one.value("turns", Json::array()))
    session->Print(Shown("\n" + TextOf(turn, "speaker") + ": ") + Indented(TextOf(turn, "content"), 2));
  session->Print("\nwhat the model was told");
  Table told({"ARTIFACT", "TYPE", "WHY", "OBSERVED", "FLAGS"});
  for (const Json& ref : one.value("refs", Json::array()))
    told.Add({TextOf(ref, "artifact_id"), TextOf(ref, "artifact_type"), TextOf(ref, "included_reason"),
              ShortTime(TextOf(ref, "observed_at")), TextOf(ref, "risk_flags")});
  session->Write(told.Text());
  const auto bundle = ParseJson(TextOf(one, "context_bundle"));
  const Json exclusions = bundle ? bundle->value("exclusions", Json::array()) : Json::array();
  if (!exclusions.empty()) {
    session->Print("\nwhat it was not told");
    Table left({"ARTIFACT", "WHY"});
    for (const Json& exclusion : exclusions) left.Add({TextOf(exclusion, "artifact"), TextOf(exclusion, "reason")});
    session->Write(left.Text());
  }
  const Json summary = one.value("validator_summary", Json());
  if (summary.is_object()) session->Print("\nvalidator " + DumpJson(summary));
  for (const Json& drift : one.value("drift", Json::array()))
    session->Print("drift     " + TextOf(drift, "driftwatch_id") + " " + TextOf(drift, "status") + ": " + TextOf(drift, "summary"));
}

void WriteText(Session* session, const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!(out << text).flush()) return session->Fail(kExitFailure, file + " cannot be written: see that its folder is there and has room");
  session->Note("written: " + file);
}

void Show(Session* session, const AskOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto one = (*api)->Get("/v1/ask/exchanges/" + UrlEncode(options.id) + InProject(session, options));
  if (!one) return session->Fail(one.error());
  if (!options.file.empty()) return WriteText(session, options.file, ExchangePage(*one));
  if (session->json()) return session->PrintJson(*one);
  PrintExchange(session, *one);
}

// All that is on record of it, for who has no coordinator: airun aegis check --file reads it.
void Export(Session* session, const AskOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  const std::string path = "/v1/ask/exchanges/" + UrlEncode(options.id);
  auto one = (*api)->Get(path + InProject(session, options));
  if (!one) return session->Fail(one.error());
  Json all = {{"format", "acl.exchange/1"}, {"exchange", std::move(*one)}};
  if (auto rebuilt = (*api)->Get(path + "/rebuild" + InProject(session, options))) all["rebuilt"] = std::move(*rebuilt);
  auto sessions = (*api)->Get("/v1/ask/sessions?limit=500" + InProject(session, options, "&"));
  if (!sessions) return session->Fail(sessions.error());
  for (const Json& row : sessions->value("sessions", Json::array()))
    if (TextOf(row, "session_id") == TextOf(all["exchange"], "session_id")) all["session"] = row;
  if (options.file.empty()) return session->PrintJson(all);
  WriteText(session, options.file, all.dump(1) + "\n");
}

void ListExchanges(Session* session, const AskOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  std::string path = "/v1/ask/exchanges?limit=" + std::to_string(options.count) + InProject(session, options, "&");
  if (!options.session.empty()) path += "&session=" + UrlEncode(options.session);
  auto page = (*api)->Get(path);
  if (!page) return session->Fail(page.error());
  const Json all = page->value("exchanges", Json::array());
  if (session->json()) return session->PrintJson(all);
  if (all.empty()) return session->Note("nothing was asked yet: airun ask \"...\"");
  Table table({"EXCHANGE", "STATUS", "ASKED", "BY", "MODEL", "COST", "QUESTION"});
  for (const Json& one : all)
    table.Add({TextOf(one, "exchange_id"), TextOf(one, "status"), ShortTime(TextOf(one, "prepared_at")), TextOf(one, "asked_by"),
               TextOf(one, "model"), Cost(one, "cost_micros"), Cut(TextOf(one, "question"), 60)});
  session->Write(table.Text());
}

void ListDrift(Session* session, const AskOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto page =
      (*api)->Get("/v1/drift?limit=" + std::to_string(options.count) + "&status=" + options.status + InProject(session, options, "&"));
  if (!page) return session->Fail(page.error());
  Json all = page->value("drift", Json::array());
  if (!options.id.empty())
    all.erase(std::remove_if(all.begin(), all.end(), [&](const Json& one) { return TextOf(one, "driftwatch_id") != options.id; }),
              all.end());
  if (session->json()) return session->PrintJson(all);
  if (all.empty()) return session->Note(options.id.empty() ? "there is none" : "there is no drift " + options.id);
  Table table({"DRIFT", "STATUS", "SEVERITY", "CLASS", "OPENED", "EXCHANGE", "SUMMARY", "CLOSED"});
  for (const Json& one : all)
    table.Add({TextOf(one, "driftwatch_id"), TextOf(one, "status"), TextOf(one, "severity"), TextOf(one, "drift_class"),
               ShortTime(TextOf(one, "opened_at")), TextOf(one, "exchange_id"), Cut(TextOf(one, "summary"), 80),
               TextOf(one, "closed_by").empty() ? "" : TextOf(one, "closed_by") + ": " + TextOf(one, "closed_reason")});
  session->Write(table.Text());
}

void CloseDrift(Session* session, const AskOptions& options) {
  Json body = {{"reason", options.reason}, {"by", ActorOf(session, options.by)}};
  if (const std::string project = ProjectNamed(session, options.project); !project.empty()) body["project"] = project;
  auto told = PostOnce(session, "/v1/drift/" + UrlEncode(options.id) + "/close", body);
  if (!told) return session->Fail(told.error());
  if (session->json()) return session->PrintJson(*told);
  session->Note(options.id + " is closed");
}

void AddProject(CLI::App* command, AskOptions* options) {
  command->add_option("--project", options->project, "the project, by name or id (AIRUN_PROJECT)");
}
void AddBy(CLI::App* command, AskOptions* options) {
  command->add_option("--as", options->by, "who asks: a person or an agent (AIRUN_ACTOR, else USER)");
}

}  // namespace

void AddAskCommands(CLI::App* app, Session* session) {
  auto options = std::make_shared<AskOptions>();
  CLI::App* ask = app->add_subcommand("ask", "ask a language model, on record (docs/guides/aegis.md): airun ask \"...\"");
  ask->add_option("question", options->question, "what is asked");
  ask->add_option("--session", options->session, "go on in this session; else in the one that is open");
  ask->add_flag("--new", options->fresh, "in a new session");
  ask->add_flag("--deep-history", options->deep, "old history may be shown to the model, and is said");
  ask->add_option("--intent", options->intent, "what this question is for, for the model");
  AddProject(ask, options.get());
  AddBy(ask, options.get());
  ask->require_subcommand(0, 1);
  CLI::App* show = ask->add_subcommand("show", "one exchange: what was asked, told, left out, answered and found");
  show->add_option("id", options->id, "the exchange")->required();
  AddProject(show, options.get());
  show->add_option("--html", options->file, "a page of it that needs nothing else, into this file");
  show->callback([=] { Show(session, *options); });
  CLI::App* exported = ask->add_subcommand("export", "all that is on record of an exchange, in one file for airun aegis check --file");
  exported->add_option("id", options->id, "the exchange")->required();
  exported->add_option("--to", options->file, "the file; else to stdout");
  AddProject(exported, options.get());
  exported->callback([=] { Export(session, *options); });
  CLI::App* list = ask->add_subcommand("list", "the newest exchanges");
  list->add_option("--session", options->session, "of one session alone");
  list->add_option("-n,--count", options->count, "how many")->check(WholeNumber(1, 500))->capture_default_str();
  AddProject(list, options.get());
  list->callback([=] { ListExchanges(session, *options); });
  ask->callback([=] {
    if (!ask->get_subcommands().empty()) return;
    if (options->question.empty()) return session->Fail(kExitUsage, "what is asked? airun ask \"what is next?\"");
    Ask(session, *options);
  });

  CLI::App* drift = app->add_subcommand("drift", "what the validator found in answers");
  drift->require_subcommand(1);
  auto drifts = std::make_shared<AskOptions>();
  drifts->status = "open";
  drifts->count = 100;
  CLI::App* all = drift->add_subcommand("list", "the newest that are open");
  all->add_option("--status", drifts->status, "open, closed or all")
      ->check(CLI::IsMember({"open", "closed", "all"}))
      ->capture_default_str();
  all->add_option("-n,--count", drifts->count, "how many")->check(WholeNumber(1, 500))->capture_default_str();
  AddProject(all, drifts.get());
  all->callback([=] { ListDrift(session, *drifts); });
  CLI::App* one = drift->add_subcommand("show", "one, open or closed");
  one->add_option("id", drifts->id, "driftwatch:...")->required();
  AddProject(one, drifts.get());
  one->callback([=] {
    drifts->status = "all";
    drifts->count = 500;
    ListDrift(session, *drifts);
  });
  CLI::App* close = drift->add_subcommand("close", "it was looked at: it is told to no model any more");
  close->add_option("id", drifts->id, "driftwatch:...")->required();
  close->add_option("--reason", drifts->reason, "why")->required();
  AddProject(close, drifts.get());
  AddBy(close, drifts.get());
  close->callback([=] { CloseDrift(session, *drifts); });
}

}  // namespace acl::cli
