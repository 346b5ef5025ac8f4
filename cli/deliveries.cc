// airun deliveries list, show, retry, discard
#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/format.h"
#include "cli/numbers.h"

namespace acl::cli {

namespace {

struct DeliveryOptions {
  std::string id, state;
  int count = 100;
};

std::string DeliveryPath(const std::string& id, const std::string& verb = "") {
  return "/v1/deliveries/" + UrlEncode(id) + (verb.empty() ? "" : "/" + verb);
}

void ListDeliveries(Session* session, const DeliveryOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  const std::string state = options.state.empty() ? "" : "&state=" + options.state;
  auto page = (*api)->Get("/v1/deliveries?limit=" + std::to_string(options.count) + state);
  if (!page) return session->Fail(page.error());
  const Json all = page->value("deliveries", Json::array());
  if (session->json()) return session->PrintJson(all);
  if (all.empty()) return session->Note("there are no such messages");
  Table table({"MESSAGE", "STATE", "ENDPOINT", "EVENT", "RUN", "ATTEMPTS", "SAID", "NEXT", "LAST ERROR"});
  for (const Json& one : all) {
    table.Add({TextOf(one, "message_id"), TextOf(one, "state"), TextOf(one, "endpoint"), TextOf(one, "event"), TextOf(one, "run"),
               TextOf(one, "attempts"), ShortTime(TextOf(one, "created_at")), ShortTime(TextOf(one, "next_attempt_at")),
               Cut(TextOf(one, "last_error"), 80)});
  }
  session->Write(table.Text());
  if (page->contains("next_before")) session->Note("there are more: -n shows up to 1000 of the newest");
}

void PrintDelivery(Session* session, const Json& one) {
  session->Print("message   " + TextOf(one, "message_id"));
  session->Print("event     " + TextOf(one, "event") + ", by " + TextOf(one, "channel") + " to " + TextOf(one, "endpoint"));
  session->Print("run       " + TextOf(one, "run"));
  session->Print("state     " + TextOf(one, "state"));
  session->Print("said      " + ShortTime(TextOf(one, "created_at")));
  if (one.contains("next_attempt_at")) session->Print("next      " + ShortTime(TextOf(one, "next_attempt_at")));
  if (one.contains("ended_at")) session->Print("ended     " + ShortTime(TextOf(one, "ended_at")));
  if (one.contains("last_error")) session->Print("error     " + TextOf(one, "last_error"));
  session->Print("body      " + DumpJson(one.value("body", Json())));
  const Json log = one.value("log", Json::array());
  if (log.empty()) return;
  session->Print("\nattempts");
  Table table({"NUMBER", "ENDED", "STATUS", "TOOK MS", "ERROR"});
  for (const Json& line : log)
    table.Add({TextOf(line, "attempt"), ShortTime(TextOf(line, "at")), TextOf(line, "status"), TextOf(line, "took_ms"),
               Cut(TextOf(line, "error"), 100)});
  session->Write(table.Text());
}

void ShowDelivery(Session* session, const std::string& id) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto one = (*api)->Get(DeliveryPath(id));
  if (!one) return session->Fail(one.error());
  if (session->json()) return session->PrintJson(*one);
  PrintDelivery(session, *one);
}

void ActOnDelivery(Session* session, const std::string& id, const std::string& verb, const std::string& done) {
  auto answer = PostOnce(session, DeliveryPath(id, verb), Json::object());
  if (!answer) return session->Fail(answer.error());
  if (session->json()) return session->PrintJson(*answer);
  session->Note(id + " " + done);
}

}  // namespace

void AddDeliveryCommands(CLI::App* app, Session* session) {
  CLI::App* group = app->add_subcommand("deliveries", "what runs said to the outside: webhooks and CloudEvents");
  group->require_subcommand(1);
  auto options = std::make_shared<DeliveryOptions>();
  CLI::App* list = group->add_subcommand("list", "the newest");
  list->add_option("--state", options->state, "only these: pending, delivered, dead or discarded")
      ->check(CLI::IsMember({"pending", "delivered", "dead", "discarded"}));
  list->add_option("-n,--count", options->count, "how many")->check(WholeNumber(1, 1'000))->capture_default_str();
  list->callback([=] { ListDeliveries(session, *options); });
  const auto add = [&](const char* verb, const char* help) {
    CLI::App* command = group->add_subcommand(verb, help);
    command->add_option("id", options->id, "the message's id")->required();
    return command;
  };
  add("show", "one, with its body and the log of its attempts")->callback([=] { ShowDelivery(session, options->id); });
  add("retry", "send one again that is dead, discarded or waits, with all its attempts before it")->callback([=] {
    ActOnDelivery(session, options->id, "retry", "is sent as soon as may be");
  });
  add("discard", "give one up; the next of its run to its endpoint goes on")->callback([=] {
    ActOnDelivery(session, options->id, "discard", "is not sent any more");
  });
}

}  // namespace acl::cli
