// airun schedule create, list, show, next, pause, resume, trigger, delete
#include <fmt/format.h>

#include "cli/app.h"
#include "cli/definition_file.h"
#include "cli/format.h"
#include "cli/numbers.h"
#include "shared/schedule/due.h"

namespace acl::cli {

namespace {

struct ScheduleOptions {
  std::shared_ptr<DefinitionFileOptions> definition = std::make_shared<DefinitionFileOptions>();
  std::string name, cron, zone = "UTC", overlap = "skip", reason, after;
  std::int64_t catchup = schedule::kDefaultCatchup;
  int count = 10;
  bool paused = false;
};

std::string SchedulePath(const std::string& name, const std::string& verb = "") {
  return "/v1/schedules/" + UrlEncode(name) + (verb.empty() ? "" : "/" + verb);
}

// "2026-11-22T01:00:00+01:00" -> "2026-11-22 01:00:00 +01:00"
std::string Spaced(std::string time) {
  if (time.size() > 19) time = time.substr(0, 10) + " " + time.substr(11, 8) + (time[19] == 'Z' ? "Z" : " " + time.substr(19));
  return time;
}

void PrintNext(Session* session, const Json& next, const std::string& zone) {
  Table table({"UTC", zone});
  for (const Json& one : next) table.Add({Spaced(TextOf(one, "at")), Spaced(TextOf(one, "local"))});
  session->Write(table.Text());
}

void CreateSchedule(Session* session, const ScheduleOptions& options) {
  auto cron = schedule::ParseCron(options.cron);  // before the file is read: the shorter thing to mend
  if (!cron) return session->Fail(kExitUsage, "--cron: " + cron.message());
  auto body = ReadDefinitionFile(session, *options.definition, "scheduled_time");
  if (!body) return session->Fail(body.error());
  Json more = {{"name", options.name},       {"cron", options.cron},     {"zone", options.zone},
               {"overlap", options.overlap}, {"paused", options.paused}, {"catchup_seconds", options.catchup}};
  body->update(more);
  auto answer = PostOnce(session, "/v1/schedules", *body);
  if (!answer) return session->Fail(answer.error());
  if (session->json()) return session->PrintJson(*answer);
  const Json next = answer->value("next_fires", Json::array());
  session->Print(options.name);
  if (!next.empty()) session->Note("fires next at " + Spaced(TextOf(next[0], "local")) + (options.paused ? " once it is resumed" : ""));
}

void ListSchedules(Session* session) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  Json all = Json::array();
  for (std::string after;;) {
    auto page = (*api)->Get("/v1/schedules?limit=1000" + (after.empty() ? "" : "&after=" + UrlEncode(after)));
    if (!page) return session->Fail(page.error());
    for (const Json& one : page->value("schedules", Json::array())) all.push_back(one);
    after = TextOf(*page, "next_after");
    if (after.empty()) break;
  }
  if (session->json()) return session->PrintJson(all);
  if (all.empty()) return session->Note("there are no schedules");
  Table table({"NAME", "CRON", "ZONE", "OVERLAP", "NEXT (UTC)", "STARTED", "SKIPPED", "MISSED", "FAILED"});
  for (const Json& one : all) {
    const Json counts = one.value("counts", Json::object());
    table.Add({TextOf(one, "name"), TextOf(one, "cron"), TextOf(one, "zone"), TextOf(one, "overlap"),
               one.value("paused", false) ? "paused" : ShortTime(TextOf(one, "next_fire_at")), TextOf(counts, "started"),
               TextOf(counts, "skipped_overlap"), TextOf(counts, "missed"), TextOf(counts, "failed")});
  }
  session->Write(table.Text());
}

void ShowSchedule(Session* session, const std::string& name) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto one = (*api)->Get(SchedulePath(name));
  if (!one) return session->Fail(one.error());
  if (session->json()) return session->PrintJson(*one);
  const Json counts = one->value("counts", Json::object());
  session->Print("name      " + TextOf(*one, "name"));
  session->Print("cron      " + TextOf(*one, "cron") + "   in " + TextOf(*one, "zone"));
  session->Print("overlap   " + TextOf(*one, "overlap") + "; made up if late by at most " + TextOf(*one, "catchup_seconds") + " s");
  if (one->value("paused", false)) session->Print("paused    " + TextOf(*one, "pause_reason"));
  if (one->contains("waiting_at")) session->Print("waiting   " + ShortTime(TextOf(*one, "waiting_at")) + " for the end of the open run");
  session->Print("so far    " + TextOf(counts, "started") + " started, " + TextOf(counts, "skipped_overlap") + " skipped, " +
                 TextOf(counts, "missed") + " missed, " + TextOf(counts, "failed") + " failed");
  session->Print("\nnext fire times" + std::string(one->value("paused", false) ? ", once it is resumed" : ""));
  PrintNext(session, one->value("next_fires", Json::array()), TextOf(*one, "zone"));
  const Json fires = one->value("fires", Json::array());
  if (fires.empty()) return;
  session->Print("\nlast fire times");
  Table table({"UTC", "OUTCOME", "RUN", "REASON"});
  for (const Json& fire : fires)
    table.Add({ShortTime(TextOf(fire, "scheduled_time")), TextOf(fire, "outcome"), TextOf(fire, "run"), Cut(TextOf(fire, "reason"), 80)});
  session->Write(table.Text());
}

// Pure: no server is asked.
void NextTimes(Session* session, const ScheduleOptions& options) {
  auto cron = schedule::ParseCron(options.cron);
  if (!cron) return session->Fail(kExitUsage, cron.message());
  auto zone = TimeZone::Load(options.zone), utc = TimeZone::Load("UTC");
  if (!zone) return session->Fail(kExitUsage, "--zone: " + zone.message());
  WallTime after = SystemClock().Wall();
  if (!options.after.empty()) {
    const auto parsed = ParseWallTime(options.after);
    if (!parsed) return session->Fail(kExitUsage, "--after takes a time as 2026-11-22T00:00:00Z, not '" + options.after + "'");
    after = *parsed;
  }
  Json all = Json::array();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(after).time_since_epoch().count();
  for (const auto time : schedule::NextFires(*cron, *zone, seconds, options.count))
    all.push_back({{"at", schedule::FormatZoned(*utc, time)}, {"local", schedule::FormatZoned(*zone, time)}});
  if (session->json()) return session->PrintJson(all);
  PrintNext(session, all, zone->name());
}

void ActOnSchedule(Session* session, const std::string& name, const std::string& verb, const Json& body, const std::string& done) {
  auto answer = PostOnce(session, SchedulePath(name, verb), body);
  if (!answer) return session->Fail(answer.error());
  if (session->json()) return session->PrintJson(*answer);
  if (verb == "trigger") return session->Print(TextOf(*answer, "id"));
  session->Note(done + " " + name);
}

void DeleteSchedule(Session* session, const std::string& name) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  if (auto status = (*api)->Delete(SchedulePath(name)); !status) return session->Fail(status.error());
  if (session->json()) return session->PrintJson({{"deleted", name}});
  session->Note("deleted " + name + "; its runs stay");
}

CLI::App* AddNamed(CLI::App* schedule, const std::shared_ptr<ScheduleOptions>& options, const std::string& verb, const std::string& help) {
  CLI::App* command = schedule->add_subcommand(verb, help);
  command->add_option("name", options->name, "the schedule")->required();
  return command;
}

}  // namespace

void AddScheduleCommands(CLI::App* app, Session* session) {
  CLI::App* group = app->add_subcommand("schedule", "workflows that start at times");
  group->require_subcommand(1);
  auto options = std::make_shared<ScheduleOptions>();
  CLI::App* create = group->add_subcommand("create", "make a schedule of a workflow file");
  AddDefinitionFileOptions(create, options->definition);
  create->add_option("--name", options->name, "its name: letters, digits, '-', '_' and '.'")->required();
  create->add_option("--cron", options->cron, "when: 5 fields, 6 with seconds first, or @daily and the like")->required();
  create->add_option("--zone", options->zone, "utc or an IANA name, whose clocks the expression means")->capture_default_str();
  create->add_option("--overlap", options->overlap, "a fire time while a run is open: skip, buffer_one, cancel_other or allow")
      ->check(CLI::IsMember({"skip", "buffer_one", "cancel_other", "allow"}))
      ->capture_default_str();
  create->add_option("--catchup", options->catchup, "seconds by which a fire time may be late and is still made up")
      ->check(WholeNumber(0, schedule::kMaxCatchup))
      ->capture_default_str();
  create->add_flag("--paused", options->paused, "it does not fire until it is resumed");
  create->callback([=] { CreateSchedule(session, *options); });
  AddScheduleUpdate(group, session);
  group->add_subcommand("list", "all of them")->callback([=] { ListSchedules(session); });
  AddNamed(group, options, "show", "its next ten fire times, and what became of the last ones")->callback([=] {
    ShowSchedule(session, options->name);
  });
  CLI::App* next = group->add_subcommand("next", "the next fire times of an expression; no server needed");
  next->add_option("cron", options->cron, "5 fields, 6 with seconds first, or @daily and the like")->required();
  next->add_option("--zone", options->zone, "utc or an IANA name")->capture_default_str();
  next->add_option("-n,--count", options->count, "how many")->check(WholeNumber(1, 1'000))->capture_default_str();
  next->add_option("--after", options->after, "from this time on (RFC 3339) instead of now");
  next->callback([=] { NextTimes(session, *options); });
  CLI::App* pause = AddNamed(group, options, "pause", "no fire time starts a run until it is resumed");
  pause->add_option("--reason", options->reason, "shown with it");
  pause->callback([=] {
    ActOnSchedule(session, options->name, "pause", options->reason.empty() ? Json::object() : Json{{"reason", options->reason}}, "paused");
  });
  AddNamed(group, options, "resume", "go on with the next fire time; what passed is not made up")->callback([=] {
    ActOnSchedule(session, options->name, "resume", Json::object(), "resumed");
  });
  AddNamed(group, options, "trigger", "a run now, whatever its times say; prints the run's id")->callback([=] {
    ActOnSchedule(session, options->name, "trigger", Json::object(), "");
  });
  AddNamed(group, options, "delete", "the schedule; its runs stay")->callback([=] { DeleteSchedule(session, options->name); });
}

}  // namespace acl::cli
