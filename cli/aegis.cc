// airun aegis rebuild, check: whether what stands on record of a language model is what document 004 wants, for whoever asks.
#include <fmt/format.h>

#include "cli/actor.h"
#include "cli/aegis_check.h"
#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/format.h"
#include "cli/numbers.h"
#include "shared/base/read_file.h"
#include "shared/base/sha256.h"
#include "shared/base/uuid7.h"

namespace acl::cli {

namespace {

constexpr std::size_t kMostExportBytes = 64u << 20;

struct AegisOptions {
  std::string id, project, by, against, file, question = "Is everything in order?";
  int count = 20;
  bool no_ask = false;
};

std::string ProjectQuery(Session* session, const AegisOptions& options, const char* before) {
  const std::string project = ProjectNamed(session, options.project);
  return project.empty() ? "" : std::string(before) + "project=" + UrlEncode(project);
}

std::string ExchangePath(Session* session, const AegisOptions& options, const std::string& id, const char* rest = "") {
  return "/v1/ask/exchanges/" + UrlEncode(id) + rest + ProjectQuery(session, options, "?");
}

void Rebuild(Session* session, const AegisOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto told = (*api)->Get(ExchangePath(session, options, options.id, "/rebuild"));
  if (!told) return session->Fail(told.error());
  const bool same = told->value("same", false);
  if (session->json()) {
    session->PrintJson(*told);
  } else {
    session->Print("bundle  " + TextOf(*told, "context_bundle_hash"));
    session->Print("prompt  " + TextOf(*told, "prompt_hash"));
    session->Note(same ? "the bundle and the prompt are the same as on record, bit by bit" : "they are NOT the same as on record");
  }
  if (!same) session->exit_code = kExitFailure;
}

// In the form of a service's token, of chance: nobody's, and known to this check alone.
std::string PlantedSecret() {
  const std::string chance = NewUuid7().ToString();
  return "ghp_" + ToHex(Sha256("airun aegis check " + chance)).substr(0, 36);
}

// The exchange with what else is on record of it.
Result<CheckedExchange> Fetch(Session* session, const AegisOptions& options, const std::string& id) {
  auto api = session->Api();
  if (!api) return api.error();
  CheckedExchange checked;
  auto exchange = (*api)->Get(ExchangePath(session, options, id));
  if (!exchange) return exchange.error();
  checked.exchange = std::move(*exchange);
  auto rebuilt = (*api)->Get(ExchangePath(session, options, id, "/rebuild"));
  checked.rebuilt = rebuilt ? std::move(*rebuilt) : Json({{"same", false}});
  auto sessions = (*api)->Get("/v1/ask/sessions?limit=500" + ProjectQuery(session, options, "&"));
  if (!sessions) return sessions.error();
  checked.session = Json();
  for (const Json& one : sessions->value("sessions", Json::array()))
    if (TextOf(one, "session_id") == TextOf(checked.exchange, "session_id")) checked.session = one;
  return checked;
}

// A question of its own, with a secret in it, in a session of its own.
Result<CheckedExchange> AskAndFetch(Session* session, const AegisOptions& options) {
  const std::string planted = PlantedSecret();
  Json body = {{"question", options.question + " My token is " + planted + "."},
               {"by", ActorOf(session, options.by)},
               {"intent", "airun aegis check"},
               {"new_session", true}};
  if (const std::string project = ProjectNamed(session, options.project); !project.empty()) body["project"] = project;
  auto told = PostOnce(session, "/v1/ask", body);
  if (!told) return told.error();
  auto checked = Fetch(session, options, TextOf(told->value("exchange", Json::object()), "exchange_id"));
  if (!checked) return checked;
  checked->planted = planted;
  if (!told->value("withheld", false)) checked->shown = TextOf(*told, "text");
  return checked;
}

Result<std::vector<CheckedExchange>> Gather(Session* session, const AegisOptions& options) {
  std::vector<CheckedExchange> all;
  if (!options.file.empty()) {
    auto text = ReadFile(options.file, kMostExportBytes);
    if (!text) return Error{Code::kInvalid, options.file + ": " + text.message()};
    const auto exported = ParseJson(*text);
    if (!exported || !exported->is_object() || !exported->contains("exchange"))
      return Error{Code::kInvalid, options.file + " is no exchange: write it with airun ask export"};
    CheckedExchange one{exported->at("exchange"), std::nullopt, std::nullopt, std::nullopt, std::nullopt};
    if (exported->contains("session")) one.session = exported->at("session");
    if (exported->contains("rebuilt")) one.rebuilt = exported->at("rebuilt");
    all.push_back(std::move(one));
    return all;
  }
  if (!options.no_ask) {
    auto asked = AskAndFetch(session, options);
    if (!asked) return asked.error();
    all.push_back(std::move(*asked));
  }
  auto api = session->Api();
  if (!api) return api.error();
  auto page = (*api)->Get("/v1/ask/exchanges?limit=" + std::to_string(options.count) + ProjectQuery(session, options, "&"));
  if (!page) return page.error();
  for (const Json& one : page->value("exchanges", Json::array())) {
    const std::string id = TextOf(one, "exchange_id");
    if (TextOf(one, "status") != "RECORDED" || (!all.empty() && TextOf(all.front().exchange, "exchange_id") == id)) continue;
    auto fetched = Fetch(session, options, id);
    if (!fetched) return fetched.error();
    all.push_back(std::move(*fetched));
  }
  return all;
}

void Check(Session* session, const AegisOptions& options) {
  if (!options.against.empty()) session->options.server = options.against;
  auto all = Gather(session, options);
  if (!all) return session->Fail(all.error());
  if (all->empty()) return session->Fail(kExitFailure, "nothing is on record: ask first, or leave out --no-ask");
  Json lines = Json::array();
  Table table({"SECTION", "LINE", "", "EXCHANGE", "WHY"});
  int red = 0;
  for (const CheckedExchange& one : *all) {
    const std::string id = TextOf(one.exchange, "exchange_id");
    for (const CheckLine& line : CheckExchange(one)) {
      red += line.ok ? 0 : 1;
      lines.push_back({{"exchange_id", id}, {"section", line.section}, {"line", line.name}, {"ok", line.ok}, {"why", line.why}});
      // Of the first all lines, of the others what is red.
      if (&one == &all->front() || !line.ok) table.Add({line.section, line.name, line.ok ? "ok" : "RED", id, Cut(line.why, 200)});
    }
  }
  if (session->json()) {
    session->PrintJson({{"exchanges", all->size()}, {"red", red}, {"lines", std::move(lines)}});
  } else {
    session->Write(table.Text());
    session->Note(fmt::format("{} exchanges, {} lines, {} red (document 004, section 11)", all->size(), lines.size(), red));
  }
  if (red > 0) session->exit_code = kExitFailure;
}

}  // namespace

void AddAegisCommands(CLI::App* app, Session* session) {
  auto options = std::make_shared<AegisOptions>();
  CLI::App* aegis = app->add_subcommand("aegis", "the record of what a language model was asked");
  aegis->require_subcommand(1);
  const auto project = [&](CLI::App* command) {
    command->add_option("--project", options->project, "the project, by name or id (AIRUN_PROJECT)");
  };
  CLI::App* rebuild = aegis->add_subcommand("rebuild", "bundle and prompt of an exchange once more from the journal, compared bit by bit");
  rebuild->add_option("id", options->id, "the exchange")->required();
  project(rebuild);
  rebuild->callback([=] { Rebuild(session, *options); });
  CLI::App* check =
      aegis->add_subcommand("check", "whether what is on record is what document 004 wants, line by line; asks one question itself");
  check->add_option("--against", options->against, "the coordinator: http://HOST:PORT; else --server");
  check->add_option("--question", options->question, "what is asked")->capture_default_str();
  check->add_flag("--no-ask", options->no_ask, "nothing is asked: only what is on record is checked");
  check->add_option("--file", options->file, "one exchange that airun ask export wrote: no coordinator is asked");
  check->add_option("-n,--count", options->count, "how many of the newest exchanges")->check(WholeNumber(1, 500))->capture_default_str();
  check->add_option("--as", options->by, "who asks (AIRUN_ACTOR, else USER)");
  project(check);
  check->callback([=] { Check(session, *options); });
}

}  // namespace acl::cli
