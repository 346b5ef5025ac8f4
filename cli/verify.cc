// airun verify [ID|--all]: re-reads what is stored, straight from the database, and checks the invariants.
#include <fmt/format.h>

#include <fstream>

#include "chaos/checkers/invariants.h"
#include "cli/app.h"
#include "cli/verify_kinds.h"
#include "shared/base/read_file.h"
#include "shared/kernel/subject_part.h"
#include "shared/postgres/pg_queries.h"
#include "shared/verify/verify.h"

namespace acl::cli {

namespace {

Result<SubjectId> FindSubject(const std::string& database, const std::string& text) {
  if (auto whole = SubjectId::Parse(text)) return *whole;
  PgStoreOptions options;
  options.conninfo = database;
  options.application_name = "airun";
  PgStore store(options);
  PgQueries queries(store);
  auto found = queries.FindByPart(text);
  if (!found) return found.error();
  if (found->empty()) return Error{Code::kNotFound, NoSuchRun(text)};
  if (found->size() == 1) return found->front();
  std::string all;
  for (const SubjectId& one : *found) all += "\n  " + one.ToString();
  return Error{Code::kConflict, "several runs have '" + text + "' in their id: write more of it" + all};
}

struct Wanted {
  std::string id;
  bool all = false, invariants = false, drained = false;
  std::string history, ledger;
  std::vector<std::string> canaries;
};

// What `reader` makes of the file; nothing without a file.
template <class T>
Status ReadInto(const std::string& file, Result<T> (*reader)(std::istream&), std::optional<T>* into) {
  if (file.empty()) return {};
  if (Status readable = CheckReadable(file); !readable) return readable;
  std::ifstream in(file);
  auto read = reader(in);
  if (!read) return Error{Code::kCorrupt, file + ": " + read.message()};
  if (in.bad()) return Error{Code::kInvalid, "cannot read " + file + " to its end"};
  *into = std::move(*read);
  return {};
}

// The invariants i01 .. i36, beside (or instead of) what verify does by itself.
Result<chaos::InvariantReport> AskInvariants(Session* session, const Wanted& wanted, const verify::Report* replay) {
  chaos::InvariantOptions options;
  options.conninfo = session->DatabaseUrl();
  options.drained = wanted.drained;
  options.canaries = wanted.canaries;
  if (replay != nullptr) options.replay = *replay;
  if (Status read = ReadInto(wanted.history, chaos::ReadHistory, &options.history); !read) return read.error();
  if (Status read = ReadInto(wanted.ledger, chaos::ReadLedger, &options.ledger); !read) return read.error();
  return chaos::CheckInvariants(options);
}

void Verify(Session* session, const Wanted& wanted) {
  verify::VerifyOptions options;
  options.conninfo = session->DatabaseUrl();
  options.kinds = VerifyKinds();
  auto objects = session->Objects();
  if (!objects) return session->Fail(objects.error());
  options.objects = *objects;
  const bool tell = session->environment.err_is_terminal && !session->json();
  if (tell) {
    options.on_progress = [session](const verify::Progress& p) {
      session->Progress(fmt::format("{} of {} subjects, {} events", p.subjects_done, p.subjects, p.events));
    };
  }
  Result<verify::Report> report = Error{Code::kInternal, "not verified"};
  if (wanted.id.empty()) {
    report = verify::VerifyAll(options);
    if (tell) session->Note("");
  } else {
    const auto id = session->RunId(wanted.id);
    auto subject = id ? FindSubject(options.conninfo, *id) : Result<SubjectId>(id.error());
    report = subject ? verify::VerifySubject(options, *subject) : Result<verify::Report>(subject.error());
  }
  if (!report) return session->Fail(report.error());
  std::optional<chaos::InvariantReport> invariants;
  if (wanted.invariants) {
    auto asked = AskInvariants(session, wanted, &*report);
    if (!asked) return session->Fail(asked.error());
    invariants = std::move(*asked);
  }
  const bool clean = report->clean() && (!invariants || invariants->clean());
  if (!clean) session->exit_code = kExitFailure;
  if (session->json()) {
    Json json = ToJson(*report);
    if (invariants) {
      json["clean"] = clean;
      json["invariants"] = ToJson(*invariants)["invariants"];
    }
    return session->PrintJson(json);
  }
  session->Write(ToText(*report));
  if (invariants) session->Write("\n" + ToText(*invariants));
  session->Print(clean ? session->Paint(Session::Colour::kGreen, "clean") : session->Paint(Session::Colour::kRed, "not clean"));
}

}  // namespace

void AddVerifyCommand(CLI::App* app, Session* session) {
  auto wanted = std::make_shared<Wanted>();
  CLI::App* command = app->add_subcommand("verify", "re-read what is stored and check every invariant; exit 1 on any violation");
  CLI::Option* one = command->add_option("ID", wanted->id, "one run, by its id or any part of it (6 hex digits at least)");
  CLI::Option* every = command->add_flag("--all", wanted->all, "every run, and what crosses tables: sessions, contents, views, rights");
  every->excludes(one);
  CLI::Option* asked = command->add_flag("--invariants", wanted->invariants,
                                         "with --all: i01 to i36 as well, with the rows each looked at (chaos/checkers)");
  asked->needs(every);
  command->add_option("--history", wanted->history, "what clients saw, a line of JSON each: for the invariants that need it")->needs(asked);
  command->add_option("--ledger", wanted->ledger, "what a receiver of effects kept, a line of JSON each")->needs(asked);
  command->add_option("--canary", wanted->canaries, "a secret that must stand nowhere; may be given more than once")->needs(asked);
  command->add_flag("--drained", wanted->drained, "nothing is left to do: then nothing may be held, ready or unsent")->needs(asked);
  command->callback([=] {
    if (wanted->id.empty() && !wanted->all) return session->Fail(kExitUsage, "name a run or say --all");
    Verify(session, *wanted);
  });
}

}  // namespace acl::cli
