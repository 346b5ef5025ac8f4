// airun why: what one run waits for, and what would wake it. airun top: the fleet on one screen.
#include <fmt/format.h>

#include <algorithm>

#include "cli/app.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/numbers.h"
#include "cli/run_text.h"
#include "cli/why.h"

namespace acl::cli {

namespace {

using Colour = Session::Colour;

// What of the list could be read; what this coordinator does not know is nothing.
Json ListFrom(ApiClient& api, const std::string& path) {
  auto body = api.Get(path);
  return body ? ItemsOf(*body) : Json::array();
}

void ShowWhy(Session* session, const std::string& text) {
  auto id = session->RunId(text);
  if (!id) return session->Fail(id.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto run = (*api)->Get("/v1/workflows/" + *id);
  if (!run) return session->Fail(run.error());
  const Why why = WhyOf(*run, ListFrom(**api, "/v1/queues"), ListFrom(**api, "/v1/workers"));
  if (session->json())
    return session->PrintJson({{"id", TextOf(*run, "id")},
                               {"stuck", why.stuck},
                               {"what", why.what},
                               {"because", why.because},
                               {"wakes", why.wakes},
                               {"do", why.commands}});
  PrintField(session, "run", TextOf(*run, "id") + ", " + TextOf(*run, "name") + " " + TextOf(*run, "version"));
  PrintField(session, "why", session->Paint(why.stuck ? Colour::kRed : Colour::kNone, why.what));
  for (const std::string& line : why.because) PrintField(session, "because", line);
  PrintField(session, "wakes", why.wakes);
  for (const std::string& command : why.commands) PrintField(session, "do", command);
  const std::string link = TextOf(*run, "trace_url");
  PrintField(session, "trace", link);
}

struct Screen {
  Json queues, workers, quarantined, persons;
  std::int64_t suspects = 0;
};

Result<Screen> ReadScreen(ApiClient& api) {
  Screen screen;
  auto queues = api.Get("/v1/queues");
  if (!queues) return queues.error();
  screen.queues = ItemsOf(*queues);
  screen.workers = ListFrom(api, "/v1/workers");
  screen.persons = ListFrom(api, "/v1/workflows?needs_person=true&limit=20");
  auto quarantine = api.Get("/v1/quarantine");
  if (!quarantine) return quarantine.error();
  screen.quarantined = ItemsOf(*quarantine);
  const Json suspects = quarantine->value("suspects", Json::object());
  screen.suspects = IntOf(suspects, "waiting") + IntOf(suspects, "held");
  return screen;
}

void PrintQueues(Session* session, const Json& queues) {
  constexpr double kLong = 60;  // as the alert AclRunsStuck
  Table table({"QUEUE", "WAITING", "OLDEST", "WORKERS"});
  for (const Json& row : queues) {
    const auto ready = IntOf(row, "ready"), workers = IntOf(row, "workers");
    const double oldest = row.value("oldest_seconds", 0.0);
    const std::string age = ready == 0 ? "" : LengthText(std::int64_t(oldest * 1000)), count = std::to_string(workers);
    table.Add({TextOf(row, "queue"), std::to_string(ready), Cell(age, session->Paint(oldest > kLong ? Colour::kRed : Colour::kNone, age)),
               Cell(count, session->Paint(workers == 0 && ready > 0 ? Colour::kRed : Colour::kNone, count))});
  }
  if (!table.empty()) session->Write(table.Text());
}

void PrintWorkers(Session* session, Json workers) {
  constexpr std::size_t kMostWorkers = 30;
  std::sort(workers.begin(), workers.end(), [](const Json& a, const Json& b) { return IntOf(a, "leases_held") > IntOf(b, "leases_held"); });
  Table table({"WORKER", "HOLDS", "AT MOST", "QUEUES", "HEARTBEAT"});
  for (std::size_t i = 0; i < workers.size() && i < kMostWorkers; ++i) {
    const Json& row = workers[i];
    std::string queues;
    for (const Json& queue : row.value("queues", Json::array())) queues += (queues.empty() ? "" : ",") + queue.get<std::string>();
    table.Add({TextOf(row, "worker_name"), TextOf(row, "leases_held"), TextOf(row, "slots"), Cut(queues, 40),
               ShortTime(TextOf(row, "heartbeat_at"))});
  }
  if (!table.empty()) session->Write("\n" + table.Text());
  if (workers.size() > kMostWorkers) session->Print(fmt::format("and {} workers more", workers.size() - kMostWorkers));
}

void PrintScreen(Session* session, const Screen& screen) {
  std::int64_t waiting = 0, held = 0, room = 0;
  for (const Json& row : screen.queues) waiting += IntOf(row, "ready");
  for (const Json& row : screen.workers) {
    held += IntOf(row, "leases_held");
    room += IntOf(row, "slots");
  }
  session->Print(fmt::format("{} waiting, {} held of {} by {} workers, {} need a person, {} quarantined, {} suspects\n", waiting, held,
                             room, screen.workers.size(), screen.persons.size(), screen.quarantined.size(), screen.suspects));
  PrintQueues(session, screen.queues);
  PrintWorkers(session, screen.workers);
  Table stuck({"NEEDS A PERSON", "WORKFLOW", "WAITS FOR", "SINCE"});
  for (const Json& run : screen.persons) {
    const Json state = run.value("state", Json::object());
    const std::string on = TextOf(state, "blocked_on");
    stuck.Add({TextOf(run, "id"), TextOf(run, "name"), on.empty() ? TextOf(state, "name") : on, ShortTime(TextOf(state, "since"))});
  }
  if (stuck.empty()) return;
  session->Write("\n" + stuck.Text());
  session->Note("airun why ID says what would wake it");
}

struct TopOptions {
  double every = 2;
  bool once = false;
};

// Until it is interrupted on a terminal; once where nobody looks.
void ShowTop(Session* session, const TopOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  const bool again = !options.once && !session->json() && session->environment.out_is_terminal;
  do {
    auto screen = ReadScreen(**api);
    if (!screen && !again) return session->Fail(screen.error());
    if (again) session->ClearScreen();
    if (!screen) {
      session->Print("no answer: " + screen.message());  // it comes back
    } else if (session->json()) {
      session->PrintJson({{"queues", screen->queues},
                          {"workers", screen->workers},
                          {"needs_person", screen->persons},
                          {"quarantined", screen->quarantined},
                          {"suspects", screen->suspects}});
    } else {
      PrintScreen(session, *screen);
    }
    session->Flush();
    if (again) session->environment.sleep(LengthOf(options.every));
  } while (again);
}

}  // namespace

void AddLookingCommands(CLI::App* app, Session* session) {
  auto run = std::make_shared<std::string>();
  CLI::App* why = app->add_subcommand("why", "why a run does not go on, and what would wake it");
  why->add_option("id", *run, "the run, or a part of its id")->required();
  why->callback([=] { ShowWhy(session, *run); });
  auto options = std::make_shared<TopOptions>();
  CLI::App* top = app->add_subcommand("top", "the fleet on one screen: queues, workers, what needs a person; until Ctrl-C");
  top->add_option("--every", options->every, "how often it is looked at, seconds")->check(CLI::Range(0.2, 3600.0))->capture_default_str();
  top->add_flag("--once", options->once, "print it once (as without a terminal)");
  top->callback([=] { ShowTop(session, *options); });
}

}  // namespace acl::cli
