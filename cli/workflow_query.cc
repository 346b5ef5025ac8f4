// airun workflow list, events, files
#include <fstream>

#include "cli/app.h"
#include "cli/follow.h"
#include "cli/format.h"
#include "cli/numbers.h"
#include "cli/run_text.h"
#include "shared/kernel/subject_part.h"

namespace acl::cli {

namespace {

using Colour = Session::Colour;

// ---- list

struct ListOptions {
  std::string status, name;
  std::vector<std::string> labels;
  int limit = 50;
  bool needs_person = false, full_ids = false;
};

std::string ListQuery(const ListOptions& options) {
  std::string query;
  // A cancelled run is FAILED with a reason of its own.
  if (options.status == "CANCELLED") {
    query += "&status=FAILED&reason=cancelled";
  } else if (!options.status.empty()) {
    query += "&status=" + UrlEncode(options.status);
  }
  if (options.needs_person) query += "&needs_person=true";
  if (!options.name.empty()) query += "&name=" + UrlEncode(options.name);
  for (const std::string& label : options.labels) query += "&label=" + UrlEncode(label);
  return query;
}

// Why a run waits for a person, and the command that ends it.
std::string PersonHint(const Json& run) {
  const std::string id = ShortId(TextOf(run, "id"));
  if (TextOf(run.value("state", Json::object()), "name") == "quarantined") return "airun workflow quarantine inspect " + id;
  if (TextOf(run.value("state", Json::object()), "blocked_on") == "memory")
    return "it does not fit into its worker's memory: airun workflow status " + id;
  return "a step is UNCERTAIN: airun workflow status " + id;
}

void PrintRuns(Session* session, const Json& runs, const ListOptions& options) {
  std::vector<std::string> head = {"ID", "NAME", "STATUS", "STATE", "CREATED", options.needs_person ? "WHAT TO DO" : "ERROR"};
  Table table(std::move(head));
  for (const Json& run : runs) {
    const std::string id = TextOf(run, "id");
    table.Add({options.full_ids ? id : ShortId(id), Cut(TextOf(run, "name"), 30), Cell(RunWord(run), PaintedRunWord(*session, run)),
               TextOf(run.value("state", Json::object()), "name"), ShortTime(TextOf(run, "created_at")),
               options.needs_person ? PersonHint(run) : Cut(TextOf(run, "error"), 60)});
  }
  session->Write(table.Text());
}

void List(Session* session, const ListOptions& options) {
  auto api = session->Api();
  if (!api) return session->Fail(api.error());
  Json all = Json::array();
  std::string cursor;
  const std::string query = ListQuery(options);
  while (static_cast<int>(all.size()) < options.limit) {
    const int page = std::min(200, options.limit - static_cast<int>(all.size()));
    auto body = (*api)->Get("/v1/workflows?limit=" + std::to_string(page) + query + (cursor.empty() ? "" : "&cursor=" + UrlEncode(cursor)));
    if (!body) return session->Fail(body.error());
    for (const Json& run : ItemsOf(*body)) all.push_back(run);
    cursor = TextOf(*body, "next_cursor");
    if (cursor.empty()) break;
  }
  if (session->json()) return session->PrintJson(all);
  if (all.empty() && options.needs_person)
    return session->Note("no run waits for a person (airun workflow list --status paused: who was paused)");
  if (all.empty()) return session->Note("no runs" + std::string(query.empty() ? "; submit one: airun workflow run FILE" : " match"));
  PrintRuns(session, all, options);
  if (!cursor.empty()) session->Note("there are more; --limit shows them");
}

// ---- events

struct EventOptions {
  std::string id;
  bool follow = false, payload = false;
  std::int64_t after = 0;
};

void PrintEvent(Session* session, const Json& event, bool payload) {
  if (session->json()) {  // one object a line, so that it can be followed
    session->PrintJsonLine(event);
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
  session->Flush();
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
    if (body->contains("dropped")) session->Note(TextOf((*body)["dropped"], "detail"));
    const Json& items = ItemsOf(*body);
    for (const Json& event : items) {
      PrintEvent(session, event, options.payload);
      last = std::max(last, IntOf(event, "event_seq", last));
    }
    // A page of large events is shorter than asked for.
    const std::int64_t head = IntOf(*body, "head_seq", -1);
    if (items.empty() || (head >= 0 ? last >= head : items.size() < kPage)) break;
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
      session->WriteBytes(*bytes);
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
  session->Write(table.Text());
}

}  // namespace

void AddWorkflowQueries(CLI::App* workflow, Session* session) {
  auto list_options = std::make_shared<ListOptions>();
  CLI::App* list = workflow->add_subcommand("list", "runs, newest first");
  list->add_option("--status", list_options->status, "only these")
      ->check(CLI::IsMember({"PENDING", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "ROLLED_BACK", "CANCELLED"}, CLI::ignore_case));
  list->add_option("--name", list_options->name, "only runs of this workflow");
  list->add_option("--label", list_options->labels, "only runs with this label, NAME=VALUE; several: with all of them")
      ->allow_extra_args(false);
  list->add_flag("--needs-person", list_options->needs_person,
                 "only runs that wait for a person: quarantined, a step is UNCERTAIN, or memory is wanted");
  list->add_flag("--full-ids", list_options->full_ids, "whole ids instead of their last 12 digits, which are enough everywhere");
  list->add_option("--limit", list_options->limit, "how many at most")->check(WholeNumber(1, 100'000))->capture_default_str();
  list->callback([session, list_options] {
    for (char& c : list_options->status) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    List(session, *list_options);
  });

  auto event_options = std::make_shared<EventOptions>();
  CLI::App* events = workflow->add_subcommand("events", "the journal of a run");
  events->add_option("id", event_options->id, "the run")->required();
  events->add_flag("-f,--follow", event_options->follow, "go on until the run has ended");
  events->add_flag("--payload", event_options->payload, "the events' contents too");
  events->add_option("--after", event_options->after, "only events after this number")->check(WholeNumber(0, kMostNumber));
  events->callback([session, event_options] { Events(session, *event_options); });

  auto file_options = std::make_shared<FileOptions>();
  CLI::App* files = workflow->add_subcommand("files", "the files of a run, or one of them to stdout");
  files->add_option("id", file_options->id, "the run")->required();
  files->add_option("path", file_options->path, "a file of the run");
  files->add_option("--to", file_options->to, "write it here instead of stdout");
  files->callback([session, file_options] { Files(session, *file_options); });
}

}  // namespace acl::cli
