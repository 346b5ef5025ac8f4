// airun verify [ID|--all]: re-reads what is stored, straight from the database, and checks the invariants.
#include <fmt/format.h>

#include "cli/app.h"
#include "cli/verify_kinds.h"
#include "shared/postgres/pg_queries.h"
#include "shared/verify/verify.h"

namespace acl::cli {

namespace {

// What can be an id or the first characters of one (at least 4).
Result<SubjectId> FindSubject(const std::string& database, const std::string& text) {
  if (auto whole = SubjectId::Parse(text)) return *whole;
  PgStoreOptions options;
  options.conninfo = database;
  options.application_name = "airun";
  PgStore store(options);
  PgQueries queries(store);
  auto found = queries.FindByPrefix(text);
  if (!found) return found.error();
  if (found->empty()) return Error{Code::kNotFound, "no id begins with '" + text + "': airun workflow list shows them"};
  if (found->size() == 1) return found->front();
  std::string all;
  for (const SubjectId& one : *found) all += (all.empty() ? "" : ", ") + one.ToString();
  return Error{Code::kInvalid, "'" + text + "' is the beginning of several ids: " + all};
}

void Verify(Session* session, const std::string& id) {
  verify::VerifyOptions options;
  options.conninfo = session->DatabaseUrl();
  options.kinds = VerifyKinds();
  auto objects = session->Objects();
  if (!objects) return session->Fail(objects.error());
  options.objects = *objects;
  const bool tell = session->world.err_is_terminal && !session->json();
  if (tell) {
    options.on_progress = [session](const verify::Progress& p) {
      session->world.err << fmt::format("\r{} of {} subjects, {} events", p.subjects_done, p.subjects, p.events) << std::flush;
    };
  }
  Result<verify::Report> report = Error{Code::kInternal, "not verified"};
  if (id.empty()) {
    report = verify::VerifyAll(options);
    if (tell) session->world.err << "\n";
  } else {
    auto subject = FindSubject(options.conninfo, id);
    report = subject ? verify::VerifySubject(options, *subject) : Result<verify::Report>(subject.error());
  }
  if (!report) return session->Fail(report.error());
  if (!report->clean()) session->exit_code = kExitFailure;
  if (session->json()) return session->PrintJson(ToJson(*report));
  session->world.out << ToText(*report);
  session->Print(report->clean() ? session->Paint(Session::Colour::kGreen, "clean") : session->Paint(Session::Colour::kRed, "not clean"));
}

}  // namespace

void AddVerifyCommand(CLI::App* app, Session* session) {
  auto id = std::make_shared<std::string>();
  auto all = std::make_shared<bool>(false);
  CLI::App* command = app->add_subcommand("verify", "re-read what is stored and check every invariant; exit 1 on any violation");
  CLI::Option* one = command->add_option("ID", *id, "one run, by its id or the first characters of it");
  CLI::Option* every = command->add_flag("--all", *all, "every run, and what crosses tables: sessions, contents, views, rights");
  every->excludes(one);
  command->callback([=] {
    if (id->empty() && !*all) return session->Fail(kExitUsage, "name a run or say --all");
    Verify(session, *id);
  });
}

}  // namespace acl::cli
