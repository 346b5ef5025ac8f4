// airun ledger: facts that people stand for, and what asking may cost.
#include "cli/actor.h"
#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/format.h"
#include "cli/numbers.h"

namespace acl::cli {

namespace {

struct LedgerOptions {
  std::string project, by, id, claim, source, confidence, subject, reason, status = "all", period, limit;
  std::vector<std::string> contradicts;
  int count = 100;
};

void AddCommon(CLI::App* command, LedgerOptions* options) {
  command->add_option("--project", options->project, "the project, by name or id (AIRUN_PROJECT)");
  command->add_option("--as", options->by, "who asks: a person or an agent (AIRUN_ACTOR, else USER)");
}

Json BodyOf(Session* session, const LedgerOptions& options) {
  Json body = {{"by", ActorOf(session, options.by)}};
  if (const std::string project = ProjectNamed(session, options.project); !project.empty()) body["project"] = project;
  return body;
}

void Say(Session* session, const std::string& path, const Json& body, const std::string& done) {
  auto told = PostOnce(session, path, body);
  if (!told) return session->Fail(told.error());
  if (session->json()) return session->PrintJson(*told);
  const std::string id = TextOf(*told, "fact_id");
  session->Note(id.empty() ? done : id + " " + done);
}

void Propose(Session* session, const LedgerOptions& options) {
  Json body = BodyOf(session, options);
  body["claim"] = options.claim;
  body["source"] = options.source;
  if (!options.confidence.empty()) body["confidence"] = options.confidence;
  if (!options.subject.empty()) body["subject"] = options.subject;
  if (!options.contradicts.empty()) body["contradicts"] = options.contradicts;
  Say(session, "/v1/ledger/facts", body, "is proposed; a model is told of it once a person has ratified it: airun ledger ratify");
}

// "2.50" -> 2500000 millionths; nullopt: no amount.
std::optional<std::int64_t> MicrosOf(const std::string& text) {
  const auto point = text.find('.');
  const std::string whole = text.substr(0, point);
  std::string part = point == std::string::npos ? "" : text.substr(point + 1);
  const auto digits = [](const std::string& of) { return of.find_first_not_of("0123456789") == std::string::npos; };
  if (whole.empty() || whole.size() > 9 || part.size() > 6 || !digits(whole) || !digits(part)) return std::nullopt;
  part.resize(6, '0');
  return std::stoll(whole) * 1'000'000 + std::stoll(part);
}

void SetBudget(Session* session, const LedgerOptions& options) {
  const auto limit = options.limit == "none" ? std::optional<std::int64_t>(0) : MicrosOf(options.limit);
  if (!limit) return session->Fail(kExitUsage, "the budget is an amount in dollars (2.50), or none");
  Json body = BodyOf(session, options);
  body["limit_micros"] = *limit;
  body["period"] = options.period;
  Say(session, "/v1/ledger/budget", body, "the budget is set");
}

void List(Session* session, const LedgerOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  const std::string named = ProjectNamed(session, options.project), project = named.empty() ? "" : "&project=" + UrlEncode(named);
  auto page = (*api)->Get("/v1/ledger?limit=" + std::to_string(options.count) + "&status=" + options.status + project);
  if (!page) return session->Fail(page.error());
  if (session->json()) return session->PrintJson(*page);
  const Json all = page->value("facts", Json::array());
  if (all.empty()) {
    session->Note("there are no such facts: airun ledger propose CLAIM --source SOURCE");
  } else {
    Table table({"FACT", "STATUS", "CONFIDENCE", "SUBJECT", "BY", "CLAIM"});
    for (const Json& one : all)
      table.Add({TextOf(one, "id"), TextOf(one, "status"), TextOf(one, "confidence"), TextOf(one, "subject"),
                 TextOf(one, "decided_by").empty() ? TextOf(one, "proposed_by") : TextOf(one, "decided_by"),
                 Cut(TextOf(one, "claim"), 90)});
    session->Write(table.Text());
  }
  if (page->value("more", false)) session->Note("there are more: -n shows up to 1000 of the newest");
}

}  // namespace

void AddLedgerCommands(CLI::App* app, Session* session) {
  CLI::App* group = app->add_subcommand("ledger", "facts that people stand for, and what asking may cost");
  group->require_subcommand(1);
  auto options = std::make_shared<LedgerOptions>();
  CLI::App* list = group->add_subcommand("list", "the newest facts");
  list->add_option("--status", options->status, "proposed, ratified, retracted or all")
      ->check(CLI::IsMember({"proposed", "ratified", "retracted", "all"}))
      ->capture_default_str();
  list->add_option("-n,--count", options->count, "how many")->check(WholeNumber(1, 1'000))->capture_default_str();
  AddCommon(list, options.get());
  list->callback([=] { List(session, *options); });
  CLI::App* propose = group->add_subcommand("propose", "say something that a person may ratify");
  propose->add_option("claim", options->claim, "one sentence")->required();
  propose->add_option("--source", options->source, "where it is from: turn:ID, a document, a person")->required();
  propose->add_option("--confidence", options->confidence, "low, medium or high; medium unless given");
  propose->add_option("--subject", options->subject, "what it is about: two facts about one subject that differ are shown as a conflict");
  propose->add_option("--contradicts", options->contradicts, "a fact that it contradicts");
  AddCommon(propose, options.get());
  propose->callback([=] { Propose(session, *options); });
  CLI::App* ratify = group->add_subcommand("ratify", "stand for a fact: from now on models are told of it");
  ratify->add_option("id", options->id, "ledger:...")->required();
  AddCommon(ratify, options.get());
  ratify->callback(
      [=] { Say(session, "/v1/ledger/facts/" + UrlEncode(options->id) + "/ratify", BodyOf(session, *options), "is ratified"); });
  CLI::App* retract = group->add_subcommand("retract", "it is not so: no model is told of it any more");
  retract->add_option("id", options->id, "ledger:...")->required();
  retract->add_option("--reason", options->reason, "why")->required();
  AddCommon(retract, options.get());
  retract->callback([=] {
    Json body = BodyOf(session, *options);
    body["reason"] = options->reason;
    Say(session, "/v1/ledger/facts/" + UrlEncode(options->id) + "/retract", body, "is retracted");
  });
  CLI::App* budget = group->add_subcommand("budget", "the most that asking may cost in a period");
  budget->add_option("limit", options->limit, "dollars (2.50), or none")->required();
  budget->add_option("--period", options->period, "day, month (of UTC) or total")
      ->check(CLI::IsMember({"day", "month", "total"}))
      ->required();
  AddCommon(budget, options.get());
  budget->callback([=] { SetBudget(session, *options); });
}

}  // namespace acl::cli
