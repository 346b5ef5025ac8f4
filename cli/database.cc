// airun db migrate, status, new-epoch, rewrite-rows: directly on the database.
#include "cli/app.h"
#include "cli/format.h"
#include "cli/numbers.h"
#include "shared/kinds/project/project_kind.h"
#include "shared/postgres/migrate.h"
#include "shared/postgres/pg_project_names.h"
#include "shared/postgres/pg_store.h"
#include "shared/verify/rewrite_rows.h"

namespace acl::cli {

namespace {

Json Texts(const std::vector<std::string>& texts) { return texts.empty() ? Json(Json::array()) : Json(texts); }

void Migrate(Session* session) {
  auto report = pg::Migrate(session->DatabaseUrl());
  if (!report) return session->Fail(report.error());
  if (session->json())
    return session->PrintJson({{"applied_now", Texts(report->applied_now)},
                               {"already_applied", report->already_applied},
                               {"functions_and_views_now", Texts(report->objects_now)},
                               {"functions_and_views_newer", Texts(report->newer_objects)}});
  for (const std::string& file : report->applied_now) session->Print("applied " + file);
  if (report->already_applied == 0) {  // of a new database: all of them
    session->Print("applied " + std::to_string(report->objects_now.size()) + " functions and views");
  } else {
    for (const std::string& file : report->objects_now) session->Print("applied " + file);
  }
  for (const std::string& file : report->newer_objects) session->Print("left    " + file + ": the database has a newer one");
  session->Print(report->applied_now.empty() && report->objects_now.empty()
                     ? "nothing to do: " + std::to_string(report->already_applied) + " migrations are applied"
                     : "the database is up to date");
}

void DatabaseStatus(Session* session) {
  auto status = pg::ReadDatabaseStatus(session->DatabaseUrl());
  if (!status) return session->Fail(status.error());
  if (!status->ready()) session->exit_code = kExitFailure;
  if (session->json())
    return session->PrintJson({{"ready", status->ready()},
                               {"server_version", status->server_version},
                               {"in_recovery", status->in_recovery},
                               {"applied", Texts(status->applied)},
                               {"pending", Texts(status->pending)},
                               {"unknown", Texts(status->unknown)},
                               {"changed", Texts(status->changed)},
                               {"functions_and_views",
                                {{"pending", Texts(status->pending_objects)},
                                 {"changed", Texts(status->changed_objects)},
                                 {"newer", Texts(status->newer_objects)}}},
                               {"right_cluster", status->right_cluster},
                               {"epoch", status->epoch},
                               {"database_time", FormatWallTime(status->db_now)}});
  session->Print("PostgreSQL " + status->server_version + (status->in_recovery ? ", a standby (read-only)" : ""));
  session->Print("applied    " + std::to_string(status->applied.size()));
  for (const std::string& file : status->pending) session->Print("pending    " + file);
  for (const std::string& version : status->unknown) session->Print("unknown    " + version + ": this airun is older than the database");
  for (const std::string& file : status->changed) session->Print("changed    " + file + ": differs from what was applied");
  for (const std::string& file : status->pending_objects) session->Print("pending    " + file);
  for (const std::string& file : status->changed_objects) session->Print("changed    " + file + ": differs from what was applied");
  for (const std::string& file : status->newer_objects) session->Print("newer      " + file + ": works with this airun too");
  session->Print("epoch      " + std::to_string(status->epoch));
  if (!status->right_cluster) session->Print("cluster    not the one this database was made in (restored or copied): airun db new-epoch");
  session->Print(status->ready() ? session->Paint(Session::Colour::kGreen, "ready")
                                 : session->Paint(Session::Colour::kRed, "not ready") +
                                       (status->pending.empty() && status->pending_objects.empty() ? "" : ": airun db migrate"));
}

void NewEpoch(Session* session, const std::string& above) {
  std::optional<Token> token;
  if (!above.empty()) token = Token{std::strtoll(above.c_str(), nullptr, 10)};
  auto epoch = pg::NewEpoch(session->DatabaseUrl(), token);
  if (!epoch) return session->Fail(epoch.error());
  if (session->json()) return session->PrintJson({{"epoch", *epoch}});
  session->Print("the next token is of epoch " + std::to_string(*epoch));
}

void RewriteRows(Session* session, const std::string& project) {
  PgStoreOptions options;
  options.conninfo = session->DatabaseUrl();
  options.application_name = "airun";
  auto objects = session->Objects();
  if (!objects) return session->Fail(objects.error());
  options.objects = std::move(*objects);
  PgStore store(options);
  PgProjectNames names(store.pool());
  auto found = names.Find(project);
  if (!found) return session->Fail(found.error());
  auto rewritten = verify::RewriteRows(store, *project::MakeProjectKind(), SubjectId{found->id.uuid});
  if (!rewritten) return session->Fail(rewritten.error());
  if (session->json())
    return session->PrintJson(
        {{"project_id", found->id.ToString()}, {"rows_written", rewritten->written}, {"rows_removed", rewritten->removed}});
  session->Print(std::to_string(rewritten->written) + " rows written from the journal, " + std::to_string(rewritten->removed) +
                 " removed that it does not have");
}

}  // namespace

void AddDatabaseCommands(CLI::App* app, Session* session) {
  CLI::App* db = app->add_subcommand("db", "the database: migrations and epoch");
  db->require_subcommand(1);
  db->add_subcommand("migrate", "bring the database to this program's version; two at once are harmless")->callback([=] {
    Migrate(session);
  });
  db->add_subcommand("status", "what is applied, what is missing; exit 1 if it is not ready")->callback([=] { DatabaseStatus(session); });
  auto above = std::make_shared<std::string>();
  CLI::App* epoch = db->add_subcommand("new-epoch", "after any restore from a backup: later tokens are above all earlier ones");
  epoch->add_option("--above", *above, "the highest token seen anywhere, if known")->check(WholeNumber(0, kMostNumber));
  epoch->callback([=] { NewEpoch(session, *above); });
  auto project = std::make_shared<std::string>();
  CLI::App* rewrite = db->add_subcommand(
      "rewrite-rows", "a project's rows of goals, tasks and checkpoints, once more from its journal (after airun verify)");
  rewrite->add_option("PROJECT", *project, "its name, or its id in full")->required();
  rewrite->callback([=] { RewriteRows(session, *project); });
}

}  // namespace acl::cli
