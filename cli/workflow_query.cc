// airun workflow list, status, events, files
#include <fstream>

#include "cli/app.h"
#include "cli/follow.h"
#include "cli/format.h"

namespace acl::cli {

namespace {

using Colour = Session::Colour;

Cell StatusCell(Session* session, const std::string& status) { return {status, session->Paint(StatusColour(status), status)}; }

// ---- list

struct ListOptions {
  std::string status, name;
  std::vector<std::string> labels;
  int limit = 50;
};

void List(Session* session, const ListOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  Json all = Json::array();
  std::string cursor;
  while (static_cast<int>(all.size()) < options.limit) {
    const int page = std::min(200, options.limit - static_cast<int>(all.size()));
    std::string path = "/v1/workflows?limit=" + std::to_string(page);
    if (!options.status.empty()) path += "&status=" + UrlEncode(options.status);
    if (!options.name.empty()) path += "&name=" + UrlEncode(options.name);
    for (const std::string& label : options.labels) path += "&label=" + UrlEncode(label);
    if (!cursor.empty()) path += "&cursor=" + UrlEncode(cursor);
    auto body = (*api)->Get(path);
    if (!body) return session->Fail(body.error());
    for (const Json& run : ItemsOf(*body)) all.push_back(run);
    cursor = TextOf(*body, "next_cursor");
    if (cursor.empty()) break;
  }
  if (session->json()) return session->PrintJson(all);
  if (all.empty())
    return session->Note("no runs" +
                         std::string(options.status.empty() && options.name.empty() ? "; submit one: airun workflow run FILE" : " match"));
  Table table({"ID", "NAME", "STATUS", "STATE", "CREATED", "ERROR"});
  for (const Json& run : all) {
    const Json state = run.value("state", Json::object());
    table.Add({TextOf(run, "id"), Cut(TextOf(run, "name"), 30), StatusCell(session, TextOf(run, "status")), TextOf(state, "name"),
               ShortTime(TextOf(run, "created_at")), Cut(TextOf(run, "error"), 60)});
  }
  session->world.out << table.Text();
  if (!cursor.empty()) session->Note("there are more; --limit shows them");
}

// ---- status

void Line(Session* session, const std::string& name, const std::string& value) {
  if (!value.empty()) session->Print(name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + value);
}

void PrintState(Session* session, const Json& run) {
  const Json state = run.value("state", Json::object());
  const std::string name = TextOf(state, "name");
  std::string text = session->Paint(StatusColour(name), name);
  if (std::string on = TextOf(state, "blocked_on"); !on.empty()) text += ", blocked on " + on;
  if (std::string by = TextOf(state, "holder"); !by.empty()) text += " by " + by;
  if (std::string since = TextOf(state, "since"); !since.empty()) text += ", since " + ShortTime(since);
  if (std::string wake = TextOf(state, "next_wake"); !wake.empty()) text += ", next wake " + ShortTime(wake);
  Line(session, "state", text);
  if (std::string deaths = TextOf(state, "worker_deaths"); !deaths.empty())
    Line(session, "suspect", deaths + " workers in a row died with it and no step completed: it is granted with care until one does");
}

// What a run waits for elsewhere: a line a task that has not ended.
void PrintTasks(Session* session, const Json& run) {
  for (const Json& task : run.value("tasks", Json::array())) {
    const std::string state = TextOf(task, "state");
    if (state != "queued" && state != "started") continue;
    std::string text = "step " + TextOf(task, "step_id") + " on queue " + TextOf(task, "queue");
    if (state == "started") {
      text += ", run by " + TextOf(task, "holder") + " since " + ShortTime(TextOf(task, "started_at"));
    } else {
      text += ", waiting for a worker since " + ShortTime(TextOf(task, "queued_at"));
    }
    if (task.value("cancel_requested", false)) text += ", asked to stop";
    Line(session, "task", text);
  }
}

// Steps that wait for their time.
void PrintWaits(Session* session, const Json& run) {
  for (const Json& step : run.value("steps", Json::array())) {
    if (std::string due = TextOf(step, "due_at"); !due.empty())
      Line(session, "wait", "step " + TextOf(step, "name") + " until " + ShortTime(due));
  }
}

void PrintSteps(Session* session, const Json& run) {
  Table table({"STEP", "STATUS", "ATTEMPTS", "TOKEN", "COMPLETED", "CAPABILITY", "ERROR"});
  for (const char* list : {"steps", "compensations"}) {
    for (const Json& step : run.value(list, Json::array())) {
      const std::string status = TextOf(step, "status");
      if (status == "NOT_NEEDED") continue;
      std::string token;
      for (const Json& row : step.value("attempt_rows", Json::array())) token = TextOf(row, "fencing_token");
      std::string attempts = TextOf(step, "attempts");
      if (std::string most = TextOf(step, "max_attempts"); !most.empty()) attempts += "/" + most;
      if (std::string lost = TextOf(step, "attempts_lost"); !lost.empty()) attempts += ", " + lost + " lost";
      const std::string label = TextOf(step, "name").empty() ? TextOf(step, "step_id") : TextOf(step, "name");
      table.Add({Cut(label, 40), StatusCell(session, status), attempts, token, ShortTime(TextOf(step, "completed_at")),
                 TextOf(step, "capability"), Cut(TextOf(step, "error"), 70)});
    }
  }
  if (!table.empty()) session->world.out << "\n" << table.Text();
}

void ShowStatus(Session* session, const std::string& text) {
  auto id = session->RunId(text);
  if (!id) return session->Fail(id.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  auto run = (*api)->Get("/v1/workflows/" + *id);
  if (!run) return session->Fail(run.error());
  if (session->json()) return session->PrintJson(*run);
  Line(session, "run", TextOf(*run, "id"));
  Line(session, "workflow", TextOf(*run, "name") + " " + TextOf(*run, "version"));
  const std::string status = TextOf(*run, "status");
  Line(session, "status",
       session->Paint(StatusColour(status), status) + (TextOf(*run, "reason").empty() ? "" : " (" + TextOf(*run, "reason") + ")"));
  PrintState(session, *run);
  PrintTasks(session, *run);
  PrintWaits(session, *run);
  Line(session, "token", TextOf(*run, "fencing_token"));
  Line(session, "journal", TextOf(*run, "head_seq") + " events");
  Line(session, "created", ShortTime(TextOf(*run, "created_at")));
  Line(session, "completed", ShortTime(TextOf(*run, "completed_at")));
  Line(session, "steps", TextOf(*run, "steps_completed") + " of " + TextOf(*run, "steps_total") + " completed");
  const std::string link = TextOf(*run, "trace_url");
  Line(session, "trace", TextOf(*run, "trace_id") + (link.empty() ? "" : "  " + link));
  Line(session, "error", TextOf(*run, "error"));
  Line(session, "damage", session->Paint(Colour::kRed, TextOf(*run, "damage")));
  PrintSteps(session, *run);
  for (const Json& warning : run->value("warnings", Json::array())) session->Note("warning: " + warning.get<std::string>());
  for (const Json& uncertain : run->value("uncertain", Json::array()))
    session->Note("step '" + uncertain.get<std::string>() + "' is UNCERTAIN: find out whether it happened, then airun step resolve " +
                  TextOf(*run, "id") + " " + uncertain.get<std::string>() + " --decision completed|failed|retry");
}

// ---- events

struct EventOptions {
  std::string id;
  bool follow = false, payload = false;
  std::int64_t after = 0;
};

void PrintEvent(Session* session, const Json& event, bool payload) {
  if (session->json()) {  // one object a line, so that it can be followed
    session->world.out << DumpJson(event) << "\n";
  } else {
    const Json body = event.value("payload", Json::object());
    std::string step = TextOf(body, "step_id");
    session->Print(TextOf(event, "event_seq") + "  " + ShortTime(TextOf(event, "timestamp")) + "  " +
                   session->Paint(Colour::kBlue, TextOf(event, "event_type")) + (step.empty() ? "" : "  " + step) +
                   session->Paint(Colour::kDim, "  token " + TextOf(event, "fencing_token")));
    for (const Json& also : body.value("also", Json::array())) {  // of the same event
      session->Print(std::string(TextOf(event, "event_seq").size() + 2, ' ') + "and  " +
                     session->Paint(Colour::kBlue, TextOf(also, "type")) + "  " + TextOf(also, "step_id"));
    }
    if (payload) session->Print("    " + body.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  session->world.out.flush();
}

void Events(Session* session, const EventOptions& options) {
  auto id = session->RunId(options.id);
  if (!id) return session->Fail(id.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  std::int64_t last = options.after;
  while (true) {
    constexpr int kPage = 200;
    auto body = (*api)->Get("/v1/workflows/" + *id + "/events?limit=" + std::to_string(kPage) + "&after_seq=" + std::to_string(last));
    if (!body) return session->Fail(body.error());
    const Json& items = ItemsOf(*body);
    for (const Json& event : items) {
      PrintEvent(session, event, options.payload);
      last = std::max(last, IntOf(event, "event_seq", last));
    }
    if (items.size() < kPage) break;
  }
  if (!options.follow) return;
  if (auto followed = FollowEvents(session, *id, last, [&](const Json& event) { PrintEvent(session, event, options.payload); }); !followed)
    session->Fail(followed.error());
}

// ---- files

struct FileOptions {
  std::string id, path, to;
};

void Files(Session* session, const FileOptions& options) {
  auto id = session->RunId(options.id);
  if (!id) return session->Fail(id.error());
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  if (!options.path.empty()) {
    std::string path = options.path;
    if (path.starts_with("/workspace/")) path.erase(0, 11);
    auto bytes = (*api)->GetBytes("/v1/workflows/" + *id + "/files/" + UrlEncodePath(path));
    if (!bytes) return session->Fail(bytes.error());
    if (options.to.empty()) {
      session->world.out << *bytes;
      return;
    }
    std::ofstream out(options.to, std::ios::binary | std::ios::trunc);
    out << *bytes;
    out.flush();
    if (!out) return session->Fail(kExitFailure, "cannot write " + options.to + ": " + std::strerror(errno));
    return session->Note("wrote " + options.to + ", " + std::to_string(bytes->size()) + " bytes");
  }
  auto body = (*api)->Get("/v1/workflows/" + *id + "/files");
  if (!body) return session->Fail(body.error());
  if (session->json()) return session->PrintJson(ItemsOf(*body));
  Table table({"MODE", "SIZE", "SHA-256", "PATH"});
  for (const Json& file : ItemsOf(*body)) {
    const bool folder = TextOf(file, "dir") == "true";
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04llo", static_cast<unsigned long long>(IntOf(file, "mode") & 0777));
    table.Add({std::string(mode), TextOf(file, "size"), TextOf(file, "hash").substr(0, 12), TextOf(file, "path") + (folder ? "/" : "")});
  }
  if (table.empty()) return session->Note("the run has no files");
  session->world.out << table.Text();
}

}  // namespace

void AddWorkflowQueries(CLI::App* workflow, Session* session) {
  auto list_options = std::make_shared<ListOptions>();
  CLI::App* list = workflow->add_subcommand("list", "runs, newest first");
  list->add_option("--status", list_options->status, "only these")
      ->check(CLI::IsMember({"PENDING", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "ROLLED_BACK"}, CLI::ignore_case));
  list->add_option("--name", list_options->name, "only runs of this workflow");
  list->add_option("--label", list_options->labels, "only runs with this label, NAME=VALUE; several: with all of them")
      ->allow_extra_args(false);
  list->add_option("--limit", list_options->limit, "how many at most")->check(CLI::Range(1, 100'000))->capture_default_str();
  list->callback([session, list_options] {
    for (char& c : list_options->status) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    List(session, *list_options);
  });

  auto id = std::make_shared<std::string>();
  CLI::App* status = workflow->add_subcommand("status", "one run: why it runs or not, its steps and attempts");
  status->add_option("id", *id, "the run, or the first characters of its id")->required();
  status->callback([session, id] { ShowStatus(session, *id); });

  auto event_options = std::make_shared<EventOptions>();
  CLI::App* events = workflow->add_subcommand("events", "the journal of a run");
  events->add_option("id", event_options->id, "the run")->required();
  events->add_flag("-f,--follow", event_options->follow, "go on until the run has ended");
  events->add_flag("--payload", event_options->payload, "the events' contents too");
  events->add_option("--after", event_options->after, "only events after this number")->check(CLI::NonNegativeNumber);
  events->callback([session, event_options] { Events(session, *event_options); });

  auto file_options = std::make_shared<FileOptions>();
  CLI::App* files = workflow->add_subcommand("files", "the files of a run, or one of them to stdout");
  files->add_option("id", file_options->id, "the run")->required();
  files->add_option("path", file_options->path, "a file of the run");
  files->add_option("--to", file_options->to, "write it here instead of stdout");
  files->callback([session, file_options] { Files(session, *file_options); });
}

}  // namespace acl::cli
