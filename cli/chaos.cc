// airun chaos: faults on real processes and servers, and what became of the work meanwhile.
#include <unistd.h>

#include <fstream>

#include "chaos/driver/run.h"
#include "chaos/faults/fault.h"
#include "chaos/history/history.h"
#include "chaos/process/patience.h"
#include "cli/app.h"
#include "cli/numbers.h"
#include "cli/verify_kinds.h"
#include "shared/base/random.h"
#include "shared/postgres/chaos_mark.h"
#include "shared/telemetry/log.h"
#include "shared/verify/verify.h"

namespace acl::cli {

namespace {

struct ChaosOptions {
  std::vector<std::string> faults;
  std::string profile = "quick", against, postgres, folder, html, kafka, kafka_control, kafka_byway, toxiproxy;
  std::uint64_t seed = 0;
  double minutes = 0;
  bool yes = false, list = false;
};

std::filesystem::path Programs(Session* session) { return std::filesystem::path(session->environment.executable).parent_path(); }

// PostgreSQL must be able to reach it, also when root runs us.
Result<std::filesystem::path> NewFolder(const std::string& wanted) {
  if (!wanted.empty()) {
    std::error_code failed;
    if (std::filesystem::exists(wanted)) return Error{Code::kConflict, wanted + " is there already"};
    std::filesystem::create_directories(wanted, failed);
    if (failed) return Error{Code::kUnavailable, "cannot make " + wanted + ": " + failed.message()};
    return std::filesystem::absolute(wanted);
  }
  std::string pattern = (std::filesystem::temp_directory_path() / "acl-chaos-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return Error{Code::kUnavailable, "cannot make a folder for the run"};
  std::filesystem::permissions(pattern, std::filesystem::perms(0711));
  return std::filesystem::path(pattern);
}

int ExitOf(chaos::Outcome outcome) {
  return outcome == chaos::Outcome::kPassed ? kExitOk : outcome == chaos::Outcome::kFailed ? kExitFailure : kExitInvalidRun;
}

void Show(Session* session, const chaos::Report& report) {
  session->exit_code = ExitOf(report.outcome);
  if (session->json()) return session->PrintJson(report.json);
  session->Write(chaos::ToText(report.json));
  const bool passed = report.outcome == chaos::Outcome::kPassed;
  session->Print(session->Paint(passed ? Session::Colour::kGreen : Session::Colour::kRed, report.json["verdict"].get<std::string>()));
}

void ListProfiles(Session* session) {
  for (const chaos::Profile& profile : chaos::Profiles()) {
    session->Print(profile.name);
    for (const auto& name : profile.kinds) {
      const chaos::FaultKind* kind = chaos::FindFaultKind(name);
      session->Print("  " + kind->number + "  " + name + ": " + kind->what + (kind->own_fleet ? "" : " (elsewhere too)"));
    }
  }
}

void Run(Session* session, const ChaosOptions& options) {
  if (options.list) return ListProfiles(session);
  const chaos::Profile* profile = chaos::FindProfile(options.profile);
  if (profile == nullptr)
    return session->Fail(kExitUsage, "there is no profile " + options.profile + ": airun chaos run --list shows them");
  auto folder = NewFolder(options.folder);
  if (!folder) return session->Fail(folder.error());
  chaos::StopOnSignals();
  SetLogLevel(LogLevel::kError);  // of the effects server in this process
  chaos::RunOptions run;
  run.profile = *profile;
  if (!options.faults.empty()) run.profile.kinds = options.faults;
  for (const std::string& kind : options.faults) {
    if (chaos::FindFaultKind(kind) == nullptr)
      return session->Fail(kExitUsage, "there is no fault " + kind + ": airun chaos run --list shows them");
  }
  if (options.minutes > 0) run.profile.at_least = std::chrono::milliseconds(std::int64_t(options.minutes * 60'000));
  SystemRandom random;
  run.seed = options.seed != 0 ? options.seed : random.Next() % 1'000'000'000 + 1;
  run.programs = Programs(session);
  run.folder = *folder;
  run.postgres = options.postgres;
  run.kafka.bootstrap = options.kafka;
  run.kafka.control = options.kafka_control;
  if (!options.kafka_byway.empty()) {
    const auto colon = options.kafka_byway.find(':');
    run.kafka.byway_advertised = std::uint16_t(std::atoi(options.kafka_byway.c_str()));
    run.kafka.byway_port =
        colon == std::string::npos ? std::uint16_t(0) : std::uint16_t(std::atoi(options.kafka_byway.c_str() + colon + 1));
    if (run.kafka.byway_advertised == 0 || run.kafka.byway_port == 0)
      return session->Fail({Code::kInvalid, "--kafka-byway is two ports, as in 19093:19094: \"" + options.kafka_byway + "\""});
  }
  run.toxiproxy = options.toxiproxy;
  for (const char* name : {"ACL_S3_ENDPOINT", "ACL_S3_BUCKET", "ACL_S3_ACCESS_KEY", "ACL_S3_SECRET_KEY"}) {
    if (const std::string value = session->environment.environment(name); !value.empty()) run.objects[name] = value;
  }
  if (!options.against.empty()) {
    run.against = options.against;
    while (run.against.ends_with('/')) run.against.pop_back();
    run.database_url =
        session->options.database_url.empty() ? session->environment.environment("ACL_DATABASE_URL") : session->options.database_url;
    run.api_key = session->environment.environment("ACL_API_KEY");
  }
  run.verify = [session](const std::string& conninfo) -> Result<verify::Report> {
    verify::VerifyOptions verify;
    verify.conninfo = conninfo;
    verify.kinds = VerifyKinds();
    auto objects = session->Objects();
    if (!objects) return objects.error();
    verify.objects = *objects;
    return verify::VerifyAll(verify);
  };
  run.say = [session](const std::string& line) { session->Note(line); };
  auto report = chaos::RunChaos(run);
  if (!report) return session->Fail(report.error());
  Show(session, *report);
}

void Check(Session* session, const std::string& file, const std::string& html) {
  auto lines = chaos::LoadHistory(file);
  if (!lines) return session->Fail(lines.error());
  const chaos::Report report = chaos::MakeReport(*lines, file);
  if (!html.empty()) std::ofstream(html) << chaos::ToHtml(report.json);
  Show(session, report);
}

void Zombie(Session* session, const ChaosOptions& options) {
  auto folder = NewFolder(options.folder);
  if (!folder) return session->Fail(folder.error());
  chaos::StopOnSignals();
  SetLogLevel(LogLevel::kError);
  const Status shown = chaos::RunZombie({Programs(session), *folder / "fleet", options.postgres, [session](const std::string& line) {
                                           session->Print(line);
                                           session->Flush();
                                         }});
  if (!shown) return session->Fail(shown.error());
  session->Print(session->Paint(Session::Colour::kGreen, "zombie: refused"));
}

void Mark(Session* session, bool marked, bool yes) {
  if (marked && !yes)
    return session->Fail(kExitUsage, "a marked fleet may be killed, frozen and cut off by whoever has its database's login: say --yes");
  if (Status set = pg::MarkForChaos(session->DatabaseUrl(), marked); !set) return session->Fail(set.error());
  session->Print(marked ? "marked: airun chaos run --against works here now" : "not marked any more");
}

}  // namespace

void AddChaosCommands(CLI::App* app, Session* session) {
  CLI::App* chaos = app->add_subcommand("chaos", "break a fleet on purpose, and check that nothing is lost");
  chaos->require_subcommand(1);
  chaos->footer(
      "Exit codes of run and check: 0 passed, 1 an invariant was broken, 7 the run proves nothing (a fault was not seen to happen)");
  auto options = std::make_shared<ChaosOptions>();
  CLI::App* run = chaos->add_subcommand("run", "a workload under faults, on a fleet of its own or on one that is marked for it");
  run->add_option("--profile", options->profile,
                  "which faults: quick, lease-theft, postgres, failpoints, clocks, machine, failover, toxic, objects, versions, kafka, "
                  "brokers, continuity, agent, soak; and quick forms: continuity-quick, agent-quick")
      ->capture_default_str();
  run->add_option("--seed", options->seed, "repeats that schedule and workload; a new one unless given")
      ->check(WholeNumber(1, std::numeric_limits<std::int64_t>::max()));
  run->add_option("--faults", options->faults, "these, instead of the profile's own: KIND,KIND...")->delimiter(',');
  run->add_option("--minutes", options->minutes, "go on with faults for at least so long")->check(Decimal(0, 10'080, "minutes"));
  run->add_option("--against", options->against,
                  "the coordinator of a fleet elsewhere, http://HOST:PORT; needs --database-url, and a mark there");
  run->add_option("--folder", options->folder, "for history, report and logs; a new one below the temporary folder unless given");
  run->add_option("--postgres-programs", options->postgres, "folder of initdb and postgres, for the fleet of its own");
  run->add_option("--kafka", options->kafka, "HOST:PORT,... of brokers that may be killed: one for the profile kafka, three for brokers");
  run->add_option("--kafka-byway", options->kafka_byway,
                  "PORT:PORT where a listener of the broker sends its clients, and where it listens: toxiproxy stands between");
  run->add_option("--kafka-control", options->kafka_control,
                  "shell command with {} for kill, start or tool (of a cluster also freeze, thaw or wipe), as in: ./dev kafka {} NAME");
  run->add_option("--toxiproxy", options->toxiproxy, "toxiproxy's server program, for the profiles toxic, objects and kafka");
  run->add_flag("--list", options->list, "show the profiles and their faults");
  run->callback([=] { Run(session, *options); });

  auto file = std::make_shared<std::string>();
  CLI::App* check = chaos->add_subcommand("check", "check a saved history again");
  check->add_option("HISTORY", *file, "history.jsonl of a run")->required();
  check->add_option("--html", options->html, "write the report as a page to this file too");
  check->callback([=] { Check(session, *file, options->html); });

  CLI::App* mark = chaos->add_subcommand("mark", "allow chaos runs against the fleet of this database (as the database's owner)");
  mark->add_flag("--yes", options->yes, "really");
  mark->callback([=] { Mark(session, true, options->yes); });
  CLI::App* unmark = chaos->add_subcommand("unmark", "forbid them again");
  unmark->callback([=] { Mark(session, false, true); });

  CLI::App* zombie = chaos->add_subcommand("zombie", "watch a frozen worker come back: its late commit and its late call are refused");
  zombie->add_option("--folder", options->folder, "for logs; a new one below the temporary folder unless given");
  zombie->add_option("--postgres-programs", options->postgres, "folder of initdb and postgres");
  zombie->callback([=] { Zombie(session, *options); });
}

}  // namespace acl::cli
