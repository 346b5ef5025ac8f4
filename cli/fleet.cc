// airun worker list, lease list
#include "cli/app.h"
#include "cli/format.h"

namespace acl::cli {

namespace {

std::string Joined(const Json& list) {
  std::string out;
  if (list.is_array())
    for (const Json& one : list) out += (out.empty() ? "" : ",") + (one.is_string() ? one.get<std::string>() : one.dump());
  return out;
}

void Workers(Session* session, bool all) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto body = (*api)->Get(std::string("/v1/workers") + (all ? "?include_dead=true" : ""));
  if (!body) return session->Fail(body.error());
  if (session->json()) return session->PrintJson(ItemsOf(*body));
  Table table({"WORKER", "HOST", "PID", "QUEUES", "HOLDS", "AT MOST", "HEARTBEAT", "STATE"});
  for (const Json& row : ItemsOf(*body)) {
    const std::string state = TextOf(row, "dead") == "true" ? "dead" : "alive";
    table.Add({TextOf(row, "worker_name"),
               TextOf(row, "host"),
               TextOf(row, "pid"),
               Joined(row.value("queues", Json::array())),
               TextOf(row, "leases_held"),
               TextOf(row, "slots"),
               ShortTime(TextOf(row, "heartbeat_at")),
               {state, session->Paint(StatusColour(state), state)}});
  }
  if (table.empty()) return session->Note("no worker is alive; start one: acl-worker, or airun dev");
  session->Write(table.Text());
}

void Leases(Session* session) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto body = (*api)->Get("/v1/leases");
  if (!body) return session->Fail(body.error());
  if (session->json()) return session->PrintJson(ItemsOf(*body));
  Table table({"RUN", "WORKER", "TOKEN", "ACQUIRED", "EXPIRES"});
  for (const Json& row : ItemsOf(*body))
    table.Add({TextOf(row, "workflow_id"), TextOf(row, "worker_name"), TextOf(row, "fencing_token"), ShortTime(TextOf(row, "acquired_at")),
               ShortTime(TextOf(row, "lease_expires_at"))});
  if (table.empty()) return session->Note("no lease is held");
  session->Write(table.Text());
}

}  // namespace

void AddFleetCommands(CLI::App* app, Session* session) {
  CLI::App* worker = app->add_subcommand("worker", "the fleet's workers");
  worker->require_subcommand(1);
  auto all = std::make_shared<bool>(false);
  CLI::App* workers = worker->add_subcommand("list", "who is alive and what it holds");
  workers->add_flag("--all", *all, "dead ones too");
  workers->callback([=] { Workers(session, *all); });
  CLI::App* lease = app->add_subcommand("lease", "who holds which run");
  lease->require_subcommand(1);
  lease->add_subcommand("list", "held leases with their fencing tokens")->callback([=] { Leases(session); });
}

}  // namespace acl::cli
